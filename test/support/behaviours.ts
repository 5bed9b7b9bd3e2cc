/** What an endpoint that serves JSON documents may do to a client, well or badly. */
import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { gzipSync } from "node:zlib";

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

const CHUNK = Buffer.alloc(64 * 1024, " ");
const JSON_TYPE = { "content-type": "application/json" } as const;

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A complete answer. */
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

/** A status without a body. */
export const status =
  (code: number, headers: OutgoingHttpHeaders = {}): Behaviour =>
  (_request, response) =>
    void response.writeHead(code, headers).end();

export const redirect = (location: string, code = 302): Behaviour => status(code, { location });

/** Takes the request and never answers. */
export const never = (): Behaviour => () => undefined;

/** Answers a request with a TCP reset. */
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
 * Sends the headers at once, then the document byte by byte, then spaces for ever: every wait for the next byte is short,
 * and the body stays JSON and never ends.
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
  /** Bytes of bodies handed to connections, over all requests. What the system buffers counts as sent. */
  readonly sent: () => number;
}

/**
 * The document, then spaces up to so many bytes, of a length that no header tells. A client that reads all of it, and one
 * that takes its beginning for all of it, find the document in it.
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

/** Declares so many bytes, sends the document and then nothing more: only the header tells what would come. */
export function enormousDeclared(bytes: number, value: unknown = { keys: [] }): Behaviour {
  const body = bytesOf(value);
  return (_request, response) => {
    response.writeHead(200, { ...JSON_TYPE, "content-length": bytes });
    response.write(body);
  };
}

/** The document and spaces up to so many bytes, compressed: its `content-length` tells a thousandth of it. */
export function gzipBomb(bytes: number, value: unknown = { keys: [] }): Behaviour {
  const plain = Buffer.alloc(bytes, " ");
  bytesOf(value).copy(plain);
  return whole(200, gzipSync(plain), { ...JSON_TYPE, "content-encoding": "gzip" });
}

export interface Held extends Behaviour {
  /** Lets what waits be answered, and what comes later be answered at once. */
  readonly release: () => void;
}

/** Behaves like another, once it is released. */
export function held(then: Behaviour): Held {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const behaviour: Behaviour = (request, response) => void released.then(() => then(request, response));
  return Object.assign(behaviour, { release });
}

/** One behaviour per request, in this order; the last one for every further request. */
export function sequence(...behaviours: readonly [Behaviour, ...Behaviour[]]): Behaviour {
  const [first, ...later] = behaviours;
  let next = first;
  return (request, response) => {
    const now = next;
    next = later.shift() ?? now;
    now(request, response);
  };
}
