/** HTTP/1.1 over a raw socket, for requests that no HTTP client sends. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

type Fields = readonly (readonly [name: string, value: string])[];

/** Renders a request as it is sent. */
export const render = (line: string, fields: Fields, body = ""): string =>
  [line, ...fields.map(([name, value]) => `${name}: ${value}`), "", body].join("\r\n");

const UPGRADE: Fields = [
  ["Host", "agents.example"],
  ["Connection", "Upgrade"],
  ["Upgrade", "websocket"],
  ["Sec-WebSocket-Version", "13"],
  ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
];

/** Renders the request of a client that opens a WebSocket. */
export const renderUpgrade = (target: string, fields: Fields = [], method = "GET"): string =>
  render(`${method} ${target} HTTP/1.1`, [...UPGRADE, ...fields]);

export interface RawClient {
  readonly socket: Socket;
  /** Everything received so far, one character per byte. */
  readonly received: () => string;
  /** Resolves when the received data matches. Rejects if the connection closes first. */
  readonly receives: (expected: RegExp) => Promise<string>;
  /** Resolves with everything received when the connection is closed. */
  readonly closed: Promise<string>;
}

export async function openRaw(port: number): Promise<RawClient> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  // A reset also closes the connection, so it is not an error here.
  socket.on("error", () => undefined);
  const closed = once(socket, "close").then(() => text);
  await once(socket, "connect");
  const receives = async (expected: RegExp): Promise<string> => {
    while (!expected.test(text)) {
      if (socket.closed) throw new Error(`The connection was closed after ${JSON.stringify(text)}.`);
      await Promise.race([once(socket, "data"), closed]);
    }
    return text;
  };
  return { socket, received: () => text, receives, closed };
}

/** Sends bytes over a new connection and returns everything received until it is closed. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const { socket, closed } = await openRaw(port);
  socket.write(bytes, "latin1");
  return closed;
}
