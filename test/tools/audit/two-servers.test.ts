/** Two resource servers in one application: an audit of one must not count the guard of the other. */
import Router from "@koa/router";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { describe, expect, it } from "vitest";
import { audit, routesOf } from "scopegate/audit";
import * as onExpress from "scopegate/express";
import * as onFastify from "scopegate/fastify";
import * as onHono from "scopegate/hono";
import * as onKoa from "scopegate/koa";
import { ScopegateModule } from "scopegate/nest";
import { createApplication, createController, createModule, PLATFORMS } from "../../support/nest.ts";
import { createServer } from "../../support/resource-servers.ts";

const serverFor = () =>
  createServer({ defaultScopeMappings: {}, scopeMappings: { "GET /a": ["a:read"], "GET /strict/b": [] } });
const lax = serverFor();
const strict = serverFor();

/** The routes `GET /a`, behind `lax` only, and `GET /strict/b`, behind both servers. */
const applications = {
  express() {
    const app = express();
    app.use(onExpress.protect(lax));
    app.get("/a", (_, res) => res.end());
    app.use("/strict", onExpress.protect(strict));
    app.get("/strict/b", (_, res) => res.end());
    return routesOf(app);
  },
  koa() {
    const app = new Koa();
    app.use(onKoa.protect(lax));
    app.use(new Router().get("/a", () => undefined).routes());
    app.use(onKoa.protect(strict));
    app.use(new Router().get("/strict/b", () => undefined).routes());
    return routesOf(app);
  },
  hono() {
    const app = new Hono();
    app.use(onHono.protect(lax));
    app.get("/a", (context) => context.text(""));
    app.use("/strict/*", onHono.protect(strict));
    app.get("/strict/b", (context) => context.text(""));
    return routesOf(app);
  },
  async fastify() {
    const app = fastify();
    const routes = routesOf(app);
    await app.register(onFastify.protect(lax));
    app.get("/a", () => "");
    await app.register(async (plugin) => {
      await plugin.register(onFastify.protect(strict));
      plugin.get("/strict/b", () => "");
    });
    await app.ready();
    return routes;
  },
};

const unguarded = (report: ReturnType<typeof audit>) =>
  report.findings.flatMap((finding) => (finding.kind === "route_unguarded" ? finding.message : []));

describe.each(Object.entries(applications))("an audit in %s", (_, routesFor) => {
  it("reports the routes that only another server guards, also in a copy of the list", async () => {
    const routes = await routesFor();
    for (const listed of [routes, [...routes]])
      expect(unguarded(audit(strict, listed))).toEqual([
        "`GET /a` is behind protect of another resource server: this one doesn't check it.",
      ]);
    expect(audit(lax, routes)).toMatchObject({ ok: true, findings: [] });
  });
});

describe.each(PLATFORMS)("an audit of NestJS on %s", (platform) => {
  it("counts only the server of its module", async () => {
    const routes = ["/a", "/strict/b"].map((path) => ({ method: "GET", path, handle: () => undefined }));
    const root = createModule({
      imports: [ScopegateModule.forRoot(lax)],
      controllers: [createController(platform, routes)],
    });
    const app = await createApplication(platform, root);
    await app.init();
    expect(unguarded(audit(strict, routesOf(app)))).toHaveLength(2);
    expect(unguarded(audit(lax, routesOf(app)))).toEqual([]);
    await app.close();
  });
});
