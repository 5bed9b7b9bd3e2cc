/** Compiled, not run: the adapters fit the types of both major versions and keep the types of route parameters. */
import { createServer, type ServerResponse } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import Router from "@koa/router";
import { Controller, Get, Module, Param } from "@nestjs/common";
import { initTRPC } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import fastify4 from "fastify4";
import { Hono } from "hono";
import Koa from "koa";
import Koa2 from "koa2";
import type { Principal } from "scopegate";
import { type ListedRoute, routesOf } from "scopegate/audit";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNest from "scopegate/nest";
import * as forNode from "scopegate/node";
import * as forSocketIo from "scopegate/socketio";
import * as forTrpc from "scopegate/trpc";
import { Server as SocketIoServer } from "socket.io";
import { createResourceServer } from "../support/server.ts";

const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [""] });

const app5 = express();
app5.use(forExpress.protect(server));
app5.use("/mounted", forExpress.protect(server), express.Router().use(forExpress.protect(server)));
app5.get("/agents/:agent_id", forExpress.requireScopes("agents:read"), (request, response) => {
  const id: string = request.params.agent_id;
  // @ts-expect-error -- the route has no such parameter
  const none: unknown = request.params.team_id;
  const principal: Principal | undefined = forExpress.principalOf(request);
  response.json({ id, principal, none });
});

const app4 = express4();
app4.use(forExpress.protect(server));
app4.get("/agents/:agent_id", forExpress.requireScopes("agents:read"), (request, response) => {
  const id: string = request.params.agent_id;
  response.json({ id, caller: forExpress.principalOf(request)?.userId });
});

const koa3 = new Koa<{ readonly own: number }>();
koa3.use(forKoa.protect(server));
const router = new Router();
router.get("/agents/:agent_id", forKoa.requireScopes("agents:read"), (context) => {
  const id: string | undefined = context.params["agent_id"];
  context.body = { id, caller: forKoa.principalOf(context)?.userId };
});
koa3.use(router.routes());
const koa2 = new Koa2();
koa2.use(forKoa.protect(server));
koa2.use((context) => {
  context.body = forKoa.principalOf(context)?.userId;
});

const fastify5App = fastify();
fastify5App.register(forFastify.protect(server));
fastify5App.get<{ Params: { agent_id: string } }>(
  "/agents/:agent_id",
  { onRequest: forFastify.requireScopes("agents:read") },
  (request) => ({ id: request.params.agent_id, caller: forFastify.principalOf(request)?.userId }),
);
const fastify4App = fastify4({ logger: true });
await fastify4App.register(forFastify.protect(server));
fastify4App.get(
  "/agents",
  { preHandler: [forFastify.requireScopes("agents:read")] },
  (request) => forFastify.principalOf(request)?.userId,
);

const nodeGuard = forNode.protect(server);
const mayUpgrade = forNode.protectUpgrade(server);
const http = createServer((request, response) => {
  void nodeGuard(request, response);
  if (forNode.requireScopes("agents:read")(request, response)) response.end();
});
http.on("upgrade", (request, socket, head) => void mayUpgrade(request, socket, head));
createHttpsServer((request, response) => void nodeGuard(request, response));
createHttp2Server((request, response) => void nodeGuard(request, response));

/** The types of Node.js before 18.16.20 have no `appendHeader`. */
type Older<Response> = Omit<Response, "appendHeader">;
type OlderMiddleware = (
  request: express.Request,
  response: Older<express.Response>,
  next: () => void,
) => void;
declare const response: Older<ServerResponse>;
const older: readonly OlderMiddleware[] = [
  forExpress.protect(server),
  forExpress.metadata(server),
  forExpress.requireScopes("agents:read"),
];
createServer((request) => void nodeGuard(request, response));
createServer((request) => void forNode.requireScopes("agents:read")(request, response));

interface Events {
  readonly say: (text: string) => void;
}

const io = new SocketIoServer<Events, Events>(createServer());
forSocketIo.protect(server, { tokenInAuth: true })(io);
io.on("connection", (socket) => {
  const caller: Principal | undefined = forSocketIo.principalOf(socket);
  socket.on("say", (text) => socket.emit("say", `${caller?.userId}: ${text}`));
});

const hono = new Hono<{ Variables: { word: string } }>();
hono.use(forHono.protect(server));
hono.get("/agents/:agent_id", forHono.requireScopes("agents:read"), (context) => {
  const id: string = context.req.param("agent_id");
  // @ts-expect-error -- a parameter that the route does not have may be undefined
  const none: string = context.req.param("team_id");
  const word: string = context.var.word;
  return context.json({ id, none, word, caller: forHono.principalOf(context)?.userId });
});

const fetchGuard = forFetch.protect(server);
const decide = async (request: Request): Promise<Response> => {
  const result = await fetchGuard(request);
  // @ts-expect-error -- it may be a response
  console.log(result.principal);
  if (!("decision" in result)) return result;
  const principal: Principal | undefined = result.principal;
  return forFetch.requireScopes("agents:read")(request, {}) ?? Response.json(principal);
};
const worker = forFetch.withScopes(server, (request: Request, { principal }, bindings: { region: string }) =>
  Response.json([request.url, principal?.userId, bindings.region]),
);
void decide(new Request("http://localhost"));
void worker(new Request("http://localhost"), { region: "here" });
// @ts-expect-error -- the handler needs its bindings
void worker(new Request("http://localhost"));

@Controller("agents")
@forNest.RequireScopes("agents:read")
class Agents {
  @Get(":agent_id")
  @forNest.RequireScopes("agents:<agent_id>:read", "logs:read")
  one(@Param("agent_id") id: string, @forNest.CurrentPrincipal() caller: Principal | undefined): unknown {
    return { id, caller };
  }
}
Module({
  imports: [
    forNest.ScopegateModule.forRoot(server),
    forNest.ScopegateModule.forRootAsync({ inject: [Agents], useFactory: () => Promise.resolve(server) }),
  ],
  controllers: [Agents],
});

interface Context extends forTrpc.TrpcContext {
  readonly word: string;
}
const t = initTRPC.context<Context>().create();
const procedures = t.router({ whoami: t.procedure.query(({ ctx }) => [ctx.word, ctx.principal?.userId]) });
const protectedContext = forTrpc.protect(server, { prefix: "/trpc" });

const lists: readonly (readonly ListedRoute[])[] = [
  routesOf(app5),
  routesOf(app4, { mounted: [app5] }),
  routesOf(koa3),
  routesOf(koa2),
  routesOf([router], { prefix: "/api" }),
  routesOf(hono),
  routesOf(fastify5App),
  routesOf(fastify4App).filter(({ pattern }) => pattern !== "/internal"),
];
const promised: Promise<readonly ListedRoute[]> = routesOf(procedures, { prefix: "/trpc" });
export { lists, older, promised };
void fetchRequestHandler({
  endpoint: "/trpc",
  req: new Request("http://localhost"),
  router: procedures,
  createContext: async (options) => ({ ...(await protectedContext(options)), word: "done" }),
});
