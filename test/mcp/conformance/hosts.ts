/** Hosts of an MCP server, with and without the gate. */
import { createServer, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { validateHostHeader } from "@modelcontextprotocol/server";
import express from "express";
import { Hono } from "hono";
import { createResourceServer } from "scopegate";
import { protectMcp } from "scopegate/mcp";
import { createTestIssuer } from "scopegate/testing";
import { listen } from "../../support/http.ts";
import type { Endpoint } from "./servers.ts";

const RESOURCE = "https://api.example/mcp";
const issuer = createTestIssuer({ audience: RESOURCE });
const server = createResourceServer({
  ...issuer.resourceServerOptions,
  resource: { id: RESOURCE },
  scopeMappings: {
    "* /mcp": [],
    "MCP tools/list": [],
    "MCP tools/call *": [],
    "MCP prompts/list": [],
    "MCP prompts/get *": [],
    "MCP resources/list": [],
    "MCP resources/templates/list": [],
    "MCP resources/read *": [],
    "MCP subscriptions/listen": [],
    "MCP logging/setLevel": [],
  },
});

type Host = (endpoint: Endpoint, hasGate: boolean) => RequestListener;

const HOSTS: Readonly<Record<"Express" | "Hono", Host>> = {
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
};

/** Starts a server. All its requests get a valid token, because the suites send none. */
export async function openHost(host: keyof typeof HOSTS, endpoint: Endpoint, hasGate: boolean) {
  const authorization = `Bearer ${await issuer.token({ userId: "suite" })}`;
  const listener = HOSTS[host](endpoint, hasGate);
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
