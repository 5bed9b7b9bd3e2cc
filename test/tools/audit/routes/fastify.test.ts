/** `routesOf` for Fastify, compared with the routes and decisions of real applications. */
import fastifyCors from "@fastify/cors";
import fastifyCors9 from "@fastify/cors9";
import fastify4 from "fastify4";
import fastify5, { type FastifyInstance, type FastifyPluginCallback } from "fastify";
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { audit, type ListedRoute, routesOf } from "scopegate/audit";
import { protect, requireScopes } from "scopegate/fastify";
import { findingsOf, server, serverFor, unguardedOf, written } from "./support.ts";

describe.each([
  ["Fastify 4", fastify4 as unknown as typeof fastify5, fastifyCors9 as unknown as typeof fastifyCors],
  ["Fastify 5", fastify5, fastifyCors],
])("routesOf for %s", (_, create, cors) => {
  /** The routes that are listed for an application as soon as it is ready. */
  async function listAfter(register: (app: FastifyInstance) => unknown): Promise<Iterable<ListedRoute>> {
    const app = create();
    const routes = routesOf(app);
    await register(app);
    await app.ready();
    return routes;
  }

  it("lists the routes of the application and of its plugins with their prefixes, and each of several methods", async () => {
    const routes = await listAfter((app) => {
      app.get("/agents", () => "ran");
      const deep: FastifyPluginCallback = (inner, _options, done) =>
        done(void inner.delete("/x", () => "ran"));
      const teams: FastifyPluginCallback = (inner, _options, done) => {
        inner.get("/", () => "ran");
        inner.post("/:team_id/runs", () => "ran");
        inner.register(deep, { prefix: "/deep" });
        done();
      };
      app.register(teams, { prefix: "/teams" });
      app.route({ method: ["GET", "PUT"], url: "/some", handler: () => "ran" });
      app.all("/every", () => "ran");
      app.head("/head", () => "ran");
    });
    const ofPlugins = ["GET /teams", "POST /teams/:team_id/runs", "DELETE /teams/deep/x"];
    expect(written(routes)).toEqual([
      ...["GET /agents", "GET /some", "PUT /some", "* /every", "HEAD /head"],
      ...ofPlugins,
    ]);
  });

  it.each([
    ["/files/*", "/files/*path"],
    ["*", "/*path"],
    ["/posts/:id?", "/posts{/:id}"],
    ["/:from-:to", "/:from-:to"],
    ["/at/:hour(^\\d{2})h:minute(^\\d{2})m", '/at/:"hour"h:"minute"m'],
    ["/file/:name.png", "/file/:name.png"],
    ["/name::verb", "/name\\:verb"],
  ])("writes the route %s in the syntax of the table: %s", async (url, pattern) => {
    const routes = await listAfter((app) => app.get(url, () => "ran"));
    expect(written(routes)).toEqual([`GET ${pattern}`]);
    const report = audit(serverFor({ "GET /{*path}": [] }), routes, { guardedElsewhere: ["/{*path}"] });
    expect(report).toMatchObject({ ok: true, findings: [] });
  });

  it("lists a route that no pattern can express, and the audit reports it", async () => {
    const routes = await listAfter((app) => app.get("/static/pre*", () => "ran"));
    const { ok, findings } = audit(serverFor({ "* /{*path}": [] }), routes);
    expect(ok).toBe(false);
    expect(findings[0]).toMatchObject({ kind: "route_unreadable" });
  });

  it("lists a plugin that isn't loaded yet, but fails when the application already has a route", async () => {
    const app = create();
    app.register((inner, _options, done) => done(void inner.get("/inner", () => "ran")));
    const routes = routesOf(app);
    await app.ready();
    expect(written(routes)).toEqual(["GET /inner"]);
    const late = create();
    late.get("/agents", () => "ran");
    expect(() => routesOf(late)).toThrow("directly after `const app = fastify()`");
    const awaited = create();
    await awaited.register((inner, _options, done) => done(void inner.get("/inner", () => "ran")));
    expect(() => routesOf(awaited)).toThrow("is called too late");
  });

  it("returns an array that can be filtered, joined and returned from an async function, but not read early", async () => {
    const app = create();
    const routes = await Promise.resolve(routesOf(app));
    const table = serverFor({ "GET /agents": [] });
    await app.register(protect(table));
    app.get("/agents", () => "ran");
    app.get("/internal/state", () => "ran");
    const isPublished = ({ pattern }: ListedRoute) => !pattern.startsWith("/internal");
    const readings = [() => routes.filter(isPublished), () => routes.length, () => [...routes]];
    for (const read of [...readings, () => audit(table, routes)]) expect(read).toThrow("await app.ready()");
    await app.ready();
    expect(written(routes.filter(isPublished))).toEqual(["GET /agents"]);
    expect(Array.isArray(routes)).toBe(true);
    expect(written([...routes, { method: "GET", pattern: "/more" }])).toHaveLength(3);
    expect(written(([] as ListedRoute[]).concat(routes))).toEqual(written(routes));
    expect(audit(table, routes.filter(isPublished)).ok).toBe(true);
    // A filtered route still knows which server guards it.
    const { findings } = audit(serverFor({ "GET /agents": ["a:b"] }), routes.filter(isPublished));
    expect(findings[0]?.message).toContain("is behind protect of another resource server");
  });

  it.each<[string, ScopeMappings, string]>([
    ["a note", {}, "note route_unmapped"],
    ["a note next to a rule for every method", { "* /agents/:id": [] }, "note route_unmapped"],
    ["an error next to a rule for OPTIONS", { "OPTIONS /agents": [] }, "error route_partly_mapped"],
  ])("reports the preflight route of CORS middleware as %s", async (__, rules, expected) => {
    const server = serverFor({ "GET /agents": [], ...rules });
    const routes = await listAfter(async (app) => {
      await app.register(cors);
      await app.register(protect(server));
      app.get("/agents", () => "ran");
      app.get("/agents/:id", () => "ran");
    });
    const { findings } = audit(server, routes);
    const preflight = findings.filter((finding) => "route" in finding && finding.route.method === "OPTIONS");
    expect(preflight.map(({ severity, kind }) => `${severity} ${kind}`)).toEqual([expected]);
  });

  it("marks routes outside the plugin that protect is registered in, and the audit reports what to move", async () => {
    const app = create();
    const routes = routesOf(app);
    app.get("/agents", () => "ran");
    app.get("/health", () => "ran");
    app.register((inner, _options, done) => {
      inner.get("/before", () => "ran");
      inner.register(protect(server));
      inner.register((deep, _deep, deepDone) => deepDone(void deep.get("/deep", () => "ran")));
      done();
    });
    app.register((other, _options, done) => done(void other.get("/other", () => "ran")));
    await app.ready();
    expect(unguardedOf(routes)).toEqual(["GET /agents", "GET /health", "GET /other"]);
    expect(findingsOf(routes).map(({ message, hint }) => `${message} ${hint}`)[0]).toContain(
      "`GET /agents` is outside the plugin of protect: its handler runs without any check. Register protect on the instance that holds every route.",
    );
    expect((await app.inject("/agents")).statusCode).toBe(200);
    expect((await app.inject("/deep")).statusCode).toBe(401);
  });

  it("marks all others if a plugin contains only protect, and none if it is registered for all", async () => {
    const inner = await listAfter((app) => {
      app.register((plugin, _options, done) => done(void plugin.register(protect(server))));
      app.get("/agents", { preHandler: [requireScopes("a:b")] }, () => "ran");
    });
    expect(findingsOf(inner)[0]?.message).toContain("requireScopes finds no caller");
    const late = await listAfter((app) => {
      app.get("/agents", () => "ran");
      app.register((plugin, _options, done) => done(void plugin.get("/inner", () => "ran")));
      app.register(protect(server));
    });
    expect(unguardedOf(late)).toEqual([]);
  });

  it("marks every route of an application without protect, and the audit fails", async () => {
    const routes = await listAfter((app) =>
      app.get("/agents", { onRequest: requireScopes("a:b") }, () => "ran"),
    );
    expect([...routes].map(({ unguarded }) => unguarded?.isUncertain)).toEqual([true]);
    const [{ hint } = { hint: "" }, ...others] = findingsOf(routes);
    expect(others).toEqual([]);
    expect(hint).toMatch(
      /^Write await app\.register\(protect\(server\)\) on the instance that holds every route\./,
    );
  });
});
