/** Hosts of an MCP server, with and without the gate. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { validateHostHeader } from "@modelcontextprotocol/server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import type { ResourceServer, ScopeMappings } from "scopegate";
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

const COMMON: ScopeMappings = {
  "* /mcp": [],
  "MCP tools/list": [],
  "MCP prompts/list": [],
  "MCP resources/list": [],
  "MCP resources/templates/list": [],
  "MCP subscriptions/listen": [],
  "MCP logging/setLevel": [],
};

/** Each tool, prompt and resource has a rule of its own, so what the suites make up has none. */
const EXACT: ScopeMappings = {
  ...COMMON,
  ...rulesOf("tools/call", Object.keys(TOOLS)),
  ...rulesOf("prompts/get", Object.keys(PROMPTS)),
  ...rulesOf("resources/read", RESOURCES),
};

const PATTERNS: ScopeMappings = {
  ...COMMON,
  ...rulesOf("tools/call", ["test_*", "json_*"]),
  ...rulesOf("prompts/get", ["test_*"]),
  ...rulesOf("resources/read", ["test://{name}", "test://template/{id}/{+rest}"]),
};

const create = (scopeMappings: ScopeMappings, hidden = false): ResourceServer =>
  createResourceServer({
    ...issuer.resourceServerOptions,
    resource: { id: RESOURCE },
    mcp: { hidden },
    scopeMappings,
  });

/** The servers whose gates are compared with no gate. */
export const GATES = {
  "exact names": create(EXACT),
  patterns: create(PATTERNS),
  "hidden names": create(EXACT, true),
} as const;
export type Gate = keyof typeof GATES;

type Host = (
  endpoint: Endpoint,
  server: ResourceServer | undefined,
) => RequestListener | Promise<RequestListener>;

const HOSTS = {
  Express: (endpoint, server) => {
    const app = express();
    if (server) app.use(protectMcp(server));
    app.all("/mcp", (request, response, next) => {
      endpoint.node(request, response, request.body).catch(next);
    });
    return app;
  },
  Hono: (endpoint, server) => {
    const app = new Hono<{ Variables: { auth: never; parsedBody: unknown } }>();
    if (server) app.use(protectMcp(server));
    app.all("/mcp", (c) =>
      endpoint.web(c.req.raw, { authInfo: c.get("auth"), parsedBody: c.get("parsedBody") }),
    );
    const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
    return (request, response) => void listener(request, response);
  },
  Fastify: async (endpoint, server) => {
    const app = fastify();
    if (server) app.register(protectMcp(server));
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
  "plain Node": (endpoint, server) => {
    const gate = server && protectMcp(server);
    return (request: IncomingMessage & { body?: unknown; originalUrl?: string }, response) => {
      const next = (error?: unknown): void => {
        if (error !== undefined) return void response.writeHead(500).end();
        endpoint.node(request, response, request.body).catch(() => response.destroy());
      };
      if (gate) gate(request as never, response, next);
      else next();
    };
  },
} satisfies Readonly<Record<string, Host>>;

export type HostName = keyof typeof HOSTS;
export const HOST_NAMES = Object.keys(HOSTS) as HostName[];

/** Starts a server. All its requests get a valid token, because the suites send none. */
export async function openHost(host: HostName, endpoint: Endpoint, gate: Gate | undefined) {
  const authorization = `Bearer ${await issuer.token({ userId: "suite" })}`;
  const listener = await HOSTS[host](endpoint, gate && GATES[gate]);
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
