/** Runs documented programs in this process: servers on an ephemeral port, other programs to their end. */
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server as HttpServer,
} from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { type AddressInfo, type ListenOptions, Server } from "node:net";
import { format } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { vi } from "vitest";
import { listen } from "../support/http.ts";
import { type Request } from "./shell.ts";

type Listen = (this: Server, where: number | ListenOptions, ...rest: unknown[]) => Server;

export interface Served {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Imports a program that listens, and replaces its port by an ephemeral one. */
export async function serve(file: string): Promise<Served> {
  const prototype = Server.prototype as unknown as { listen: Listen };
  const { listen } = prototype;
  const servers: Server[] = [];
  const listening = new Promise<number>((resolve) => {
    prototype.listen = function (where, ...rest) {
      servers.push(this);
      this.once("listening", () => resolve((this.address() as AddressInfo).port));
      return listen.call(this, typeof where === "number" ? 0 : { ...where, port: 0 }, ...rest);
    };
  });
  const stopWatching = watchSubscriptions();
  let endSubscriptions = (): void => undefined;
  try {
    await import(file);
    const port = await listening;
    const close = async (): Promise<void> => {
      endSubscriptions();
      await stopAll(servers);
    };
    return { port, close };
  } finally {
    prototype.listen = listen;
    endSubscriptions = stopWatching();
  }
}

type Handler = (request: globalThis.Request) => Response | Promise<Response>;

/** Imports a program whose default export is a handler of the Fetch standard, and serves it. */
export async function serveFetch(file: string): Promise<Served> {
  const { default: main } = (await import(file)) as { readonly default: { readonly fetch: Handler } };
  const listener = getRequestListener(main.fetch);
  return listen(createServer((request, response) => void listener(request, response)));
}

async function stopAll(servers: readonly Server[]): Promise<void> {
  for (const server of servers) await stop(server);
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  (server as Partial<HttpServer>).closeAllConnections?.();
  const closed = once(server, "close");
  server.close();
  await closed;
}

export interface Answered {
  readonly status: number;
  readonly head: string;
  readonly text: string;
}

/** Sends one documented request exactly as it is written. */
export async function send(port: number, { asked }: Request): Promise<Answered> {
  const { method = "GET", path, headers = [], content } = asked;
  const length = content === undefined ? [] : [["content-length", String(Buffer.byteLength(content))]];
  const fields = [["host", `127.0.0.1:${port}`], ...headers, ...length].flat();
  const sent = httpRequest({ port, host: "127.0.0.1", method, path, agent: false, headers: fields });
  sent.end(content);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { statusCode = 0, statusMessage = "", rawHeaders } = response;
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[index + 1] ?? ""}`] : [],
  );
  return {
    status: statusCode,
    head: [`http/1.1 ${statusCode} ${statusMessage}`, ...lines].join("\n"),
    text: Buffer.concat(chunks).toString("utf8"),
  };
}

/** Imports a program that ends, and returns what it printed. */
export async function run(file: string): Promise<string> {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((...values) => void lines.push(format(...values)));
  const stopWatching = watchSubscriptions();
  try {
    await import(file);
  } finally {
    log.mockRestore();
    stopWatching()();
  }
  return lines.join("\n");
}

/**
 * A program does not end here as it does in a process of its own: its subscribers would stay for other tests.
 * The returned function ends the watch, and returns one that ends the subscriptions.
 */
export function watchSubscriptions(): () => () => void {
  const spy = vi.spyOn(diagnostics, "subscribe");
  syncBuiltinESMExports();
  return () => {
    const calls = [...spy.mock.calls];
    spy.mockRestore();
    syncBuiltinESMExports();
    return () => {
      for (const [name, listener] of calls) diagnostics.unsubscribe(name, listener);
    };
  };
}
