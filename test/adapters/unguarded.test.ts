/** Routes that `protect` does not run in front of: `routesOf` marks them, and the audit reports them. */
import Router from "@koa/router";
import express5 from "express";
import express4 from "express4";
import fastify5 from "fastify";
import fastify4 from "fastify4";
import { type Context, Hono, type Next } from "hono";
import Koa3 from "koa";
import Koa2 from "koa2";
import { describe, expect, it } from "vitest";
import { createResourceServer, type ListedRoute } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { listen, ask } from "../support/http.ts";
import { createServer } from "node:http";
import { createIssuer } from "../support/issuer.ts";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  scopeMappings: { "* /{*path}": ["any:thing"], "GET /health": "public" },
});

/** The routes of a list that are marked as unguarded. */
const unguardedOf = (routes: Iterable<ListedRoute>) =>
  [...routes].filter(({ unguarded }) => unguarded).map(({ method, pattern }) => `${method} ${pattern}`);

const findingsOf = (routes: Iterable<ListedRoute>) =>
  server.audit(routes).findings.filter(({ kind }) => ["route_unguarded", "guard_missing"].includes(kind));

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("routesOf for %s", (_, express) => {
  const handler: express5.RequestHandler = (_request, response) => void response.end();
  const protect = () => forExpress.protect(server);

  it("marks routes that are registered before protect, and the audit reports what to move", () => {
    const app = express()
      .get("/agents", handler)
      .get("/health", handler)
      .use(protect())
      .get("/teams", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /agents", "GET /health"]);
    expect(findingsOf(forExpress.routesOf(app))).toEqual([
      expect.objectContaining({
        kind: "route_unguarded",
        severity: "error",
        message: "`GET /agents` is registered before protect: its handler runs without any check.",
      }),
    ]);
  });

  it("marks routes in front of protect in an application that a router mounts", () => {
    const inner = express().get("/", handler);
    const outer = express().use("/:team", inner).get("/late", handler);
    const router = express.Router().use("/x", outer);
    const app = express().use(router).use(protect()).use("/y", express.Router().get("/", handler));
    expect(() => forExpress.routesOf(app)).toThrow(
      "cannot look into the application that is mounted at /x/:team",
    );
    expect(unguardedOf(forExpress.routesOf(app, inner))).toEqual(["GET /x/:team", "GET /x/late"]);
  });

  it("refuses an application that is mounted twice, where a router mounts the one around it", () => {
    const inner = express().get("/", handler);
    const router = express.Router().use("/x", express().use("/:team", inner));
    const app = express().use(router).use(protect()).use("/y", inner);
    expect(() => forExpress.routesOf(app, inner)).toThrow("pass it as well");
  });

  it("marks no route of a router alone, because the application around it is not known", () => {
    const router = express.Router().get("/agents", handler).use(protect());
    expect(unguardedOf(forExpress.routesOf(router))).toEqual([]);
  });

  it("marks every route of an application without protect, and the audit reports at least a warning", () => {
    const app = express().get("/agents", handler);
    expect([...forExpress.routesOf(app)][0]?.unguarded).toEqual({
      message: "has no protect that routesOf can find.",
      hint: "Write app.use(protect(server)) in front of all routes. If it is already there, another package has wrapped it.",
      isUncertain: true,
    });
    expect(findingsOf(forExpress.routesOf(app)).map(({ severity }) => severity)).not.toContain("note");
    expect(findingsOf(forExpress.routesOf(app))).toHaveLength(1);
  });

  it("recognizes protect in a wrapper that keeps it as `__original` or copies its properties", () => {
    const guard = protect();
    const wrap =
      (middleware: typeof guard): typeof guard =>
      (request, response, next) => {
        middleware(request, response, next);
      };
    const wrapped = [
      Object.assign(wrap(guard), { __original: guard }),
      Object.assign(wrap(guard), { __original: Object.assign(wrap(guard), { __original: guard }) }),
      Object.assign(wrap(guard), guard),
      Object.defineProperties(wrap(guard), Object.getOwnPropertyDescriptors(guard)),
    ];
    for (const middleware of wrapped)
      expect(unguardedOf(forExpress.routesOf(express().use(middleware).get("/agents", handler)))).toEqual([]);
    const circular: typeof guard & { __original?: unknown } = wrap(guard);
    circular.__original = circular;
    expect(unguardedOf(forExpress.routesOf(express().use(circular).get("/agents", handler)))).toEqual([
      "GET /agents",
    ]);
  });

  it("marks the routes of routers that are mounted before protect", () => {
    const router = express.Router().get("/:id", handler);
    const app = express().use("/agents", router).use(protect()).use("/teams", router);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /agents/:id"]);
  });

  it("marks routes outside the mount of a router that contains protect", () => {
    const admin = express.Router().get("/early", handler).use(protect()).get("/late", handler);
    const app = express().use("/admin/:area", admin).get("/agents", handler).get("/Admin/:x/y", handler);
    const routes = forExpress.routesOf(app);
    expect(unguardedOf(routes)).toEqual(["GET /admin/:area/early", "GET /agents", "GET /Admin/:x/y"]);
    expect(findingsOf(routes).map(({ message }) => message)).toEqual([
      expect.stringContaining("`GET /admin/:area/early` is registered before protect"),
      expect.stringContaining("`GET /agents` is outside the paths of protect"),
      expect.stringContaining("`GET /Admin/:x/y` is outside the paths of protect"),
    ]);
  });

  it("marks routes outside the paths that protect is mounted at", () => {
    const app = express().use(["/api", "/v1/"], protect());
    for (const path of ["/api", "/api/x", "/v1/y", "/apis", "/v2/:id"]) app.get(path, handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /apis", "GET /v2/:id"]);
  });

  it("marks GET /orgs when protect is mounted at /orgs/:org", () => {
    const app = express().use("/orgs/:org", protect());
    app.get("/orgs", handler).get("/orgs/:org", handler).get("/orgs/:id/teams", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /orgs"]);
    expect(findingsOf(forExpress.routesOf(app))).toHaveLength(1);
    expect(server.audit(forExpress.routesOf(app)).ok).toBe(false);
  });

  it("marks GET /agents when protect is mounted at /agents/:id", () => {
    const router = express.Router().get("/agents", handler).get("/agents/:id/logs", handler);
    const app = express().use("/agents/:id", protect()).use(router);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /agents"]);
  });

  it("marks GET /api when protect is mounted at /api/*path", () => {
    const app = express().use(express === express5 ? "/api/*path" : "/api/*", protect());
    app.get("/api", handler).get("/api/x", handler);
    const isReported = express === express5;
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(
      isReported ? ["GET /api"] : ["GET /api", "GET /api/x"],
    );
  });

  it("marks GET /api when protect is mounted at /API, because a router may be case-sensitive", () => {
    const app = express();
    app.set("case sensitive routing", true);
    app.use("/API", protect()).get("/api", handler).get("/API/x", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /api"]);
    const loose = express().use("/API", protect()).get("/api", handler);
    expect(unguardedOf(forExpress.routesOf(loose))).toEqual(["GET /api"]);
  });

  it("marks no route whose paths all pass protect", () => {
    const app = express()
      .use("/orgs/:org", protect())
      .get("/orgs/:org/teams", handler)
      .get("/orgs/acme", handler);
    app.use("/orgs/:org/logs", express.Router().get("/:line", handler));
    expect(unguardedOf(forExpress.routesOf(app))).toEqual([]);
    expect(findingsOf(forExpress.routesOf(app))).toEqual([]);
  });

  it("marks every route as uncertain when protect is mounted at a regular expression only", () => {
    const app = express()
      .use(/^\/api/, protect())
      .get("/agents", handler);
    expect([...forExpress.routesOf(app)].map(({ unguarded }) => unguarded?.isUncertain)).toEqual([true]);
  });

  it("does not mark a method that protect among the handlers of the route guards", () => {
    const app = express();
    app.route("/agents").get(protect(), handler).post(handler);
    app.get("/teams", [protect(), handler]).get("/teams/:id", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["POST /agents", "GET /teams/:id"]);
  });

  it("recognizes protect among the handlers of a route after a request", async () => {
    const app = express().get("/agents", protect(), handler).get("/teams", protect(), handler);
    const running = await listen(createServer(app));
    await ask(running.port, { path: "/agents" });
    await running.close();
    expect(unguardedOf(forExpress.routesOf(app))).toEqual([]);
  });

  it("marks only the routes in front of protect as a handler for every path", () => {
    const app = express().get("/early", handler);
    app.all(express === express5 ? "/*path" : "*", protect()).get("/late/:x", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /early"]);
  });

  it("marks routes behind protect as a handler of a regular expression, which it cannot compare", () => {
    const app = express().get("/early", handler).all(/.*/, protect()).get("/late", handler);
    expect(unguardedOf(forExpress.routesOf(app))).toEqual(["GET /early", "GET /late"]);
  });

  it("finds where applications are mounted, in whatever order they are passed", () => {
    const [app, early, late, own] = [express(), express(), express(), express()];
    early.get("/x", handler);
    late.get("/x", handler);
    own.get("/before", handler).use(protect()).get("/behind", handler);
    app.use("/own", own).use("/early", early).use(protect()).use("/late", late).get("/root", handler);
    const expected = ["GET /early/x", "GET /own/before"];
    expect(unguardedOf(forExpress.routesOf(late, early, own, app)).sort()).toEqual(expected);
    expect(unguardedOf(forExpress.routesOf(app, own, early, late)).sort()).toEqual(expected);
    expect([...forExpress.routesOf(late)]).toEqual([{ method: "GET", pattern: "/late/x" }]);
    expect(unguardedOf(forExpress.routesOf(early))).toEqual(["GET /early/x"]);
  });

  it("reports a route once whose handlers are in front of protect and behind it", () => {
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

  it("reports the consequence for requireScopes without protect in front of it", () => {
    const app = express().get("/agents", forExpress.requireScopes("a:b"), handler).use(protect());
    expect(findingsOf(forExpress.routesOf(app))[0]?.message).toContain(
      "requireScopes finds no caller, and every request is answered with 500",
    );
  });

  it("reports no OPTIONS route of CORS middleware in front of protect", () => {
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

  it("marks the routes of routers that are used before protect, and the audit reports what to move", () => {
    const early = new Router().get("/agents", handler).get("/health", handler);
    const late = new Router().get("/teams", handler);
    const app = new Koa().use(early.routes()).use(protect()).use(late.routes());
    expect(unguardedOf(forKoa.routesOf(app))).toEqual(["GET /agents", "GET /health"]);
    expect(findingsOf(forKoa.routesOf(app)).map(({ message }) => message)).toEqual([
      "`GET /agents` is registered before protect: its handler runs without any check.",
    ]);
  });

  it("marks no route of a router alone, because the application around it is not known", () => {
    const router = new Router().get("/agents", handler).use(protect() as never);
    expect(unguardedOf(forKoa.routesOf(router))).toEqual([]);
    expect(unguardedOf(forKoa.routesOf([router]))).toEqual([]);
  });

  it("marks every route of an application without protect, and the audit reports at least a warning", () => {
    const app = new Koa().use(new Router().get("/agents", handler).routes());
    expect([...forKoa.routesOf(app)].map(({ unguarded }) => unguarded?.isUncertain)).toEqual([true]);
    expect(findingsOf(forKoa.routesOf(app)).map(({ severity }) => severity)).not.toContain("note");
    expect(findingsOf(forKoa.routesOf(app))).toHaveLength(1);
  });

  it("recognizes protect in a wrapper that keeps it as `__original` or copies its properties", () => {
    const guard = protect();
    for (const properties of [{ __original: guard }, guard]) {
      const wrapper: typeof guard = Object.assign(
        (...given: Parameters<typeof guard>) => guard(...given),
        properties,
      );
      const app = new Koa().use(wrapper).use(new Router().get("/agents", handler).routes());
      expect(unguardedOf(forKoa.routesOf(app))).toEqual([]);
    }
  });

  it.each([
    ["an exclusive router", new Router({ exclusive: true }), "/agents"],
    ["a router whose prefix has a parameter", new Router({ prefix: "/:org" }), "/:org/agents"],
    ["a router", new Router(), "/agents"],
  ])("reports that protect inside %s guards nothing", (_name, router, pattern) => {
    router.use(protect() as never).get("/agents", handler);
    const other = new Router().get("/teams", handler);
    const app = new Koa().use(router.routes()).use(other.routes());
    const routes = forKoa.routesOf(app);
    expect(unguardedOf(routes)).toEqual([`GET ${pattern}`, "GET /teams"]);
    expect(
      findingsOf(routes).map(({ severity, message, hint }) => `${severity} ${message} ${hint}`)[0],
    ).toMatch(
      `error \`GET ${pattern}\` is in a router that contains protect: its handler runs without any check. Write app.use(protect(server)) in front of the router.`,
    );
  });

  it("reports protect in front of a single handler of a router as well", () => {
    const router = new Router().get("/agents", protect() as never, handler);
    const [finding] = findingsOf(forKoa.routesOf(new Koa().use(router.routes())));
    expect(finding?.message).toContain("is in a router that contains protect");
  });

  it("marks no route of a router that contains protect if protect is also in front of it", () => {
    const router = new Router().use(protect() as never).get("/agents", handler);
    const app = new Koa().use(protect()).use(router.routes());
    expect(unguardedOf(forKoa.routesOf(app))).toEqual([]);
  });

  it("reports the consequence for requireScopes without protect in front of it", () => {
    const router = new Router().get("/agents", forKoa.requireScopes("a:b"), handler);
    const app = new Koa().use(router.routes()).use(protect());
    expect(findingsOf(forKoa.routesOf(app))[0]?.message).toContain("requireScopes finds no caller");
  });
});

describe.each([
  ["Fastify 4", fastify4 as unknown as typeof fastify5],
  ["Fastify 5", fastify5],
])("routesOf for %s", (_, create) => {
  const protect = () => forFastify.protect(server);

  it("marks routes outside the plugin that protect is registered in, and the audit reports what to move", async () => {
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
    expect(findingsOf(routes).map(({ message, hint }) => `${message} ${hint}`)[0]).toContain(
      "`GET /agents` is outside the plugin of protect: its handler runs without any check. Register protect on the instance that holds every route.",
    );
    expect((await app.inject("/agents")).statusCode).toBe(200);
    expect((await app.inject("/deep")).statusCode).toBe(401);
  });

  it("marks routes outside a plugin that contains only protect", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.register((inner, _options, done) => {
      inner.register(protect());
      done();
    });
    app.get("/agents", { preHandler: [forFastify.requireScopes("a:b")] }, () => "ran");
    await app.ready();
    expect(findingsOf(routes)[0]?.message).toContain("requireScopes finds no caller");
  });

  it("marks no route when protect is registered for all, before or after the routes", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get("/agents", () => "ran");
    app.register((inner, _options, done) => done(void inner.get("/inner", () => "ran")));
    app.register(protect());
    await app.ready();
    expect(unguardedOf(routes)).toEqual([]);
  });

  it("marks every route of an application without protect, and the audit reports at least a warning", async () => {
    const app = create();
    const routes = forFastify.routesOf(app);
    app.get("/agents", { onRequest: forFastify.requireScopes("a:b") }, () => "ran");
    await app.ready();
    expect([...routes].map(({ unguarded }) => unguarded?.isUncertain)).toEqual([true]);
    expect(findingsOf(routes).map(({ severity }) => severity)).not.toContain("note");
    expect(findingsOf(routes)).toHaveLength(1);
  });
});

describe("routesOf for Hono", () => {
  const open = async (context: Context, _next: Next) => Promise.resolve(context.text("OPEN"));

  it("marks a handler in front of protect that a later handler of the same path follows", async () => {
    const app = new Hono();
    app.get("/report", open);
    app.use(forHono.protect(server));
    app.get("/report", (context) => context.text("guarded"));
    expect((await app.request("/report")).status).toBe(200);
    expect(unguardedOf(forHono.routesOf(app))).toEqual(["GET /report"]);
    expect(findingsOf(forHono.routesOf(app))).toHaveLength(1);
  });

  it("marks no handler that calls the next one in the same registration", () => {
    const app = new Hono();
    app.get("/early", open, forHono.protect(server), (context) => context.text("guarded"));
    app.use(forHono.protect(server));
    app.get("/report", open, (context) => context.text("guarded"));
    expect(unguardedOf(forHono.routesOf(app))).toEqual([]);
  });
});
