/** The connection of an upgrade: how a refusal is written to it, and how it is closed. */
import { type RawResponse, renderResponse } from "../../response/raw-response.ts";

/** The part of a socket of `node:net` or `node:tls` that is read and written. */
export interface UpgradeSocket {
  /** Whether the connection is gone. */
  readonly destroyed: boolean;
  /** Whether the client may still send. */
  readonly readable: boolean;
  /** Whether a response can still be written. */
  readonly writable: boolean;
  /** `true` as soon as another listener reads the socket. */
  readonly readableFlowing: boolean | null;
  /** Listens for errors while the check is pending. */
  on(event: "error", listener: () => void): unknown;
  /** Removes that listener. */
  off(event: "error", listener: () => void): unknown;
  /** Listens for the end of the connection. */
  once(event: "close", listener: () => void): unknown;
  /** Writes the response and ends the connection. */
  end(bytes: Uint8Array): unknown;
  /** Discards what the client still sends. */
  resume(): unknown;
  /** Closes the connection at once. */
  destroy(): unknown;
}

/** How long a client may take to read the response and to close, in milliseconds. */
const LINGER_MS = 2_000;

/** Writes the response, if there is one, and closes the connection, even if the client has stopped reading. */
export function close(socket: UpgradeSocket, response: RawResponse | undefined, method: string): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  // Not writable means that it was answered already, for example by a timeout.
  if (socket.writable)
    socket.end(response ? renderResponse(response, method, new Date().toUTCString()) : NOTHING);
  // Closing with unread bytes resets the connection, and the response is lost (RFC 9112 section 9.6).
  socket.resume();
}

const NOTHING = new Uint8Array();
