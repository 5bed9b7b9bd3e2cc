/** Good and bad behaviours of a server that serves JSON documents. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { gzipSync } from "node:zlib";

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

const CHUNK = Buffer.alloc(64 * 1024, " ");
const JSON_TYPE = { "content-type": "application/json" } as const;

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Sends a complete response. */
const whole = (status: number, body: Buffer, headers: OutgoingHttpHeaders): Behaviour => {
  const fields = { "content-length": body.length, ...headers };
  return (_request, response) => void response.writeHead(status, fields).end(body);
};

export const json = (
  value: unknown,
  { status = 200, headers = {} }: { readonly status?: number; readonly headers?: OutgoingHttpHeaders } = {},
): Behaviour => whole(status, bytesOf(value), { ...JSON_TYPE, ...headers });

export const text = (body: string, contentType = "text/plain; charset=utf-8"): Behaviour =>
  whole(200, Buffer.from(body), { "content-type": contentType });

/** Sends a status without a body. */
export const status =
  (code: number, headers: OutgoingHttpHeaders = {}): Behaviour =>
  (_request, response) =>
    void response.writeHead(code, headers).end();

export const redirect = (location: string, code = 302): Behaviour => status(code, { location });

/** Accepts the request and never responds. */
export const never = (): Behaviour => () => undefined;

/** Closes the connection with a TCP reset. */
export const reset = (): Behaviour => (request) => void request.socket.resetAndDestroy();

/** Declares the whole document, sends half of it and closes the connection. */
export function cutOff(value: unknown): Behaviour {
  const body = bytesOf(value);
  const half = body.subarray(0, Math.floor(body.length / 2));
  return (_request, response) => {
    response.writeHead(200, { ...JSON_TYPE, "content-length": body.length });
    response.write(half, () => response.destroy());
  };
}

/**
 * Sends the headers immediately, then the document byte by byte, then spaces without end. Each byte arrives
 * soon, and the body remains valid JSON but never ends.
 */
export function drip(value: unknown, intervalMs = 5): Behaviour {
  const body = bytesOf(value);
  return (_request, response) => {
    response.writeHead(200, JSON_TYPE).flushHeaders();
    let place = 0;
    const timer = setInterval(() => {
      response.write(place < body.length ? body.subarray(place, place + 1) : " ");
      place += 1;
    }, intervalMs);
    response.once("close", () => clearInterval(timer));
  };
}

export interface Enormous extends Behaviour {
  /** The number of body bytes written over all requests, including bytes that the system still buffers. */
  readonly sent: () => number;
}

/**
 * Sends the document, padded with spaces to that many bytes, without a `content-length`. Both the complete
 * body and its beginning are valid JSON.
 */
export function enormous(bytes: number, value: unknown = { keys: [] }): Enormous {
  const body = bytesOf(value);
  let sent = 0;
  function* chunks(): Generator<Buffer> {
    for (let rest = bytes, chunk = body; rest > 0; chunk = CHUNK) {
      const part = chunk.subarray(0, rest);
      rest -= part.length;
      sent += part.length;
      yield part;
    }
  }
  const behaviour: Behaviour = (_request, response) => {
    response.writeHead(200, JSON_TYPE);
    pipeline(Readable.from(chunks()), response, () => undefined);
  };
  return Object.assign(behaviour, { sent: () => sent });
}

/**
 * Declares that many bytes in `content-length`, but sends only the document and keeps the connection open.
 */
export function enormousDeclared(bytes: number, value: unknown = { keys: [] }): Behaviour {
  const body = bytesOf(value);
  return (_request, response) => {
    response.writeHead(200, { ...JSON_TYPE, "content-length": bytes });
    response.write(body);
  };
}

/**
 * Sends the document, padded with spaces to that many bytes and compressed to about a thousandth of that
 * size.
 */
export function gzipBomb(bytes: number, value: unknown = { keys: [] }): Behaviour {
  const plain = Buffer.alloc(bytes, " ");
  bytesOf(value).copy(plain);
  return whole(200, gzipSync(plain), { ...JSON_TYPE, "content-encoding": "gzip" });
}

export interface Held extends Behaviour {
  /** Responds to waiting requests, and to later ones immediately. */
  readonly release: () => void;
}

/** Uses another behaviour once it is released. */
export function held(then: Behaviour): Held {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const behaviour: Behaviour = (request, response) => void released.then(() => then(request, response));
  return Object.assign(behaviour, { release });
}

/** Uses one behaviour per request, in this order, and repeats the last. */
export function sequence(...behaviours: readonly [Behaviour, ...Behaviour[]]): Behaviour {
  const [first, ...later] = behaviours;
  let next = first;
  return (request, response) => {
    const now = next;
    next = later.shift() ?? now;
    now(request, response);
  };
}
