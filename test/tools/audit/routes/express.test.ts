/** `routesOf` for Express: which routes it lists, and which it marks because `protect` does not run for them. */
import express5 from "express";
import express4 from "express4";
import { describe, expect, it } from "vitest";
import { audit, routesOf, type RoutesOptions } from "scopegate/audit";
import { protect } from "scopegate/express";
import { EXPRESS_VERSIONS, serve, statusWith } from "../../../support/frameworks.ts";
import { findingsOf, server, serverFor, unguardedOf, written } from "./support.ts";

const handler: express5.RequestHandler = (_request, response) => void response.end();

const listed = (app: object, options: RoutesOptions = {}) => written(routesOf(app, options));

describe.each(EXPRESS_VERSIONS)("routesOf for %s", (_, express) => {
  it("lists routes in the order of registration", () => {
    const app = express();
    app.use(handler);
    app.get("/", handler);
    app.get("/agents/:id", handler, handler);
    app.route("/agents").get(handler).post(handler);
    app.all("/any", handler);
    app.head("/only-head", handler);
    app.route("/nothing");
    app.get(["/a/:x", "/b"], handler);
    expect(listed(app)).toEqual([
      "GET /",
      "GET /agents/:id",
      "GET /agents",
      "POST /agents",
      "* /any",
      "HEAD /only-head",
      "GET /a/:x",
      "GET /b",
    ]);
  });

  it("puts the mounts of the routers before a pattern", () => {
    const logs = express.Router().get("/logs/:line", handler).get("/", handler);
    const agents = express.Router().use("/:id-x.y/:part", logs).use("/me", logs);
    const app = express();
    app.use("/agents/", agents);
    app.use(["/v1", "/v2/:tenant"], express.Router().get("/deep", handler));
    app.use(express.Router().get("/shallow", handler));
    expect(listed(app)).toEqual([
      "GET /agents/:id-x.y/:part/logs/:line",
      "GET /agents/:id-x.y/:part",
      "GET /agents/me/logs/:line",
      "GET /agents/me",
      "GET /v1/deep",
      "GET /v2/:tenant/deep",
      "GET /shallow",
    ]);
  });

  it("lists the routes of mounted applications that are passed to it, and fails without them", () => {
    const [app, admin, inner] = [express(), express(), express()];
    admin.get("/users/:id", handler);
    inner.get("/", handler);
    app.get("/health", handler);
    app.use("/admin", admin);
    admin.use("/:area", inner);
    expect(() => routesOf(app)).toThrow(
      "mounted at /admin: pass it as well: routesOf(app, { mounted: [admin] }).",
    );
    expect(() => routesOf(app, { mounted: [admin] })).toThrow("mounted at /admin/:area: pass it as well");
    expect(() => routesOf(app, { mounted: [inner] })).toThrow("mounted at /admin: pass it as well");
    expect(() => routesOf(app, { mounted: [express()] })).toThrow("mounted at /admin: pass it as well");
    expect(listed(app, { mounted: [admin, inner] })).toEqual([
      "GET /health",
      "GET /admin/users/:id",
      "GET /admin/:area",
    ]);
    expect(listed(express().use("/x", express.Router().use("/y", express().get("/z", handler))))).toEqual([
      "GET /x/y/z",
    ]);
  });

  it("fails for an application that is mounted twice, because Express keeps one of its mounts", () => {
    const [app, inner] = [express(), express()];
    app.use("/a", inner);
    app.use("/b", inner);
    expect(() => routesOf(app, { mounted: [inner, inner] })).toThrow(
      "Replace an application that is mounted twice with a router.",
    );
  });

  it("lists a regular expression as its source", () => {
    const app = express();
    app.get(/^\/re/, handler);
    app.use(/^\/mount/, express.Router().get("/below", handler));
    expect(listed(app)).toEqual([String.raw`GET RegExp /^\/re/`, "GET unknown mount /below"]);
  });

  it("writes patterns in the syntax of the table, with optional groups written out", () => {
    const own = serverFor({
      "GET /posts": [],
      "GET /posts/:post": [],
      "GET /files{/*name}": [],
      "GET /both": [],
    });
    const app = express().use(protect(own));
    const isFive = express === express5;
    app.get(isFive ? "/posts{/:id}" : "/posts/:id?", handler);
    app.get(isFive ? "/files/*path" : "/files/*", handler);
    app.route("/both").get(handler).head(handler);
    expect(listed(app)).toEqual([
      "GET /posts/:id",
      "GET /posts",
      "GET /files/*path",
      ...(isFive ? [] : ["GET /files/"]),
      "GET /both",
    ]);
    expect(audit(own, routesOf(app)).ok).toBe(true);
  });

  it("lists a mount that Express 4 keeps only as a regular expression as unknown", () => {
    const app = express();
    app.use("/of-:name", express.Router().get("/below", handler));
    expect(listed(app)).toEqual([express === express5 ? "GET /of-:name/below" : "GET unknown mount /below"]);
  });

  it("lists a mount with several paths as unknown when one of them is a regular expression", () => {
    const app = express();
    app.use(["/a", /^\/b/], express.Router().get("/below", handler));
    expect(listed(app)).toEqual(["GET unknown mount /below"]);
  });

  it("fails for an application that is mounted at a regular expression and not passed to it", () => {
    const app = express();
    app.use(/^\/area/, express().get("/x", handler));
    expect(() => routesOf(app)).toThrow("mounted at an unknown path: pass it as well");
  });

  it("stops where a router is mounted in itself", () => {
    const router = express.Router().get("/x", handler);
    router.use("/again", router);
    expect(listed(router)).toEqual(["GET /x"]);
  });

  it("marks routes before protect in an application that a router mounts", () => {
    const inner = express().get("/", handler);
    const outer = express().use("/:team", inner).get("/late", handler);
    const router = express.Router().use("/x", outer);
    const app = express().use(router).use(protect(server)).use("/y", express.Router().get("/", handler));
    expect(() => routesOf(app)).toThrow("can't look into the application that is mounted at /x/:team");
    expect(unguardedOf(routesOf(app, { mounted: [inner] }))).toEqual(["GET /x/:team", "GET /x/late"]);
  });

  it("refuses an application that is mounted twice, where a router mounts the one around it", () => {
    const inner = express().get("/", handler);
    const router = express.Router().use("/x", express().use("/:team", inner));
    const app = express().use(router).use(protect(server)).use("/y", inner);
    expect(() => routesOf(app, { mounted: [inner] })).toThrow("pass it as well");
  });

  it("marks no route of a router alone, because the application around it is not known", () => {
    const router = express.Router().get("/agents", handler).use(protect(server));
    expect(unguardedOf(routesOf(router))).toEqual([]);
  });

  it("recognizes protect in a wrapper that keeps it as `__original` or copies its properties", () => {
    const guard = protect(server);
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
      expect(unguardedOf(routesOf(express().use(middleware).get("/agents", handler)))).toEqual([]);
    const circular: typeof guard & { __original?: unknown } = wrap(guard);
    circular.__original = circular;
    expect(unguardedOf(routesOf(express().use(circular).get("/agents", handler)))).toEqual(["GET /agents"]);
  });

  it("marks the routes of routers that are mounted before protect", () => {
    const router = express.Router().get("/:id", handler);
    const app = express().use("/agents", router).use(protect(server)).use("/teams", router);
    expect(unguardedOf(routesOf(app))).toEqual(["GET /agents/:id"]);
  });

  it("marks routes outside the mount of a router that contains protect", () => {
    const admin = express.Router().get("/early", handler).use(protect(server)).get("/late", handler);
    const app = express().use("/admin/:area", admin).get("/agents", handler).get("/Admin/:x/y", handler);
    const routes = routesOf(app);
    expect(unguardedOf(routes)).toEqual(["GET /admin/:area/early", "GET /agents", "GET /Admin/:x/y"]);
    expect(findingsOf(routes).map(({ message }) => message)).toEqual([
      expect.stringContaining("`GET /admin/:area/early` is registered before protect"),
      expect.stringContaining("`GET /agents` is outside the paths of protect"),
      expect.stringContaining("`GET /Admin/:x/y` is outside the paths of protect"),
    ]);
  });

  it("marks routes outside the paths that protect is mounted at", () => {
    const app = express().use(["/api", "/v1/"], protect(server));
    for (const path of ["/api", "/api/x", "/v1/y", "/apis", "/v2/:id"]) app.get(path, handler);
    expect(unguardedOf(routesOf(app))).toEqual(["GET /apis", "GET /v2/:id"]);
  });

  it("marks GET /orgs when protect is mounted at /orgs/:org", () => {
    const app = express().use("/orgs/:org", protect(server));
    app.get("/orgs", handler).get("/orgs/:org", handler).get("/orgs/:id/teams", handler);
    expect(unguardedOf(routesOf(app))).toEqual(["GET /orgs"]);
    expect(findingsOf(routesOf(app))).toHaveLength(1);
    expect(audit(server, routesOf(app)).ok).toBe(false);
  });

  it("marks GET /api when protect is mounted at /api/*path", () => {
    const app = express().use(express === express5 ? "/api/*path" : "/api/*", protect(server));
    app.get("/api", handler).get("/api/x", handler);
    const isReported = express === express5;
    expect(unguardedOf(routesOf(app))).toEqual(isReported ? ["GET /api"] : ["GET /api", "GET /api/x"]);
  });

  it("marks GET /api when protect is mounted at /API, because a router may be case-sensitive", () => {
    const app = express();
    app.set("case sensitive routing", true);
    app.use("/API", protect(server)).get("/api", handler).get("/API/x", handler);
    expect(unguardedOf(routesOf(app))).toEqual(["GET /api"]);
    const loose = express().use("/API", protect(server)).get("/api", handler);
    expect(unguardedOf(routesOf(loose))).toEqual(["GET /api"]);
  });

  it("marks no route whose paths all pass protect", () => {
    const app = express()
      .use("/orgs/:org", protect(server))
      .get("/orgs/:org/teams", handler)
      .get("/orgs/acme", handler);
    app.use("/orgs/:org/logs", express.Router().get("/:line", handler));
    expect(unguardedOf(routesOf(app))).toEqual([]);
    expect(findingsOf(routesOf(app))).toEqual([]);
  });

  it("marks every route as uncertain when protect is mounted at a regular expression only", () => {
    const app = express()
      .use(/^\/api/, protect(server))
      .get("/agents", handler);
    expect([...routesOf(app)].map(({ unguarded }) => unguarded?.isUncertain)).toEqual([true]);
  });

  it("does not mark a method that protect among the handlers of the route guards", () => {
    const app = express();
    app.route("/agents").get(protect(server), handler).post(handler);
    app.get("/teams", [protect(server), handler]).get("/teams/:id", handler);
    expect(unguardedOf(routesOf(app))).toEqual(["POST /agents", "GET /teams/:id"]);
  });

  it("recognizes protect among the handlers of a route after a request", async () => {
    const app = express().get("/agents", protect(server), handler).get("/teams", protect(server), handler);
    await statusWith(await serve(app), "/agents");
    expect(unguardedOf(routesOf(app))).toEqual([]);
  });

  it("marks only the routes before protect as a handler for every path", () => {
    const app = express().get("/early", handler);
    app.all(express === express5 ? "/*path" : "*", protect(server)).get("/late/:x", handler);
    expect(unguardedOf(routesOf(app))).toEqual(["GET /early"]);
  });

  it("marks routes behind protect as a handler of a regular expression, which it cannot compare", () => {
    const app = express().get("/early", handler).all(/.*/, protect(server)).get("/late", handler);
    expect(unguardedOf(routesOf(app))).toEqual(["GET /early", "GET /late"]);
  });

  it("finds where applications are mounted, in whatever order they are passed", () => {
    const [app, early, late, own] = [express(), express(), express(), express()];
    early.get("/x", handler);
    late.get("/x", handler);
    own.get("/before", handler).use(protect(server)).get("/behind", handler);
    app.use("/own", own).use("/early", early).use(protect(server)).use("/late", late).get("/root", handler);
    const expected = ["GET /own/before", "GET /early/x"];
    expect(unguardedOf(routesOf(app, { mounted: [own, early, late] }))).toEqual(expected);
    expect(unguardedOf(routesOf(app, { mounted: [late, early, own] }))).toEqual(expected);
    expect(listed(app, { mounted: [late, early, own] })).toContain("GET /late/x");
  });

  it("offers no public rule for a route of every method and path, because it would open routes below", () => {
    const app = express()
      .all("/api/*rest", (_request, _response, next) => next())
      .use(protect(server))
      .delete("/api/users/1", handler);
    expect(findingsOf(routesOf(app)).map(({ hint }) => hint)).toContain(
      "Move app.use(protect(server)) before it. If it is middleware, write app.use.",
    );
  });

  const leave: express5.RequestHandler = (request, _response, next) => {
    if (request.headers["x-leave"] === undefined) next();
    else next("router");
  };

  it("marks routes that a request reaches by leaving a router before its guard", async () => {
    const api = express.Router().use(leave).use(protect(server)).get("/inside", handler);
    const app = express().use("/api", api).get("/api/outside", handler);
    const port = await serve(app);
    expect(await statusWith(port, "/api/outside")).toBe(401);
    expect(await statusWith(port, "/api/outside", undefined, { headers: [["x-leave", "1"]] })).toBe(200);
    expect(await statusWith(port, "/api/inside", undefined, { headers: [["x-leave", "1"]] })).toBe(404);
    expect(findingsOf(routesOf(app)).map(({ message, hint }) => `${message} ${hint}`)).toEqual([
      '`GET /api/outside` is behind a protect that earlier middleware can skip with next("router"): its handler runs without any check. Write app.use(protect(server)) before the router, or register it first in the router. If anyone may call it, write "GET /api/outside": "public" in scopeMappings.',
    ]);
  });

  it("marks them for a mounted application, and for a router in a router", () => {
    const inner = express().use(leave).use(protect(server)).get("/inside", handler);
    const app = express().use("/api", inner).get("/api/outside", handler);
    expect(unguardedOf(routesOf(app, { mounted: [inner] }))).toEqual(["* /api{/*path}", "GET /api/outside"]);
    const deep = express.Router().use(protect(server)).get("/deep", handler);
    const router = express.Router().use(leave, deep).get("/inside", handler);
    expect(unguardedOf(routesOf(express().use(router).get("/outside", handler)))).toEqual(["GET /outside"]);
    const route = express.Router().get("/x", leave, handler).use(protect(server));
    expect(unguardedOf(routesOf(express().use(route).get("/y", handler)))).toEqual(["GET /x", "GET /y"]);
  });

  it("marks no route if only a nested router, a handler without next, or another guard comes first", () => {
    const nested = express.Router().use(leave).get("/nested", handler);
    const first = express.Router().use(protect(server));
    const api = express.Router().use("/open", nested).get("/early", handler).use(first).use(leave);
    api.use(protect(server)).get("/inside", handler);
    const app = express().use(api).get("/outside", handler);
    expect(unguardedOf(routesOf(app))).toEqual(["* /open{/*path}", "GET /open/nested", "GET /early"]);
    const sub = express().use(leave);
    const inner = express().use("/sub", sub).use(protect(server));
    const outer = express().use("/api", inner).get("/api/outside", handler);
    expect(unguardedOf(routesOf(outer, { mounted: [inner, sub] }))).toEqual(["* /api/sub{/*path}"]);
    const top = express()
      .use(leave)
      .use(protect(server))
      .use(express.Router().use(leave, protect(server)));
    expect(unguardedOf(routesOf(top.get("/outside", handler)))).toEqual([]);
  });

  it("lists no middleware before protect whose mount no pattern can express", () => {
    const wildcard = express === express5 ? "/api/*path" : "/api/*";
    const app = express().use(wildcard, leave).use(/^\/v1/, leave).use(protect(server)).get("/x", handler);
    expect(listed(app)).toEqual(["GET /x"]);
  });

  it("lists files that packages serve, and marks those before protect", () => {
    const files = express.static("docs");
    const swaggerUi = Object.defineProperty(files.bind(undefined), "name", { value: "swaggerInitFn" });
    const app = express().use("/brand", files).use(protect(server));
    app.use("/docs", swaggerUi, files).use(files).use("/:team", express.Router().use("/x", files));
    expect(unguardedOf(routesOf(app))).toEqual(["GET /brand{/*path}"]);
    expect([...routesOf(app)].map(({ method, pattern, serves }) => [method, pattern, serves])).toEqual([
      ["GET", "/brand{/*path}", "static files"],
      ["GET", "/docs{/*path}", "Swagger UI"],
      ["GET", "/docs{/*path}", "static files"],
      ["GET", "/{*path}", "static files"],
      ["GET", "/:team/x{/*path}", "static files"],
    ]);
  });

  it("reports a route once whose handlers are before protect and behind it", () => {
    const app = express().get("/agents", handler).use(protect(server));
    app.get("/agents", handler).head("/agents", handler);
    expect(findingsOf(routesOf(app))).toHaveLength(1);
    const late = express().use("/api", protect(server), handler).get("/agents", handler);
    expect(findingsOf([...routesOf(express().get("/agents", handler)), ...routesOf(late)])).toHaveLength(1);
  });

  it("reports no OPTIONS route of CORS middleware before protect", () => {
    const app = express().options("/agents", handler).use(protect(server)).get("/agents", handler);
    expect(findingsOf(routesOf(app))).toEqual([]);
  });
});

it("lists a mount as unknown when the router keeps no path, as Express 5 did before 5.3", () => {
  const app = express5();
  app.use("/mount", express5.Router().get("/below", handler));
  for (const layer of app.router.stack) Object.assign(layer, { rawPath: undefined });
  expect(listed(app)).toEqual(["GET unknown mount /below"]);
});

it("reads the mounts of Express 4.17, which compiled parameters to another regular expression", () => {
  const app = express4();
  app.use("/teams/:team", express4.Router().get("/logs", handler as never));
  const stack = (app as unknown as { _router: { stack: { regexp: RegExp }[] } })._router.stack;
  Object.assign(stack.at(-1) ?? {}, { regexp: /^\/teams\/(?:([^/]+?))\/?(?=\/|$)/i });
  expect(listed(app as never)).toEqual(["GET /teams/:team/logs"]);
});

it("recognizes protect at the root of an application when the router keeps no paths", () => {
  const app = express5().use(protect(server)).get("/agents", handler);
  for (const layer of app.router.stack) Object.assign(layer, { rawPath: undefined });
  expect([...routesOf(app)]).toEqual([{ method: "GET", pattern: "/agents" }]);
});
