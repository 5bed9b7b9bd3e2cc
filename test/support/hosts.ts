/** Starts applications of every host on ports of their own. */
import { getRequestListener } from "@hono/node-server";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { listen } from "./http.ts";

export interface FastifyApplication {
  listen(where: { port: number; host: string }): Promise<unknown>;
  close(): Promise<unknown>;
  readonly server: { address(): unknown };
}

/** A listener of Node.js for a handler of the Fetch standard. */
export function listenerOf(handle: (request: Request) => Response | Promise<Response>): RequestListener {
  const listener = getRequestListener(handle);
  return (request, response) => void listener(request, response);
}

interface KoaApplication {
  silent?: boolean;
  callback(): (...values: Parameters<RequestListener>) => Promise<void>;
}

/** A listener that prints no errors. */
export function koaListener(app: KoaApplication): RequestListener {
  app.silent = true;
  const callback = app.callback();
  return (request, response) => void callback(request, response);
}

const closing: (() => Promise<unknown>)[] = [];

/** Closes everything that was started. */
export async function closeAll(): Promise<void> {
  for (const close of closing.splice(0)) await close();
}

/** Returns the port. */
export async function start(listener: RequestListener): Promise<number> {
  const { port, close } = await listen(createServer(listener));
  closing.push(close);
  return port;
}

/** Listens on a port that the system chooses. */
export async function listenFastify(
  app: FastifyApplication,
): Promise<{ readonly port: number; readonly close: () => Promise<unknown> }> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}

/** Returns the port. */
export async function startFastify(app: FastifyApplication): Promise<number> {
  const { port, close } = await listenFastify(app);
  closing.push(close);
  return port;
}
