/** `routesOf` of scopegate/fastify and scopegate/koa, compared with the routes and decisions of real applications. */
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import Router from "@koa/router";
import fastifyCors from "@fastify/cors";
import fastifyCors9 from "@fastify/cors9";
import fastify4 from "fastify4";
import fastify5 from "fastify";
import Koa3 from "koa";
import Koa2 from "koa2";
import mount from "koa-mount";
import { describe, expect, it } from "vitest";
import { createResourceServer, type ListedRoute, type ScopeMappings } from "scopegate";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { ConfigurationError } from "../../src/core/errors.ts";

const issuer = createIssuer();
const serverFor = (scopeMappings: ScopeMappings) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    defaultScopeMappings: {},
    scopeMappings,
  });
const written = (routes: Iterable<ListedRoute>) =>
  [...routes].map(({ method, pattern }) => `${method} ${pattern}`);

describe.each([
  ["Fastify 4", fastify4 as unknown as typeof fastify5, fastifyCors9 as unknown as typeof fastifyCors],
  ["Fastify 5", fastify5, fastifyCors],
])("routesOf for %s", (_, create, cors) => {
  it("lists the routes of the application and of its plugins with their prefixes, and no HEAD next to GET", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get("/agents", () => "ran");
    app.register(
      (inner, _options, done) => {
        inner.get("/", () => "ran");
        inner.post("/:team_id/runs", () => "ran");
        inner.register((deep, _deep, deepDone) => deepDone(void deep.delete("/x", () => "ran")), {
          prefix: "/deep",
        });
        done();
      },
      { prefix: "/teams" },
    );
    await app.ready();
    expect(written(routes)).toEqual([
      "GET /agents",
      "GET /teams",
      "POST /teams/:team_id/runs",
      "DELETE /teams/deep/x",
    ]);
  });

  it("lists each method of a route with several methods, and a route for every method as `*`", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.route({ method: ["GET", "PUT"], url: "/some", handler: () => "ran" });
    app.all("/every", () => "ran");
    app.head("/head", () => "ran");
    await app.ready();
    expect(written(routes)).toEqual(["GET /some", "PUT /some", "* /every", "HEAD /head"]);
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
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get(url, () => "ran");
    await app.ready();
    expect(written(routes)).toEqual([`GET ${pattern}`]);
    const report = serverFor({ [`GET ${pattern}`]: [] }).audit(routes);
    expect(report).toMatchObject({ ok: true, findings: [{ kind: "guard_missing" }] });
    expect(report.routes[0]?.rule?.key).toBe(`GET ${pattern}`);
  });

  it("lists a route that no pattern can express, and the audit reports it", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get("/static/pre*", () => "ran");
    await app.ready();
    const { ok, findings } = serverFor({ "* /{*path}": [] }).audit(routes);
    expect(ok).toBe(false);
    expect(findings[0]).toMatchObject({ kind: "route_unreadable" });
  });

  it("lists the routes of a plugin that was registered before it and is not loaded yet", async () => {
    const app = create();
    app.register((inner, _options, done) => done(void inner.get("/inner", () => "ran")));
    const routes = forFastify.routesOf(app);
    await app.ready();
    expect(written(routes)).toEqual(["GET /inner"]);
  });

  it("fails when the application already has a route, with the line to write", async () => {
    const late = create();
    late.get("/agents", () => "ran");
    expect(() => forFastify.routesOf(late)).toThrow("directly after `const app = fastify()`");
    const awaited = create();
    await awaited.register((inner, _options, done) => done(void inner.get("/inner", () => "ran")));
    expect(() => forFastify.routesOf(awaited)).toThrow("is called too late");
  });

  it("fails to list routes before the application is ready, because plugins may add more", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get("/agents", () => "ran");
    expect(() => [...routes]).toThrow("await app.ready()");
    expect(() => serverFor({}).audit(routes)).toThrow("await app.ready()");
    await app.ready();
    expect(written(routes)).toEqual(["GET /agents"]);
  });

  it("reports the preflight route of CORS middleware as a note only", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    const server = serverFor({ "GET /agents": [] });
    await app.register(cors);
    await app.register(forFastify.protect(server));
    app.get("/agents", () => "ran");
    await app.ready();
    const report = server.audit(routes);
    expect(report.ok).toBe(true);
    expect(report.findings.map(({ severity, kind }) => [severity, kind])).toEqual([
      ["note", "route_unmapped"],
    ]);
  });

  it("lists the rule that the guard applies to each route", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    const server = serverFor({
      "GET /open/:id": "public",
      "GET /files/readme": "public",
      "* /any": "public",
    });
    await app.register(forFastify.protect(server));
    for (const url of ["/open/:x", "/files/*", "/unmapped"]) app.get(url, () => "ran");
    app.all("/any", () => "ran");
    await app.listen({ port: 0, host: "127.0.0.1" });
    const report = server.audit(routes);
    expect(report.routes.map(({ pattern, rule }) => [pattern, rule?.key])).toEqual([
      ["/open/:x", "GET /open/:id"],
      ["/files/*path", undefined],
      ["/unmapped", undefined],
      ["/any", "* /any"],
    ]);
    expect(report.findings.map(({ kind }) => kind)).toEqual(["route_partly_mapped", "route_unmapped"]);
    const [address] = app.addresses() as AddressInfo[];
    const statusOf = async (path: string) =>
      (await fetch(`http://127.0.0.1:${address?.port ?? 0}${path}`)).status;
    expect(await Promise.all(["/open/1", "/files/readme", "/unmapped", "/any"].map(statusOf))).toEqual([
      // No rule covers /files/*, so the rule of the path /files/readme decides alone.
      200, 200, 403, 200,
    ]);
    expect(await statusOf("/files/other")).toBe(403);
    await app.close();
  });
});

describe.each([
  ["Koa 2", Koa2 as unknown as typeof Koa3],
  ["Koa 3", Koa3],
])("routesOf for %s", (_, Koa) => {
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
      .use(forKoa.protect(serverFor({})))
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
    expect(written(forKoa.routesOf(app))).toEqual(expected);
    expect(written(forKoa.routesOf([agents, health]))).toEqual(expected);
    expect(written(forKoa.routesOf(health))).toEqual(["GET /health", "HEAD /head"]);
  });

  it("lists the routes of nested routers, and no middleware", () => {
    const inner = new Router();
    inner.use((_context, next: () => Promise<void>) => next());
    inner.get("/:id", handler).get(["/x", "/y"], handler);
    const outer = new Router({ prefix: "/v1" });
    outer.use("/teams/:team", inner.routes());
    outer.use("/only", (_context, next: () => Promise<void>) => next());
    const app = new Koa().use(outer.routes());
    expect(written(forKoa.routesOf(app))).toEqual([
      "GET /v1/teams/:team/:id",
      "GET /v1/teams/:team/x",
      "GET /v1/teams/:team/y",
    ]);
  });

  it("lists a route for every method as `*`, and each of several methods", () => {
    const router = new Router();
    router.all("/every", handler).register("/some", ["PUT", "PATCH"], handler);
    expect(written(forKoa.routesOf(router))).toEqual(["* /every", "PUT /some", "PATCH /some"]);
  });

  it("writes optional groups out", () => {
    const router = new Router().get("/a{/:id}", handler).get('/:"b c"', handler);
    const routes = forKoa.routesOf(router, { prefix: "/v1" });
    expect(written(routes)).toEqual(["GET /v1/a/:id", "GET /v1/a", 'GET /v1/:"b c"']);
    const parts = { "GET /v1/a": [], "GET /v1/a/:id": [], "GET /v1/:name": [] };
    expect(serverFor(parts).audit(routes).ok).toBe(true);
  });

  it("puts the mount path in front of each route of a mounted router or application", () => {
    const router = new Router().get("/", handler).get("/:id", handler);
    const inner = new Koa().use(router.routes());
    const expected = ["GET /api", "GET /api/:id"];
    expect(written(forKoa.routesOf(inner, { prefix: "/api" }))).toEqual(expected);
    expect(written(forKoa.routesOf(router, { prefix: "/api/" }))).toEqual(expected);
    expect(written(forKoa.routesOf([router], { prefix: "/" }))).toEqual(["GET /", "GET /:id"]);
  });

  it("lists a regular expression as its source, and the audit reports it even below a rule for every path", () => {
    const router = new Router().get(/^\/health$/, handler);
    for (const routes of [forKoa.routesOf(router), forKoa.routesOf(router, { prefix: "/api" })]) {
      const { ok, findings } = serverFor({ "* /{*path}": [] }).audit(routes);
      expect(ok).toBe(false);
      expect(findings[0]).toMatchObject({ kind: "route_unreadable" });
      expect(findings[0]?.message).toContain(String.raw`/^\/health$/`);
    }
  });

  it("fails for an application whose routers it cannot find, with the line to write", () => {
    const router = new Router().get("/", handler);
    expect(() => forKoa.routesOf(new Koa())).toThrow("after app.use(router.routes())");
    const mounted = new Koa().use(mount("/api", router.routes()));
    expect(() => forKoa.routesOf(mounted)).toThrow("write routesOf(router, { prefix })");
  });

  it.each([[undefined], [null], ["/agents"], [{}], [[]], [[{}]], [() => undefined], [{ middleware: {} }]])(
    "refuses %j, which has no routes",
    (from) => {
      expect(() => forKoa.routesOf(from as unknown as forKoa.KoaRouter)).toThrow(TypeError);
    },
  );

  it.each([["/api"], [{ mount: "/api" }], [{ prefix: "api" }], [{ prefix: 1 }], [{ prefix: null }]])(
    "refuses the options %j",
    (options) => {
      const router = new Router().get("/", handler);
      expect(() => forKoa.routesOf(router, options as unknown as forKoa.RoutesOptions)).toThrow(
        ConfigurationError,
      );
    },
  );

  it("lists the rule that the guard applies to each route", async () => {
    const server = serverFor({ "GET /open/:id": "public", "GET /api/in": "public" });
    const router = new Router().get("/open/:x", handler).get("/unmapped", handler);
    const inner = new Router().get("/in", handler).get("/out", handler);
    const app = new Koa();
    app.use(forKoa.protect(server)).use(router.routes()).use(mount("/api", inner.routes()));
    const report = server.audit([...forKoa.routesOf(app), ...forKoa.routesOf(inner, { prefix: "/api" })]);
    expect(report.routes.map(({ pattern, rule }) => [pattern, rule?.key])).toEqual([
      ["/open/:x", "GET /open/:id"],
      ["/unmapped", undefined],
      ["/api/in", "GET /api/in"],
      ["/api/out", undefined],
    ]);
    const listener = app.callback();
    const running = await listen(createServer((request, response) => void listener(request, response)));
    const statusOf = async (path: string) => (await ask(running.port, { path })).status;
    expect(await Promise.all(["/open/1", "/unmapped", "/api/in", "/api/out"].map(statusOf))).toEqual([
      200, 403, 200, 403,
    ]);
    await running.close();
  });
});
