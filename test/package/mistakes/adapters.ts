/** Guards of another framework, without a server or with options must not compile. */
import { createServer } from "node:http";
import express from "express";
import { fastify } from "fastify";
import Koa from "koa";
import { createResourceServer, type Principal } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { mayCall, protectMcp, withMcp } from "scopegate/mcp";
import * as forNode from "scopegate/node";
import * as forSocketIo from "scopegate/socketio";
import * as forTrpc from "scopegate/trpc";

declare const principal: Principal;
declare const result: Awaited<ReturnType<forFetch.FetchGuard>>;
const server = createResourceServer({});

// The function that creates a guard is not a guard
// @ts-expect-error -- without a server
express().use(forExpress.protect);
// @ts-expect-error -- of another framework
express().use(forKoa.protect(server));
// @ts-expect-error -- of another framework
new Koa().use(forExpress.protect(server));
// @ts-expect-error -- of another framework
void fastify().register(forExpress.protect(server));
// @ts-expect-error -- a guard of Fastify is a plugin, not a hook
fastify().addHook("onRequest", forFastify.protect(server));
// @ts-expect-error -- the table of the server, and not the server
express().use(forExpress.protect(server.routes));

// Something else than a server
// @ts-expect-error -- a server is required
forExpress.protect();
// @ts-expect-error -- a caller is not a server
forExpress.protect(principal);
// @ts-expect-error -- options are not a server
forKoa.protect({ serviceId: "agents-prod" });
// @ts-expect-error -- a caller is not a server
forFastify.protect(principal);
// @ts-expect-error -- a caller is not a server
forHono.protect(principal);
// @ts-expect-error -- a caller is not a server
forFetch.protect(principal);
// @ts-expect-error -- a caller is not a server
forNode.protect(principal);
// @ts-expect-error -- a caller is not a server
forSocketIo.protect(principal);
// @ts-expect-error -- a caller is not a server
protectMcp(principal);

// No adapter has options about the path, because a guard that reads it in its own way could be bypassed
// @ts-expect-error -- no options
forExpress.protect(server, { caseSensitive: true });
// @ts-expect-error -- no options
forKoa.protect(server, { sensitive: true });
// @ts-expect-error -- no options
forFastify.protect(server, { prefix: "/api" });
// @ts-expect-error -- no options
forHono.protect(server, { strict: true });
// @ts-expect-error -- no options
forFetch.protect(server, { basePath: "/api" });
// @ts-expect-error -- no options
forNode.protect(server, { strict: true });

// Scopes of a route are arguments
// @ts-expect-error -- an array
forExpress.requireScopes(["agents:read"]);
// @ts-expect-error -- an array
forKoa.requireScopes(["agents:read"]);
// @ts-expect-error -- an array
forFastify.requireScopes(["agents:read"]);
// @ts-expect-error -- an array
forHono.requireScopes(["agents:read"]);
// @ts-expect-error -- an object
forNode.requireScopes({ anyOf: ["agents:read"] });

// Promises, and responses that must be sent
createServer((request, response) => {
  // @ts-expect-error -- a promise that is not awaited would let every request in
  if (forNode.protect(server)(request, response)) response.end();
});
// @ts-expect-error -- the guard returns a response or the access of the caller
console.log(result.principal);
// @ts-expect-error -- the handler is required
forFetch.withScopes(server);
// @ts-expect-error -- the handler is required, and is no option
forFetch.withScopes(server, { route: "GET /agents", handler: () => new Response() });
// @ts-expect-error -- the route comes first
forFetch.withScopes(server, () => new Response(), { route: "GET /agents" });
// @ts-expect-error -- a misspelt option would leave the route undecided
forFetch.withScopes(server, { rout: "GET /agents" }, () => new Response());
// @ts-expect-error -- parameters are known when a request arrives
forFetch.withScopes(server, { route: "/agents/:id", params: { id: "web" } }, () => new Response());
// @ts-expect-error -- each method needs a handler
forFetch.withScopes(server, { route: "/agents/:id" }, { GET: new Response() });
// @ts-expect-error -- parameters without their route
void forFetch.protect(server)(new Request("https://api.example"), { params: { id: "web" } });
// @ts-expect-error -- the handler must return a response
forFetch.withScopes(server, (_request, { principal: caller }) => caller);

// MCP, Socket.IO and tRPC
// @ts-expect-error -- a misspelt option would have no effect
protectMcp(server, { listFilters: true });
// @ts-expect-error -- a store remembers sessions, a server decides
protectMcp(server, { store: server });
// @ts-expect-error -- the handler is required
withMcp(server);
// @ts-expect-error -- the caller comes first
mayCall("tools/call", "search");
// @ts-expect-error -- a misspelt option would have no effect
forSocketIo.protect(server, { tokensInAuth: true });
// @ts-expect-error -- a caller belongs to a socket, not to the id of one
forSocketIo.principalOf("socket-1");
// @ts-expect-error -- without the prefix, no procedure has a path
forTrpc.protect(server);
// @ts-expect-error -- the prefix is required
forTrpc.protect(server, {});
