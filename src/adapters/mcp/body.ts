/** Reads the body of a request, with limits on size and time. */

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
