/** Reads the body of a request of Node.js or the Fetch standard, with limits on size and time. */
import type { IncomingMessage } from "node:http";
import { orUndefined } from "../../core/errors.ts";

/** A header field of the request; several with one name are joined by `", "`. */
export type ReadHeader = (name: string) => string | undefined;

/** RFC 9110 section 8.3; JSON is UTF-8 (RFC 8259 section 8.1). */
const JSON_TYPE = /^application\/json[\t ]*(?:;[\t ]*charset=(?:utf-8|"utf-8")[\t ]*)?$/i;

/** Returns whether a request announces a body (RFC 9112 section 6). */
export const hasBody = (header: ReadHeader): boolean =>
  header("transfer-encoding") !== undefined || Number(header("content-length") ?? 0) > 0;

/** Returns whether the body is JSON that needs no decoding. */
export function isJson(header: ReadHeader): boolean {
  const type = header("content-type") ?? "";
  const encoding = header("content-encoding") ?? "";
  return (
    (type === "application/json" || JSON_TYPE.test(type)) &&
    (encoding === "" || encoding.toLowerCase() === "identity")
  );
}

/** The limits of a body. */
export interface BodyLimits {
  /** The maximum size of a body in bytes; a larger one is refused with 413. Default: `4_194_304`, 4 MiB. */
  readonly maxBodyBytes: number;
  /** How long a client may take to send a body, in milliseconds; then 408. Default: `30_000`. */
  readonly bodyTimeoutMs: number;
}

/** The functions that the source of a body calls. */
export interface Sink {
  /** Takes a chunk. Returns whether more chunks are wanted. */
  readonly add: (chunk: Uint8Array) => boolean;
  readonly end: () => void;
  readonly fail: () => void;
}

/** A body, or why it wasn't read completely. A closed connection counts as too slow: it gets no response. */
export type ReadBody = Buffer | "too large" | "too slow";

/** `announced` is the `Content-Length`, or 0. */
export const readBody = (
  start: (sink: Sink) => unknown,
  limits: BodyLimits,
  announced: number,
): Promise<ReadBody> =>
  new Promise((resolve) => {
    // One buffer for all chunks: with an object for each, chunks of one byte would take much more memory.
    let body: Buffer = Buffer.alloc(0);
    let bytes = 0;
    let isOver = false;
    const finish = (result: ReadBody): boolean => {
      isOver = true;
      clearTimeout(timer);
      resolve(result);
      return false;
    };
    const fail = () => finish("too slow");
    const latest = performance.now() + limits.bodyTimeoutMs;
    const timer = setTimeout(fail, limits.bodyTimeoutMs).unref();
    const add = (chunk: Uint8Array): boolean => {
      if (isOver) return false;
      // Chunks that arrive without a pause keep the timer from running.
      if (performance.now() > latest) return fail();
      const needed = bytes + chunk.length;
      if (needed > limits.maxBodyBytes) return finish("too large");
      if (bytes === 0) body = Buffer.from(chunk.buffer, chunk.byteOffset, needed);
      else {
        if (needed > body.length) {
          // Memory is only used when it's written to, so a client that announces a large body takes little.
          const larger = Buffer.allocUnsafeSlow(
            Math.max(needed, announced > needed ? announced : 2 * needed),
          );
          body.copy(larger, 0, 0, bytes);
          body = larger;
        }
        body.set(chunk, bytes);
      }
      bytes = needed;
      return true;
    };
    start({ add, fail, end: () => finish(body.subarray(0, bytes)) });
  });

/** Reads a header field of Node's request. Only an own property: a polluted prototype must not add one. */
export function readNodeHeader({ headers }: IncomingMessage, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return Array.isArray(value) ? value.join(", ") : value;
}

/**
 * Reads the body of Node's request to its end, even after all of it has arrived: a proxy behind the guard
 * would otherwise send the request without its body. After a refusal, Node.js closes the connection.
 */
export function readNodeBody(raw: IncomingMessage, limits: BodyLimits): Promise<ReadBody> {
  const announced = Number(readNodeHeader(raw, "content-length") ?? 0);
  const start = ({ add, end, fail }: Sink): void => {
    const read = (chunk: Buffer | string): void => {
      if (!add(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) raw.off("data", read).pause();
    };
    raw.on("data", read).once("end", end).once("error", fail).once("close", fail);
    if (raw.destroyed) fail();
  };
  return readBody(start, limits, announced);
}

/** Returns a request with an unread body. The constructor rejects the requests of some servers. */
export const withBody = (raw: Request, body: Buffer): Request =>
  orUndefined(() => new Request(raw, { body })) ??
  new Request(raw.url, { method: raw.method, headers: raw.headers, signal: raw.signal, body });

/** Reads the body of a request of the Fetch standard. */
export function readWebBody({ body, headers }: Request, limits: BodyLimits): Promise<ReadBody> {
  const start = async ({ add, end, fail }: Sink): Promise<void> => {
    try {
      const reader = body?.getReader();
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
        if (!add(next.value as Uint8Array)) return;
      end();
    } catch {
      fail();
    }
  };
  return readBody(start, limits, Number(headers.get("content-length") ?? 0));
}
