import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type Agent, type IncomingMessage, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: unknown;
}

export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly token?: string | undefined;
  /** An array, because names may repeat. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: unknown;
  /** Keeps connections open between requests. By default, each request has its own connection. */
  readonly agent?: Agent;
}

/** Sends one request without normalizing the target, with the fields in the given order. */
export async function ask(port: number, asked: Asked): Promise<Answer> {
  const fields: [string, string][] = [["host", `127.0.0.1:${port}`], ...(asked.headers ?? []).map(copy)];
  if (asked.token !== undefined) fields.push(["authorization", `Bearer ${asked.token}`]);
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
  if (body !== undefined) {
    fields.push(["content-type", "application/json"], ["content-length", String(Buffer.byteLength(body))]);
  }
  const sent = httpRequest({
    port,
    host: "127.0.0.1",
    method: asked.method ?? "GET",
    path: asked.path,
    agent: asked.agent ?? false,
    headers: fields.flat(),
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.statusCode ?? 0, headers: response.headers, text, body: parse(text) };
}

/** Calls a method of an MCP server at `/mcp`. */
export const askMcp = (port: number, method: string, params: object, token?: string): Promise<Answer> =>
  ask(port, {
    method: "POST",
    path: "/mcp",
    token,
    headers: [["accept", "application/json, text/event-stream"]],
    body: { jsonrpc: "2.0", id: 1, method, params },
  });

const copy = ([name, value]: readonly [string, string]): [string, string] => [name, value];

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Listens on the given port, or on one that the system chooses. */
export async function listen(
  server: Server,
  givenPort = 0,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  server.listen(givenPort, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * Listens on a port that stays free while the server is stopped, so that it can listen there again. The system gives a
 * port of its own range, which begins at 32768 or higher, to any other server or connection.
 */
export async function listenForRestarts(server: Server): ReturnType<typeof listen> {
  for (;;) {
    try {
      return await listen(server, randomInt(20_000, 32_768));
    } catch (error) {
      // Windows reserves some ports.
      if (!["EADDRINUSE", "EACCES"].includes(String((error as NodeJS.ErrnoException).code))) throw error;
    }
  }
}
