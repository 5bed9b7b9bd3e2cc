/** The connection of an upgrade: how a refusal is written to it, and how it is closed. */
import type { Duplex } from "node:stream";
import { type RawResponse, renderResponse } from "../../core/response/raw-response.ts";

/** A socket of `node:net` or `node:tls`, as a server passes it to listeners of `upgrade`. */
export type UpgradeSocket = Duplex;

/** How long a client may take to read the response and to close, in milliseconds. */
const LINGER_MS = 2_000;

/** Writes the response, if any, and closes the connection, even if the client has stopped reading. */
export function close(socket: UpgradeSocket, response: RawResponse | undefined, method: string): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  // A socket that isn't writable already has a response, for example from a timeout.
  if (socket.writable)
    socket.end(response ? renderResponse(response, method, new Date().toUTCString()) : new Uint8Array());
  // Closing with unread bytes would reset the connection and lose the response (RFC 9112 section 9.6).
  socket.resume();
}
