import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { MAX_BYTES } from "./fetch-json.ts";

/** The part of the second argument of `fetch` that this project uses. */
export interface HttpInit {
  readonly method: "GET" | "POST";
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: "manual";
  readonly signal: AbortSignal;
}

const platformFetch = globalThis.fetch;

/** How a request connects. With `lookup`, no connection of other requests is used again. */
interface Connecting {
  readonly lookup?: LookupFunction;
  /** Called with each new connection, before it's established. */
  readonly watchSocket?: (socket: Socket) => void;
}

/** Uses the global `fetch` only if the program has replaced it, for example in its tests. */
export const defaultFetch = (url: string, init: HttpInit): Promise<Response> =>
  globalThis.fetch === platformFetch ? httpRequest(url, init) : globalThis.fetch(url, init);

/**
 * Sends a request with `node:http`. Reads the body of status 200 only, and stops when it's too large.
 *
 * The global `fetch` of Node.js 20 to 24 isn't used: a response with more than five content encodings causes
 * an error that no caller can catch, and ends the process.
 */
export async function httpRequest(url: string, init: HttpInit & Connecting): Promise<Response> {
  const message = await sendRequest(url, init);
  try {
    const { statusCode: status = 0, headers: receivedHeaders } = message;
    if (status === 200) return new Response(await readLimitedBody(message));
    const headers = new Headers();
    for (const name of ["location", "retry-after"] as const)
      if (receivedHeaders[name] !== undefined) headers.set(name, receivedHeaders[name]);
    return new Response(null, { status, headers });
  } finally {
    message.destroy();
  }
}

function sendRequest(url: string, init: HttpInit & Connecting): Promise<IncomingMessage> {
  const start = url.startsWith("https:") ? requestHttps : requestHttp;
  const { method, headers, body, signal, lookup, watchSocket } = init;
  const connecting = lookup ? { lookup, agent: false } : {};
  return new Promise((resolve, reject) => {
    const options = { method, headers: { ...headers, "accept-encoding": "gzip" }, signal };
    const request = start(url, { ...options, ...connecting }, resolve);
    if (watchSocket) request.on("socket", watchSocket);
    request.on("error", (error: NodeJS.ErrnoException) => {
      // The server closed an idle connection at the moment when it was used again.
      if (request.reusedSocket && error.code === "ECONNRESET") resolve(sendRequest(url, init));
      else reject(error);
    });
    // For a response with status 101, Node.js doesn't call `resolve`.
    request.on("close", () => reject(new Error("The connection was closed.")));
    request.end(body);
  });
}

async function readLimitedBody(message: IncomingMessage): Promise<Buffer> {
  // Counts the size after decompression, so that a compressed response can't exhaust memory.
  const isGzip = message.headers["content-encoding"] === "gzip";
  const body = isGzip ? pipeline(message, createGunzip(), () => undefined) : message;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_BYTES) break;
  }
  return Buffer.concat(chunks);
}
