/** Both supported versions of each framework, and applications that are served until the end of a test. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import express5 from "express";
import express4 from "express4";
import fastify5 from "fastify";
import fastify4 from "fastify4";
import Koa3 from "koa";
import Koa2 from "koa2";
import { onTestFinished } from "vitest";
import type { ResourceServer, ScopeMappings } from "scopegate";
import { type FastifyApplication, listenFastify } from "./hosts.ts";
import { type Answer, ask, type Asked, listen } from "./http.ts";
import { createServer as createResourceServer, issuer } from "./resource-servers.ts";
import type { ResourceServerOptions } from "./server.ts";

export { koaListener } from "./hosts.ts";

/** Rows for `describe.each`. Each older version has the types of the newer one. */
type Versions<Framework> = readonly (readonly [name: string, framework: Framework])[];

export const EXPRESS_VERSIONS: Versions<typeof express5> = [
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
];

export const KOA_VERSIONS: Versions<typeof Koa3> = [
  ["Koa 2", Koa2 as unknown as typeof Koa3],
  ["Koa 3", Koa3],
];

export const FASTIFY_VERSIONS: Versions<typeof fastify5> = [
  ["Fastify 4", fastify4 as unknown as typeof fastify5],
  ["Fastify 5", fastify5],
];

/** A resource server with only the rules of this table, which accepts the tokens of `issuer`. */
export const serverFor = (
  scopeMappings: ScopeMappings,
  options: Partial<ResourceServerOptions> = {},
): ResourceServer => createResourceServer({ scopeMappings, ...options });

/** Serves until the end of the test, and returns the port. */
export const serve = (listener: RequestListener): Promise<number> => serveHttp(createServer(listener));

/** Listens until the end of the test, which also ends upgraded connections, and returns the port. */
export async function serveHttp(http: Server): Promise<number> {
  // The server itself does not know upgraded connections any more.
  const connections = new Set<Socket>();
  http.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  const { port, close } = await listen(http);
  onTestFinished(async () => {
    for (const socket of connections) socket.destroy();
    await close();
  });
  return port;
}

/** Serves until the end of the test, and returns the port. */
export async function serveFastify(app: FastifyApplication): Promise<number> {
  const { port, close } = await listenFastify(app);
  onTestFinished(async () => {
    await close();
  });
  return port;
}

/** Sends one request, with a token that has these scopes. Without scopes, it has no token. */
export const askWith = async (
  port: number,
  path: string,
  scopes?: readonly string[],
  more: Partial<Asked> = {},
): Promise<Answer> => ask(port, { path, token: scopes && (await issuer.token({ scopes })), ...more });

/** The status of the answer to one request, as `askWith` sends it. */
export const statusWith = async (...asked: Parameters<typeof askWith>): Promise<number> =>
  (await askWith(...asked)).status;
