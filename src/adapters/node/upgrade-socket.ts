import { type Refusal } from "../../response/refusal.ts";
import { renderBody } from "../../response/rendered-body.ts";

/** The part of an upgraded connection that is read and written: a socket of `node:net` or `node:tls`. */
export interface UpgradeSocket {
  /** Whether the connection is gone. */
  readonly destroyed: boolean;
  /** Whether the client may still send. */
  readonly readable: boolean;
  /** Whether an answer can still be written. */
  readonly writable: boolean;
  /** `true` as soon as somebody takes what arrives. */
  readonly readableFlowing: boolean | null;
  /** Listens for errors while the check is pending. */
  on(event: "error", listener: () => void): unknown;
  /** Takes that listener away. */
  off(event: "error", listener: () => void): unknown;
  /** Listens for the end of the connection. */
  once(event: "close", listener: () => void): unknown;
  /** Writes the answer and ends the connection. */
  end(bytes: Uint8Array): unknown;
  /** Drops what the client still sends. */
  resume(): unknown;
  /** Cuts the connection off. */
  destroy(): unknown;
}

/** A response of HTTP/1.1, to be written as bytes: an upgrade comes without a response object. */
export interface RawResponse {
  readonly status: number;
  /** What the status means, in words. */
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: string;
}

/** What a fault is answered by: nothing of it is told. */
export const FAULT: RawResponse = { status: 500, title: "Internal Server Error", headers: {}, content: "" };

export const toRawResponse = ({ status, headers, body }: Refusal): RawResponse => ({
  status,
  title: body.title,
  headers,
  content: renderBody(body),
});

/** How long a client may take to read its answer and to close, in milliseconds. */
const LINGER_MS = 2_000;

/** Writes the response, where there is one, and closes the connection; a client that has stopped to read cannot hold it. */
export function close(socket: UpgradeSocket, response: RawResponse | undefined, method: string): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  // Where somebody has answered already, a timeout for one, there is nothing left to say.
  if (socket.writable) socket.end(response ? render(response, method) : NOTHING);
  // Closed with bytes that nobody has read, a connection is reset, and the answer lost with it (RFC 9112 section 9.6).
  socket.resume();
}

const NOTHING = new Uint8Array();

function render({ status, title, headers, content }: RawResponse, method: string): Uint8Array {
  const bytes = Buffer.from(content);
  const fields = Object.entries({
    ...headers,
    "Content-Length": String(bytes.length),
    Date: new Date().toUTCString(),
    Connection: "close",
  });
  const lines = [
    `HTTP/1.1 ${status} ${title}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
    "",
    "",
  ];
  // The answer to HEAD ends behind its fields (RFC 9110 section 9.3.2).
  return Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), ...(method === "HEAD" ? [] : [bytes])]);
}
