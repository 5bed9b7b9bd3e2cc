/** Hosts of an MCP server, with and without the gate. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { validateHostHeader } from "@modelcontextprotocol/server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { protectMcp } from "scopegate/mcp";
import { createTestIssuer } from "scopegate/testing";
import { listen } from "../../support/http.ts";
import { createResourceServer } from "../../support/server.ts";
import { PROMPTS, RESOURCES, TOOLS } from "./operations.ts";
import type { Endpoint } from "./servers.ts";

const RESOURCE = "https://api.example/mcp";
const issuer = createTestIssuer({ audience: RESOURCE });
const rulesOf = (method: string, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [`MCP ${method} ${name}`, []]));

/** Each tool, prompt and resource has a rule of its own, so what the suites make up has none. */
const server = createResourceServer({
  ...issuer.resourceServerOptions,
  resource: { id: RESOURCE },
  scopeMappings: {
    "* /mcp": [],
    "MCP tools/list": [],
    ...rulesOf("tools/call", Object.keys(TOOLS)),
    "MCP prompts/list": [],
    ...rulesOf("prompts/get", Object.keys(PROMPTS)),
    "MCP resources/list": [],
    "MCP resources/templates/list": [],
    ...rulesOf("resources/read", RESOURCES),
    "MCP subscriptions/listen": [],
    "MCP logging/setLevel": [],
  },
});

type Host = (endpoint: Endpoint, hasGate: boolean) => RequestListener | Promise<RequestListener>;

const HOSTS = {
  Express: (endpoint, hasGate) => {
    const app = express();
    if (hasGate) app.use(protectMcp(server));
    app.all("/mcp", (request, response, next) => {
      endpoint.node(request, response, request.body).catch(next);
    });
    return app;
  },
  Hono: (endpoint, hasGate) => {
    const app = new Hono<{ Variables: { auth: never; parsedBody: unknown } }>();
    if (hasGate) app.use(protectMcp(server));
    app.all("/mcp", (c) =>
      endpoint.web(c.req.raw, { authInfo: c.get("auth"), parsedBody: c.get("parsedBody") }),
    );
    const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
    return (request, response) => void listener(request, response);
  },
  Fastify: async (endpoint, hasGate) => {
    const app = fastify();
    if (hasGate) app.register(protectMcp(server));
    app.register((mcp, _options, done) => {
      mcp.all("/mcp", async (request, reply) => {
        reply.hijack();
        await endpoint.node(request.raw, reply.raw, request.body);
      });
      done();
    });
    await app.ready();
    return (request, response) => app.routing(request, response);
  },
  "plain Node": (endpoint, hasGate) => {
    const gate = protectMcp(server);
    return (request: IncomingMessage & { body?: unknown; originalUrl?: string }, response) => {
      const next = (error?: unknown): void => {
        if (error !== undefined) return void response.writeHead(500).end();
        endpoint.node(request, response, request.body).catch(() => response.destroy());
      };
      if (hasGate) gate(request as never, response, next);
      else next();
    };
  },
} satisfies Readonly<Record<string, Host>>;

export type HostName = keyof typeof HOSTS;
export const HOST_NAMES = Object.keys(HOSTS) as HostName[];

/** Starts a server. All its requests get a valid token, because the suites send none. */
export async function openHost(host: HostName, endpoint: Endpoint, hasGate: boolean) {
  const authorization = `Bearer ${await issuer.token({ userId: "suite" })}`;
  const listener = await HOSTS[host](endpoint, hasGate);
  return listen(
    createServer((request, response) => {
      // The suites check that a local server refuses names that attackers point at it.
      if (!validateHostHeader(request.headers.host, ["127.0.0.1"]).ok)
        return void response.writeHead(403).end();
      request.headers.authorization = authorization;
      request.rawHeaders.push("Authorization", authorization);
      listener(request, response);
    }),
  );
}
