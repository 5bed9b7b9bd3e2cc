/** The same MCP server behind `protectMcp` in each host. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { toNodeHandler } from "@modelcontextprotocol/node";
import type { McpHttpHandler } from "@modelcontextprotocol/server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import type { ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import * as onExpress from "scopegate/express";
import * as onFastify from "scopegate/fastify";
import * as onHono from "scopegate/hono";
import { type AuthInfo, protectMcp } from "scopegate/mcp";
import { type Application, endConnections, fromListener } from "../knowledge-service/application.ts";

type Host = (server: ResourceServer, mcp: McpHttpHandler) => Application;

/** The declarations of the SDK do not fit Node's own with `exactOptionalPropertyTypes`. */
const toHandler = (mcp: McpHttpHandler) =>
  toNodeHandler(mcp) as (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

const createExpress: Host = (server, mcp) => {
  const handle = toHandler(mcp);
  const app = express();
  app.use(onExpress.metadata(server), protectMcp(server));
  app.all("/mcp", (request, response) => handle(request, response, request.body));
  return fromListener(app, routesOf(app));
};

const createFastify: Host = (server, mcp) => {
  const handle = toHandler(mcp);
  const app = fastify({ forceCloseConnections: true });
  const routes = routesOf(app);
  app.register(onFastify.metadata(server));
  app.register(protectMcp(server));
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: "/mcp",
    handler: async (request, reply) => {
      reply.hijack();
      await handle(request.raw, reply.raw, request.body);
    },
  });
  return {
    routes: async () => {
      await app.ready();
      return routes;
    },
    listen: async (port) => Number(new URL(await app.listen({ port, host: "127.0.0.1" })).port),
    close: () => {
      endConnections(app.server);
      return app.close();
    },
  };
};

const createHono: Host = (server, mcp) => {
  const app = new Hono<{ Variables: { auth: AuthInfo; parsedBody: unknown } }>();
  app.use(onHono.metadata(server), protectMcp(server));
  app.all("/mcp", ({ req, var: { auth: authInfo, parsedBody } }) =>
    mcp.fetch(req.raw, { authInfo, parsedBody }),
  );
  const listener = getRequestListener(app.fetch);
  return fromListener((request, response) => void listener(request, response), routesOf(app));
};

export const HOSTS = { express: createExpress, fastify: createFastify, hono: createHono } as const;

export type HostName = keyof typeof HOSTS;
