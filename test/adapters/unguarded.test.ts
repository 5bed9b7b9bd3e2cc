/** Routes that `protect` does not run in front of: what `routesOf` tells of them, and what an audit makes of it. */
import Router from "@koa/router";
import express5 from "express";
import express4 from "express4";
import fastify5 from "fastify";
import fastify4 from "fastify4";
import Koa3 from "koa";
import Koa2 from "koa2";
import { describe, expect, it } from "vitest";
import { createResourceServer, type ListedRoute } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import { listen, ask } from "../support/http.ts";
import { createServer } from "node:http";
import { createIssuer } from "../support/issuer.ts";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  defaultScopeMappings: {},
  scopeMappings: { "* /{*path}": ["any:thing"], "GET /health": "public" },
});

/** The routes of a list that are told to be unguarded. */
const unguardedOf = (routes: Iterable<ListedRoute>) =>
  [...routes].filter(({ unguarded }) => unguarded).map(({ method, pattern }) => `${method} ${pattern}`);

const findingsOf = (routes: Iterable<ListedRoute>) =>
  server.audit(routes).findings.filter(({ kind }) => kind === "route_unguarded");

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("routesOf for %s", (_, express) => {
  const handler: express5.RequestHandler = (_request, response) => void response.end();
  const protect = () => forExpress.protect(server);

  it("tells the routes that are registered before protect, and the audit says what to move", () => {
    const app = express()
      .get("/agents", handler)
      .get("/health", handler)
      .use(protect())
      .get("/teams", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /agents", "GET /health"]);
    expect(findingsOf(forExpress.routesOf(app))).toEqual([
      {
        kind: "route_unguarded",
        severity: "error",
        route: expect.objectContaining({ method: "GET", pattern: "/agents" }) as unknown,
        message: "`GET /agents` is registered before protect: its handler runs without any check.",
        hint: 'Move app.use(protect(server)) in front of it. If it is for everybody, write "GET /agents": "public" in scopeMappings.',
      },
    ]);
  });

  it("tells nothing of an application without protect, nor of a router alone", () => {
    const router = express.Router().get("/agents", handler).use(protect());
    const app = express().get("/agents", forExpress.requireScopes("a:b"), handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual([]);
    expect(unguardedOf(forExpress.routesOf(router))).toEqual([]);
  });

  it("tells the routes of routers that are mounted before protect", () => {
    const router = express.Router().get("/:id", handler);
    const app = express().use("/agents", router).use(protect()).use("/teams", router);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /agents/:id"]);
  });

  it("lets protect in a router guard what is under its mount, and no more", () => {
    const admin = express.Router().get("/early", handler).use(protect()).get("/late", handler);
    const app = express().use("/admin/:area", admin).get("/agents", handler).get("/Admin/:x/y", handler);
    const routes = forExpress.routesOf(app);
    expect(unguardedOf(routes)).toEqual(["GET /admin/:area/early", "GET /agents"]);
    expect(findingsOf(routes).map(({ message }) => message)).toEqual([
      expect.stringContaining("`GET /admin/:area/early` is registered before protect"),
      expect.stringContaining("`GET /agents` is outside of the router"),
    ]);
  });

  it("lets protect with a path guard what is under the path", () => {
    const app = express().use(["/api", "/v1/"], protect());
    for (const path of ["/api", "/api/x", "/v1/y", "/apis", "/v2/:id"]) app.get(path, handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /apis", "GET /v2/:id"]);
  });

  it("takes a path that it cannot compare for one that guards", () => {
    const app = express()
      .use(/^\/api/, protect())
      .get("/agents", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual([]);
  });

  it("lets protect among the handlers of a route guard that method of that route", () => {
    const app = express();
    app.route("/agents").get(protect(), handler).post(handler);
    app.get("/teams", [protect(), handler]).get("/teams/:id", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["POST /agents", "GET /teams/:id"]);
  });

  it("knows protect at its route after a request as well", async () => {
    const app = express().get("/agents", protect(), handler).get("/teams", protect(), handler);
    const running = await listen(createServer(app));
    await ask(running.port, { path: "/agents" });
    await running.close();
    expect(unguardedOf(forExpress.routesOf(app))).toEqual([]);
  });

  it("lets a handler for every path guard what comes behind it", () => {
    const app = express().get("/early", handler);
    app.all(express === express5 ? "/*path" : "*", protect()).get("/late/:x", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /early"]);
  });

  it("lets a handler for an expression of its own guard what comes behind it, as it may be for every path", () => {
    const app = express().get("/early", handler).all(/.*/, protect()).get("/late", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /early"]);
  });

  it("follows mounted applications to where they stand, in whatever order they are named", () => {
    const [app, early, late, own] = [express(), express(), express(), express()];
    early.get("/x", handler);
    late.get("/x", handler);
    own.get("/before", handler).use(protect()).get("/behind", handler);
    app.use("/own", own).use("/early", early).use(protect()).use("/late", late);
    const expected = ["GET /early/x", "GET /own/before"];
    expect(unguardedOf(forExpress.routesOf(late, early, own, app)).sort()).toEqual(expected);
    expect(unguardedOf(forExpress.routesOf(app, own, early, late)).sort()).toEqual(expected);
    expect(unguardedOf(forExpress.routesOf(late))).toEqual([]);
    expect(unguardedOf(forExpress.routesOf(early))).toEqual(["GET /early/x"]);
  });

  it("reports a route once whose handlers stand in front of protect and behind it", () => {
    const app = express()
      .get("/agents", handler)
      .use(protect())
      .get("/agents", handler)
      .head("/agents", handler);
    expect(findingsOf(forExpress.routesOf(app))).toHaveLength(1);
    const late = express().use("/api", protect(), handler).get("/agents", handler);
    expect(
      findingsOf([...forExpress.routesOf(express().get("/agents", handler)), ...forExpress.routesOf(late)]),
    ).toHaveLength(1);
  });

  it("says what becomes of requireScopes without protect in front", () => {
    const app = express().get("/agents", forExpress.requireScopes("a:b"), handler).use(protect());
    expect(findingsOf(forExpress.routesOf(app))[0]?.message).toContain(
      "requireScopes on it finds no caller, and every request is answered by 500",
    );
  });

  it("takes CORS middleware in front of protect as it is meant", () => {
    const app = express().options("/agents", handler).use(protect()).get("/agents", handler);
    expect(findingsOf(forExpress.routesOf(app))).toEqual([]);
  });
});

describe.each([
  ["Koa 2", Koa2 as unknown as typeof Koa3],
  ["Koa 3", Koa3],
])("routesOf for %s", (_, Koa) => {
  const handler = (context: { body: unknown }) => {
    context.body = "ran";
  };
  const protect = () => forKoa.protect(server);

  it("tells the routes of routers that are used before protect, and the audit says what to move", () => {
    const early = new Router().get("/agents", handler).get("/health", handler);
    const late = new Router().get("/teams", handler);
    const app = new Koa().use(early.routes()).use(protect()).use(late.routes());
    expect(unguardedOf(forKoa.routesOf(app))).toEqual(["GET /agents", "GET /health"]);
    expect(findingsOf(forKoa.routesOf(app)).map(({ message, hint }) => `${message} ${hint}`)).toEqual([
      '`GET /agents` is registered before protect: its handler runs without any check. Move app.use(protect(server)) in front of it. If it is for everybody, write "GET /agents": "public" in scopeMappings.',
    ]);
  });

  it("tells nothing of an application without protect, nor of a router alone", () => {
    const router = new Router().get("/agents", handler).use(protect());
    expect(unguardedOf(forKoa.routesOf(router))).toEqual([]);
    expect(unguardedOf(forKoa.routesOf([router]))).toEqual([]);
    const open = new Router().get("/agents", handler);
    expect(unguardedOf(forKoa.routesOf(new Koa().use(open.routes())))).toEqual([]);
  });

  it("lets protect in a router guard what comes behind it there, and no other router", () => {
    const agents = new Router({ prefix: "/agents" })
      .get("/early", handler)
      .use(protect())
      .get("/late", handler);
    const nested = new Router().use("/in/:x", protect()).get("/in/:y/z", handler).get("/out", handler);
    const teams = new Router().get("/teams", handler).get("/own", protect(), handler).use(nested.routes());
    const app = new Koa().use(agents.routes()).use(teams.routes());
    const routes = forKoa.routesOf(app);
    expect(unguardedOf(routes)).toEqual(["GET /agents/early", "GET /teams", "GET /out"]);
    expect(findingsOf(routes).map(({ message }) => message)).toEqual([
      expect.stringContaining("`GET /agents/early` is registered before protect"),
      expect.stringContaining("`GET /teams` is outside of the router"),
      expect.stringContaining("`GET /out` is outside of the router"),
    ]);
  });

  it("takes a guard of a router that keeps no expression for one in front of all that is behind it", () => {
    const router = new Router().get("/early", handler).use(protect()).get("/late", handler);
    for (const layer of router.stack) Object.assign(layer, { regexp: undefined });
    expect(unguardedOf(forKoa.routesOf(new Koa().use(router.routes())))).toEqual(["GET /early"]);
  });

  it("lets a handler guard the methods that it is for", () => {
    const router = new Router().get("/{*path}", protect()).get("/agents", handler).post("/agents", handler);
    expect(unguardedOf(forKoa.routesOf(new Koa().use(router.routes())))).toEqual(["POST /agents"]);
  });

  it("says what becomes of requireScopes without protect in front", () => {
    const router = new Router().get("/agents", forKoa.requireScopes("a:b"), handler);
    const app = new Koa().use(router.routes()).use(protect());
    expect(findingsOf(forKoa.routesOf(app))[0]?.message).toContain("requireScopes on it finds no caller");
  });
});

describe.each([
  ["Fastify 4", fastify4 as unknown as typeof fastify5],
  ["Fastify 5", fastify5],
])("routesOf for %s", (_, create) => {
  const protect = () => forFastify.protect(server);

  it("tells the routes outside of the plugin that protect is registered in, and what to move", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get("/agents", () => "ran");
    app.get("/health", () => "ran");
    app.register((inner, _options, done) => {
      inner.get("/before", () => "ran");
      inner.register(protect());
      inner.register((deep, _deep, deepDone) => deepDone(void deep.get("/deep", () => "ran")));
      done();
    });
    app.register((other, _options, done) => done(void other.get("/other", () => "ran")));
    await app.ready();
    expect(unguardedOf(routes)).toEqual(["GET /agents", "GET /health", "GET /other"]);
    expect(findingsOf(routes).map(({ message, hint }) => `${message} ${hint}`)[0]).toBe(
      '`GET /agents` is outside of the plugin that protect is registered in: its handler runs without any check. Move app.register(protect(server)) out of that plugin, to the instance that holds every route. If it is for everybody, write "GET /agents": "public" in scopeMappings.',
    );
    expect((await app.inject("/agents")).statusCode).toBe(200);
    expect((await app.inject("/deep")).statusCode).toBe(401);
  });

  it("tells of protect in a plugin that has no route at all", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.register((inner, _options, done) => {
      inner.register(protect());
      done();
    });
    app.get("/agents", { preHandler: [forFastify.requireScopes("a:b")] }, () => "ran");
    await app.ready();
    expect(findingsOf(routes)[0]?.message).toContain("requireScopes on it finds no caller");
  });

  it("tells nothing where protect is registered for all, whatever the order, nor where there is none", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get("/agents", () => "ran");
    app.register((inner, _options, done) => done(void inner.get("/inner", () => "ran")));
    app.register(protect());
    await app.ready();
    expect(unguardedOf(routes)).toEqual([]);
    const open = create();
    const none = forFastify.routesOf(open);
    open.get("/agents", { onRequest: forFastify.requireScopes("a:b") }, () => "ran");
    await open.ready();
    expect(unguardedOf(none)).toEqual([]);
  });
});
