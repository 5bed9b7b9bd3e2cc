/** The metadata of a resource server (RFC 9728), in front of the guard of each adapter. */
import express4 from "express4";
import express5 from "express";
import fastify5 from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { afterEach, describe, expect, it } from "vitest";
import { type ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { closeAll, listenerOf, start, startFastify } from "../support/hosts.ts";
import { ask } from "../support/http.ts";
import { createServer as createResourceServer } from "../support/resource-servers.ts";

const ID = "https://api.example/mcp";
const server = createResourceServer({
  serviceId: ID,
  resource: { id: ID, authorizationServers: ["https://login.example/"] },
});
const PATH = "/.well-known/oauth-protected-resource/mcp";

afterEach(closeAll);

const HOSTS: Readonly<Record<string, (server: ResourceServer) => Promise<number>>> = {
  "Express 5": (one) => start(express5().use(forExpress.metadata(one), forExpress.protect(one))),
  "Express 4": (one) => start(express4().use(forExpress.metadata(one), forExpress.protect(one))),
  Koa: (one) => {
    const listener = new Koa().use(forKoa.metadata(one)).use(forKoa.protect(one)).callback();
    return start((request, response) => void listener(request, response));
  },
  async Fastify(one) {
    const app = fastify5();
    await app.register(forFastify.metadata(one));
    await app.register(forFastify.protect(one));
    return startFastify(app);
  },
  Hono: (one) => {
    const app = new Hono().use(forHono.metadata(one)).use(forHono.protect(one));
    return start(listenerOf(app.fetch));
  },
  Fetch: (one) => {
    const serve = forFetch.metadata(one);
    const guarded = forFetch.withScopes(one, () => new Response());
    return start(listenerOf((request) => serve(request) ?? guarded(request)));
  },
  Node: (one) => {
    const serve = forNode.metadata(one);
    const guard = forNode.protect(one);
    return start((request, response) => {
      if (!serve(request, response)) void guard(request, response);
    });
  },
};

describe.each(Object.entries(HOSTS))("%s", (_, open) => {
  it("serves the metadata to everybody and every origin, and allows caching", async () => {
    const port = await open(server);
    for (const path of [PATH, `http://127.0.0.1:${port}${PATH}`]) {
      const { status, headers, body } = await ask(port, { path });
      expect(status).toBe(200);
      expect(body).toMatchObject({ resource: ID, authorization_servers: ["https://login.example/"] });
      expect(headers["content-type"]).toBe("application/json");
      expect(headers["cache-control"]).toBe("public, max-age=3600");
      expect(headers["access-control-allow-origin"]).toBe("*");
    }
    expect(await ask(port, { method: "HEAD", path: PATH })).toMatchObject({ status: 200, text: "" });
    const preflight = await ask(port, { method: "OPTIONS", path: PATH });
    expect(preflight.status).toBe(200);
    expect(preflight.headers["access-control-allow-headers"]).toBe("*");
  });

  it("passes every other request on to the guard", async () => {
    const port = await open(server);
    for (const path of ["/.well-known/oauth-protected-resource", `${PATH}/`, `${PATH}?x`, PATH.toUpperCase()])
      expect([400, 403]).toContain((await ask(port, { path })).status);
    expect((await ask(port, { method: "POST", path: PATH })).status).toBe(403);
  });

  it("throws at boot without the option resource", async () => {
    await expect(async () => open(createResourceServer({}))).rejects.toThrow("needs the option `resource`");
  });
});
