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
import { basename } from "node:path";
import { format } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { vi } from "vitest";
import { listen } from "../support/http.ts";
import type { Request } from "./shell.ts";

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

/** What hosts of the Fetch standard call. */
interface Entries {
  readonly default?: { readonly fetch: Handler };
  /** A route handler of Next.js. */
  readonly GET?: (request: globalThis.Request, context: object) => Response | Promise<Response>;
  /** `proxy.ts` of Next.js. */
  readonly proxy?: (request: globalThis.Request) => Promise<Response | undefined>;
  /** `hooks.server.ts` of SvelteKit. */
  readonly handle?: (given: { readonly event: object; readonly resolve: Handler }) => Promise<Response>;
}

/** Imports a program for a host of the Fetch standard, and serves it. */
export async function serveFetch(file: string): Promise<Served> {
  const listener = getRequestListener(handlerOf((await import(file)) as Entries));
  return listen(createServer((request, response) => void listener(request, response)));
}

/** Calls the entry as its host does. Where the host would continue, the answer is an empty 200. */
function handlerOf({ default: main, GET, proxy, handle }: Entries): Handler {
  if (main) return main.fetch;
  if (GET) return (request) => GET(request, { params: Promise.resolve({ store_id: basename(request.url) }) });
  if (proxy) return async (request) => (await proxy(request)) ?? new Response();
  if (!handle) throw new Error("The program exports nothing that a host calls.");
  return (request) => {
    const [path, isData] = [new URL(request.url).pathname, request.url.endsWith("/__data.json")];
    const url = new URL(isData ? path.replace("/__data.json", "") : path, request.url);
    const route = { id: null }; // a host without routes
    const event = {
      request,
      url,
      route,
      params: {},
      isDataRequest: isData,
      isRemoteRequest: false,
      locals: {},
    };
    return handle({ event, resolve: () => new Response() });
  };
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

/** The cookies of a client, by name. */
export type Cookies = Map<string, string>;

/** Sends one documented request exactly as it is written, with the cookies of the requests above it. */
export async function send(
  port: number,
  { asked, cookies }: Request,
  jar: Cookies = new Map(),
): Promise<Answered> {
  const { method = "GET", path, headers = [], content } = asked;
  const pairs = cookies.sends ? [...jar].map(([name, value]) => `${name}=${value}`) : [];
  // Without a length, Node.js would announce a body in chunks for these methods, and curl sends none.
  const hasLength = content !== undefined || ["POST", "PUT", "PATCH"].includes(method);
  const length = hasLength ? [["content-length", String(Buffer.byteLength(content ?? ""))]] : [];
  // The default of curl for `-d`.
  const isTyped = content === undefined || headers.some(([name]) => name.toLowerCase() === "content-type");
  const type = isTyped ? [] : [["content-type", "application/x-www-form-urlencoded"]];
  const cookie = pairs.length === 0 ? [] : [["cookie", pairs.join("; ")]];
  const fields = [["host", `127.0.0.1:${port}`], ...headers, ...cookie, ...type, ...length].flat();
  const sent = httpRequest({ port, host: "127.0.0.1", method, path, agent: false, headers: fields });
  sent.end(content);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  if (cookies.keeps) keepCookies(jar, response.headers["set-cookie"]);
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

/** An empty value clears a cookie. */
function keepCookies(jar: Cookies, fields: readonly string[] = []): void {
  for (const field of fields) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(field) ?? [];
    if (value === "") jar.delete(name);
    else jar.set(name, value);
  }
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
