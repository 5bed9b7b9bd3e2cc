/** HTTP/1.1 as bytes on a socket, for what no HTTP client sends or shows. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A request as it goes over the wire. */
export const render = (line: string, fields: readonly (readonly [string, string])[], body = ""): string =>
  [line, ...fields.map(([name, value]) => `${name}: ${value}`), "", body].join("\r\n");

export interface RawClient {
  readonly socket: Socket;
  /** Everything received up to now, each byte as one character. */
  readonly received: () => string;
  /** Resolves as soon as what was received matches; rejects where the connection ends before. */
  readonly receives: (expected: RegExp) => Promise<string>;
  /** Resolves with everything received, as soon as the connection is closed. */
  readonly closed: Promise<string>;
}

export async function openRaw(port: number): Promise<RawClient> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  // A reset is one way for a connection to end.
  socket.on("error", () => undefined);
  const closed = once(socket, "close").then(() => text);
  await once(socket, "connect");
  const receives = async (expected: RegExp): Promise<string> => {
    while (!expected.test(text)) {
      if (socket.closed) throw new Error(`Closed after ${JSON.stringify(text)}.`);
      await Promise.race([once(socket, "data"), closed]);
    }
    return text;
  };
  return { socket, received: () => text, receives, closed };
}

/** Sends bytes on a connection of their own and answers with everything received until its end. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const { socket, closed } = await openRaw(port);
  socket.write(bytes, "latin1");
  return closed;
}
