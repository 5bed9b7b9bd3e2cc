import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { type KeyFetch } from "./fetch-json.ts";
import { MAX_BYTES } from "./jwks.ts";

/**
 * Gets a document with `node:http`. Reads the body of status 200 only, and stops when it is too large.
 *
 * The global `fetch` of Node.js 20 to 24 is not used: a response with more than five content encodings
 * causes an error that no caller can catch, and ends the process.
 */
export const httpGet: KeyFetch = async (url, { headers, signal }) => {
  const get = url.startsWith("https:") ? getHttps : getHttp;
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(url, { headers: { ...headers, "accept-encoding": "gzip" }, signal }, resolve);
    request.on("error", reject);
    // A response with status 101 is not reported.
    request.on("close", () => reject(new Error("The connection was closed.")));
  });
  try {
    const { statusCode: status = 0, headers: received } = message;
    const { location } = received;
    if (status === 200) return new Response(await readBody(message));
    return new Response(null, { status, ...(location !== undefined && { headers: { location } }) });
  } finally {
    message.destroy();
  }
};

async function readBody(message: IncomingMessage): Promise<Buffer> {
  // Counts the size after decompression, so that a compressed response cannot exhaust memory.
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
