/** Sends requests to a server of the same process, over streams in memory instead of sockets. */
import type { Server } from "node:http";
import { duplexPair } from "node:stream";
import { anyOf } from "./any-of.ts";
import type { Question } from "./route.ts";

/** The same number as in the loopback benchmark. */
const CONNECTIONS = 32;

export interface Exchange {
  /** Sends every token once, so that the server can cache them. */
  readonly sendAll: () => Promise<void>;
  /** Sends requests with tokens in random order. */
  readonly send: (requests: number) => Promise<void>;
}

export function createExchange(server: Server, tokens: readonly string[], question: Question): Exchange {
  const requests = tokens.map((token) => Buffer.from(write(question, token)));
  const clients = Array.from({ length: CONNECTIONS }, () => connect(server, question.end));
  const send = async (count: number, next: () => Buffer): Promise<void> => {
    let left = count;
    const nextOrEnd = () => (left-- > 0 ? next() : undefined);
    await Promise.all(clients.map((client) => client(nextOrEnd)));
  };
  const inRandomOrder = anyOf(requests);
  return {
    sendAll: () => {
      const all = requests.values();
      return send(requests.length, () => all.next().value as Buffer);
    },
    send: (count) => send(count, inRandomOrder),
  };
}

function write({ method, target, headers, body = "" }: Question, token: string): string {
  const fields = { Host: "localhost", Authorization: `Bearer ${token}`, ...headers };
  const length = body === "" ? {} : { "Content-Length": `${Buffer.byteLength(body)}` };
  const lines = Object.entries({ ...fields, ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** Sends one request after the other until there are none left. */
type Client = (next: () => Buffer | undefined) => Promise<void>;

function connect(server: Server, end: string): Client {
  const [client, socket] = duplexPair();
  // Node.js documents this: any Duplex can be a connection.
  server.emit("connection", socket);
  let received = "";
  let onAnswer = (): void => undefined;
  client.setEncoding("latin1").on("data", (text: string) => {
    received += text;
    if (!received.startsWith("HTTP/1.1 200 ")) throw new Error(`The answer is not 200: ${received}`);
    if (!received.endsWith(end)) return;
    received = "";
    // The next request gets a turn of the event loop, as it does when it arrives at a socket.
    setImmediate(onAnswer);
  });
  return (next) =>
    new Promise((resolve) => {
      onAnswer = () => {
        const request = next();
        if (request) client.write(request);
        else resolve();
      };
      onAnswer();
    });
}
