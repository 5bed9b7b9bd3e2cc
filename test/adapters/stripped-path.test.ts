/** `protect` of scopegate/express where a framework other than Express has removed the path of a mount. */
import middie from "@fastify/middie";
import middie8 from "@fastify/middie8";
import express from "express";
import fastify5 from "fastify";
import fastify4 from "fastify4";
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { protect } from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import { serve, serverFor, statusWith } from "../support/frameworks.ts";
import { issuer } from "../support/resource-servers.ts";

const server = serverFor({
  "GET /": "public",
  "GET /x": "public",
  "GET /api/*path": ["api:read"],
  "GET /new": "public",
});

const FAULT =
  "protect needs the path that it is mounted at, but connect, polka or @fastify/middie has removed it: mount protect, and Express routers, without a path.";

type Stripped = IncomingMessage & { method: string; url: string; originalUrl: string };

/** A server that changes `url` and `originalUrl` as a framework does, and then runs the guard. */
async function startWith(change: (request: Stripped) => void) {
  const guard = protect(server);
  const faults: string[] = [];
  const port = await serve((request, response) => {
    change(request as Stripped);
    guard(request as Stripped, response, (fault) => {
      if (fault) faults.push((fault as Error).message);
      response.statusCode = fault ? 500 : 200;
      response.end();
    });
  });
  return async (path: string) => ({ status: await statusWith(port, path), faults: faults.splice(0) });
}

describe("protect of scopegate/express", () => {
  it.each([
    ["connect", (rest: string) => (rest.startsWith("/") ? rest : `/${rest}`)],
    ["polka", (rest: string) => rest || "/"],
  ])("fails a request whose mount path %s has removed", async (_framework, complete) => {
    const get = await startWith((request) => {
      request.originalUrl = request.url;
      if (request.url.startsWith("/api")) request.url = complete(request.url.slice("/api".length));
    });
    for (const path of ["/api", "/api/", "/api/x", "/api?y=1", "/api/x?y=1"])
      expect(await get(path), path).toEqual({ status: 500, faults: [FAULT] });
    for (const path of ["/x", "/x?y=1", "/"])
      expect(await get(path), path).toEqual({ status: 200, faults: [] });
  });

  it("checks the path that middleware has rewritten at the root", async () => {
    const get = await startWith((request) => {
      request.originalUrl = request.url;
      request.url = request.url.replace(/^\/api\/old$/, "/new");
    });
    expect(await get("/api/old")).toEqual({ status: 200, faults: [] });
    expect((await get("/api/other")).status).toBe(401);
  });

  it("checks the URL of a request without `originalUrl`", async () => {
    const get = await startWith(() => undefined);
    expect((await get("/x")).status).toBe(200);
    expect((await get("/api/x")).status).toBe(401);
  });
});

describe.each([
  ["Fastify 4", fastify4 as unknown as typeof fastify5, middie8],
  ["Fastify 5", fastify5, middie],
])("@fastify/middie in %s", (_, create, plugin) => {
  it("fails a request at protect of scopegate/express that is mounted at a path", async () => {
    const app = create();
    await app.register(plugin);
    app.use("/api", protect(server) as never);
    app.get("/api/x", () => "ran");
    const { statusCode, body } = await app.inject("/api/x");
    expect([statusCode, (JSON.parse(body) as { message: string }).message]).toEqual([500, FAULT]);
  });

  it("fails a request at the route of an Express router that is mounted at a path", async () => {
    const app = create();
    await app.register(plugin);
    await app.register(forFastify.protect(server));
    app.use("/api", express.Router().get("/x", (_request, response) => void response.end("ran")) as never);
    const headers = { authorization: `Bearer ${await issuer.token({ scopes: ["api:read"] })}` };
    expect((await app.inject({ url: "/api/x", headers })).statusCode).toBe(500);
    expect((await app.inject("/api/x")).statusCode).toBe(401);
  });
});
