/** `routesOf` for Koa, compared with the routes and decisions of real applications. */
import Router from "@koa/router";
import mount from "koa-mount";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "scopegate";
import { audit, routesOf, type RoutesOptions } from "scopegate/audit";
import { protect } from "scopegate/koa";
import { KOA_VERSIONS } from "../../../support/frameworks.ts";
import { findingsOf, server, serverFor, unguardedOf, written } from "./support.ts";

describe.each(KOA_VERSIONS)("routesOf for %s", (_, Koa) => {
  const handler = (context: { body: unknown }) => {
    context.body = "ran";
  };

  it("lists the routes of every router that the application uses, and no HEAD next to GET", () => {
    const agents = new Router({ prefix: "/agents" });
    agents.get("/", handler).get("/:agent_id", handler).post("/:agent_id/runs", handler);
    const health = new Router();
    health.get("/health", handler).head("/head", handler);
    const app = new Koa();
    app
      .use(protect(serverFor({})))
      .use(agents.routes())
      .use(agents.allowedMethods())
      .use(health.routes());
    const expected = [
      "GET /agents",
      "GET /agents/:agent_id",
      "POST /agents/:agent_id/runs",
      "GET /health",
      "HEAD /head",
    ];
    expect(written(routesOf(app))).toEqual(expected);
    expect(written(routesOf([agents, health]))).toEqual(expected);
    expect(written(routesOf(health))).toEqual(["GET /health", "HEAD /head"]);
  });

  it("lists the routes of nested routers, and no middleware", () => {
    const inner = new Router();
    inner.use((_context, next: () => Promise<void>) => next());
    inner.get("/:id", handler).get(["/x", "/y"], handler);
    const outer = new Router({ prefix: "/v1" });
    outer.use("/teams/:team", inner.routes());
    outer.use("/only", (_context, next: () => Promise<void>) => next());
    const app = new Koa().use(outer.routes());
    expect(written(routesOf(app))).toEqual([
      "GET /v1/teams/:team/:id",
      "GET /v1/teams/:team/x",
      "GET /v1/teams/:team/y",
    ]);
  });

  it("lists each of several methods, and writes optional groups out", () => {
    const router = new Router();
    router.all("/every", handler).register("/some", ["PUT", "PATCH"], handler);
    const other = new Router().get("/a{/:id}", handler).get('/:"b c"', handler);
    expect(written(routesOf(router))).toEqual(["* /every", "PUT /some", "PATCH /some"]);
    const routes = routesOf(other, { prefix: "/v1" });
    expect(written(routes)).toEqual(["GET /v1/a/:id", "GET /v1/a", 'GET /v1/:"b c"']);
    const parts = { "GET /v1/a": [], "GET /v1/a/:id": [], "GET /v1/:name": [] };
    expect(audit(serverFor(parts), routes).ok).toBe(true);
  });

  it("puts the mount path before each route of a mounted router or application", () => {
    const router = new Router().get("/", handler).get("/:id", handler);
    const inner = new Koa().use(router.routes());
    const expected = ["GET /api", "GET /api/:id"];
    expect(written(routesOf(inner, { prefix: "/api" }))).toEqual(expected);
    expect(written(routesOf(router, { prefix: "/api/" }))).toEqual(expected);
    expect(written(routesOf([router], { prefix: "/" }))).toEqual(["GET /", "GET /:id"]);
  });

  it("lists a regular expression as its source, and the audit reports it even below a rule for every path", () => {
    const router = new Router().get(/^\/health$/, handler);
    for (const routes of [routesOf(router), routesOf(router, { prefix: "/api" })]) {
      const { ok, findings } = audit(serverFor({ "* /{*path}": [] }), routes);
      expect(ok).toBe(false);
      expect(findings[0]).toMatchObject({ kind: "route_unreadable" });
      expect(findings[0]?.message).toContain(String.raw`/^\/health$/`);
    }
  });

  it("fails for an application whose routers it cannot find, with the line to write", () => {
    const router = new Router().get("/", handler);
    expect(() => routesOf(new Koa())).toThrow("after app.use(router.routes())");
    const mounted = new Koa().use(mount("/api", router.routes()));
    expect(() => routesOf(mounted)).toThrow("write routesOf(router, { prefix })");
  });

  it.each([["/api"], [{ mount: "/api" }], [{ prefix: "api" }], [{ prefix: 1 }], [{ prefix: null }]])(
    "refuses the options %j",
    (options) => {
      const router = new Router().get("/", handler);
      expect(() => routesOf(router, options as unknown as RoutesOptions)).toThrow(ConfigurationError);
    },
  );

  it("marks no route of a router alone, because the application around it is not known", () => {
    const router = new Router().get("/agents", handler).use(protect(server) as never);
    expect(unguardedOf(routesOf(router))).toEqual([]);
    expect(unguardedOf(routesOf([router]))).toEqual([]);
  });

  it.each([
    ["an exclusive router", new Router({ exclusive: true }), "/agents"],
    ["a router whose prefix has a parameter", new Router({ prefix: "/:org" }), "/:org/agents"],
    ["a router", new Router(), "/agents"],
  ])("reports that protect inside %s guards nothing", (_name, router, pattern) => {
    router.use(protect(server) as never).get("/agents", handler);
    const other = new Router().get("/teams", handler);
    const app = new Koa().use(router.routes()).use(other.routes());
    const routes = routesOf(app);
    expect(unguardedOf(routes)).toEqual([`GET ${pattern}`, "GET /teams"]);
    expect(
      findingsOf(routes).map(({ severity, message, hint }) => `${severity} ${message} ${hint}`)[0],
    ).toMatch(
      `error \`GET ${pattern}\` is in a router that contains protect: its handler runs without any check. Write app.use(protect(server)) before the router.`,
    );
  });

  it("reports protect before a single handler of a router as well, but none if protect is also before the router", () => {
    const single = new Router().get("/agents", protect(server) as never, handler);
    const [finding] = findingsOf(routesOf(new Koa().use(single.routes())));
    expect(finding?.message).toContain("is in a router that contains protect");
    const router = new Router().use(protect(server) as never).get("/agents", handler);
    const app = new Koa().use(protect(server)).use(router.routes());
    expect(unguardedOf(routesOf(app))).toEqual([]);
  });
});
