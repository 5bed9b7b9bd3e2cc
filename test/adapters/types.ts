/** Compiled, not run: the adapters fit the types of both major versions and keep the types of route parameters. */
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import Router from "@koa/router";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import fastify4 from "fastify4";
import Koa from "koa";
import Koa2 from "koa2";
import { createResourceServer, type Principal } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";

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
  // @ts-expect-error -- a promise that is not awaited would let every request in
  if (nodeGuard(request, response)) response.end(); // eslint-disable-line
  if (forNode.requireScopes("agents:read")(request, response)) response.end();
});
http.on("upgrade", (request, socket, head) => void mayUpgrade(request, socket, head));
createHttpsServer((request, response) => void nodeGuard(request, response));
createHttp2Server((request, response) => void nodeGuard(request, response));

// @ts-expect-error -- protect has no options
forExpress.protect(server, { caseSensitive: true });
// @ts-expect-error -- protect has no options
forKoa.protect(server, { strict: true });
// @ts-expect-error -- one key source, not two
createResourceServer({ keys: { jwksFile: "keys.json", jwks: { keys: [] } }, colour: "red" });
// @ts-expect-error -- `none` is not an algorithm
createResourceServer({ algorithm: "none" });
// @ts-expect-error -- principals are read-only
forExpress.principalOf({}).userId = "root";
