/** `routesOf` for Express: which routes it lists, and which it marks because `protect` does not run for them. */
import express5 from "express";
import express4 from "express4";
import { describe, expect, it } from "vitest";
import { audit, routesOf, type RoutesOptions } from "scopegate/audit";
import { protect } from "scopegate/express";
import { EXPRESS_VERSIONS, serve, statusWith } from "../../../support/frameworks.ts";
import { findingsOf, server, serverFor, unguardedOf, written } from "./support.ts";

const handler: express5.RequestHandler = (_request, response) => void response.end();
const leave: express5.RequestHandler = (request, _response, next) => {
  if (request.headers["x-leave"] === undefined) next();
  else next("router");
};

const listed = (app: object, options: RoutesOptions = {}) => written(routesOf(app, options));
const unguardedIn = (app: object, options: RoutesOptions = {}) => unguardedOf(routesOf(app, options));

describe.each(EXPRESS_VERSIONS)("routesOf for %s", (_, express) => {
  const isFive = express === express5;

  it("lists routes in the order of registration, in the syntax of the table", () => {
    const app = express();
    app.use(handler);
    app.get("/", handler);
    app.get("/agents/:id", handler, handler);
    app.route("/agents").get(handler).post(handler);
    app.route("/both").get(handler).head(handler);
    app.all("/any", handler);
    app.head("/only-head", handler);
    app.route("/nothing");
    app.get(["/a/:x", "/b"], handler);
    app.get(/^\/re/, handler);
    app.get(isFive ? "/posts{/:id}" : "/posts/:id?", handler);
    app.get(isFive ? "/files/*path" : "/files/*", handler);
    expect(listed(app)).toEqual([
      "GET /",
      "GET /agents/:id",
      "GET /agents",
      "POST /agents",
      "GET /both",
      "* /any",
      "HEAD /only-head",
      "GET /a/:x",
      "GET /b",
      String.raw`GET RegExp /^\/re/`,
      "GET /posts/:id",
      "GET /posts",
      "GET /files/*path",
      ...(isFive ? [] : ["GET /files/"]),
    ]);
    const readable = [...routesOf(app)].filter(({ pattern }) => !pattern.startsWith("RegExp"));
    const options = { guardedElsewhere: ["/{*path}"] };
    expect(audit(serverFor({ "* /{*path}": [] }), readable, options)).toMatchObject({ ok: true });
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
    const router = express.Router().get("/x", handler);
    expect(listed(router.use("/again", router))).toEqual(["GET /x"]);
  });

  it("lists a mount as unknown that is a regular expression, or that Express 4 keeps as one", () => {
    const below = express.Router().get("/below", handler);
    expect(listed(express().use(/^\/mount/, below))).toEqual(["GET unknown mount /below"]);
    expect(listed(express().use(["/a", /^\/b/], below))).toEqual(["GET unknown mount /below"]);
    expect(listed(express().use("/of-:name", below))).toEqual([
      isFive ? "GET /of-:name/below" : "GET unknown mount /below",
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
    for (const other of [inner, express()])
      expect(() => routesOf(app, { mounted: [other] })).toThrow("mounted at /admin: pass it as well");
    expect(listed(app, { mounted: [admin, inner] })).toEqual([
      "GET /health",
      "GET /admin/users/:id",
      "GET /admin/:area",
    ]);
    expect(listed(express().use("/x", express.Router().use("/y", express().get("/z", handler))))).toEqual([
      "GET /x/y/z",
    ]);
    const unknown = express().use(/^\/area/, express().get("/x", handler));
    expect(() => routesOf(unknown)).toThrow("mounted at an unknown path: pass it as well");
    // Express keeps one of the mounts.
    const twice = express().use("/a", inner).use("/b", inner);
    expect(() => routesOf(twice, { mounted: [inner, inner] })).toThrow(
      "Replace an application that is mounted twice with a router.",
    );
  });

  it("finds where applications are mounted, also by routers, in whatever order they are passed", () => {
    const [app, early, late, own] = [express(), express(), express(), express()];
    early.get("/x", handler);
    late.get("/x", handler);
    own.get("/before", handler).use(protect(server)).get("/behind", handler);
    app.use("/own", own).use("/early", early).use(protect(server)).use("/late", late).get("/root", handler);
    for (const mounted of [
      [own, early, late],
      [late, early, own],
    ])
      expect(unguardedIn(app, { mounted })).toEqual(["GET /own/before", "GET /early/x"]);
    expect(listed(app, { mounted: [late, early, own] })).toContain("GET /late/x");

    const inner = express().get("/", handler);
    const router = express.Router().use("/x", express().use("/:team", inner).get("/late", handler));
    const outer = express().use(router).use(protect(server));
    expect(() => routesOf(outer)).toThrow("can't look into the application that is mounted at /x/:team");
    expect(unguardedIn(outer, { mounted: [inner] })).toEqual(["GET /x/:team", "GET /x/late"]);
    const twice = outer.use("/y", express().get("/", handler));
    expect(() => routesOf(twice, { mounted: [inner] })).toThrow("pass it as well");
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
      expect(unguardedIn(express().use(middleware).get("/agents", handler))).toEqual([]);
    const circular: typeof guard & { __original?: unknown } = wrap(guard);
    circular.__original = circular;
    expect(unguardedIn(express().use(circular).get("/agents", handler))).toEqual(["GET /agents"]);
  });

  it("marks the routes of routers before protect, but none of a router alone", () => {
    const router = express.Router().get("/:id", handler);
    const app = express().use("/agents", router).use(protect(server)).use("/teams", router);
    expect(unguardedIn(app)).toEqual(["GET /agents/:id"]);
    // The application around a router is not known.
    expect(unguardedIn(express.Router().get("/agents", handler).use(protect(server)))).toEqual([]);
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

  const WILDCARD = isFive ? "/api/*path" : "/api/*";

  it.each<[string | string[], readonly string[], readonly string[]]>([
    [
      ["/api", "/v1/"],
      ["/api", "/api/x", "/v1/y", "/apis", "/v2/:id"],
      ["/apis", "/v2/:id"],
    ],
    ["/orgs/:org", ["/orgs", "/orgs/:org", "/orgs/:id/teams", "/orgs/acme"], ["/orgs"]],
    // Express 4 keeps the mount as a regular expression.
    [WILDCARD, ["/api", "/api/x"], isFive ? ["/api"] : ["/api", "/api/x"]],
    // A router may be case-sensitive.
    ["/API", ["/api", "/API/x"], ["/api"]],
  ])("marks routes outside the paths that protect is mounted at: %j", (mount, paths, unguarded) => {
    const app = express().use(mount, protect(server));
    for (const path of paths) app.get(path, handler);
    expect(unguardedIn(app)).toEqual(unguarded.map((path) => `GET ${path}`));
    expect(audit(server, routesOf(app)).ok).toBe(false);
  });

  it("marks every route as uncertain when protect is mounted at a regular expression only", () => {
    const app = express()
      .use(/^\/api/, protect(server))
      .get("/agents", handler);
    expect([...routesOf(app)].map(({ unguarded }) => unguarded?.isUncertain)).toEqual([true]);
  });

  it("recognizes protect among the handlers of a route, also after a request", async () => {
    const app = express();
    app.route("/agents").get(protect(server), handler).post(handler);
    app.get("/teams", [protect(server), handler]).get("/teams/:id", handler);
    await statusWith(await serve(app), "/agents");
    expect(unguardedIn(app)).toEqual(["POST /agents", "GET /teams/:id"]);
  });

  it("marks only the routes before protect as a handler for every path, but all if it is a regular expression", () => {
    const app = express().get("/early", handler);
    app.all(isFive ? "/*path" : "*", protect(server)).get("/late/:x", handler);
    expect(unguardedIn(app)).toEqual(["GET /early"]);
    const other = express().get("/early", handler).all(/.*/, protect(server)).get("/late", handler);
    expect(unguardedIn(other)).toEqual(["GET /early", "GET /late"]);
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
    const inner = express().use(leave).use(protect(server)).get("/inside", handler);
    const mounting = express().use("/api", inner).get("/api/outside", handler);
    expect(unguardedIn(mounting, { mounted: [inner] })).toEqual(["* /api{/*path}", "GET /api/outside"]);
    const deep = express.Router().use(protect(server)).get("/deep", handler);
    const router = express.Router().use(leave, deep).get("/inside", handler);
    expect(unguardedIn(express().use(router).get("/outside", handler))).toEqual(["GET /outside"]);
    const route = express.Router().get("/x", leave, handler).use(protect(server));
    expect(unguardedIn(express().use(route).get("/y", handler))).toEqual(["GET /x", "GET /y"]);
  });

  it("marks no route if only a nested router, a handler without next, or another guard comes first", () => {
    const nested = express.Router().use(leave).get("/nested", handler);
    const first = express.Router().use(protect(server));
    const api = express.Router().use("/open", nested).get("/early", handler).use(first).use(leave);
    api.use(protect(server)).get("/inside", handler);
    const app = express().use(api).get("/outside", handler);
    expect(unguardedIn(app)).toEqual(["* /open{/*path}", "GET /open/nested", "GET /early"]);
    const sub = express().use(leave);
    const inner = express().use("/sub", sub).use(protect(server));
    const outer = express().use("/api", inner).get("/api/outside", handler);
    expect(unguardedIn(outer, { mounted: [inner, sub] })).toEqual(["* /api/sub{/*path}"]);
    const top = express().use(leave).use(protect(server));
    top.use(express.Router().use(leave, protect(server))).get("/outside", handler);
    expect(unguardedIn(top)).toEqual([]);
  });

  it("lists files that packages serve, and marks those before protect", () => {
    const files = express.static("docs");
    const swaggerUi = Object.defineProperty(files.bind(undefined), "name", { value: "swaggerInitFn" });
    const app = express().use("/brand", files).use(protect(server));
    app.use("/docs", swaggerUi, files).use(files).use("/:team", express.Router().use("/x", files));
    expect(unguardedIn(app)).toEqual(["GET /brand{/*path}"]);
    expect([...routesOf(app)].map(({ method, pattern, serves }) => [method, pattern, serves])).toEqual([
      ["GET", "/brand{/*path}", "static files"],
      ["GET", "/docs{/*path}", "Swagger UI"],
      ["GET", "/docs{/*path}", "static files"],
      ["GET", "/{*path}", "static files"],
      ["GET", "/:team/x{/*path}", "static files"],
    ]);
    // No pattern can express these mounts.
    const other = express().use(WILDCARD, leave).use(/^\/v1/, leave).use(protect(server));
    expect(listed(other.get("/x", handler))).toEqual(["GET /x"]);
  });

  it("reports a route once whose handlers are before protect and behind it, and none for OPTIONS", () => {
    const app = express().get("/agents", handler).options("/teams", handler).use(protect(server));
    app.get("/agents", handler).head("/agents", handler).get("/teams", handler);
    expect(findingsOf(routesOf(app))).toHaveLength(1);
    const late = express().use("/api", protect(server), handler).get("/agents", handler);
    expect(findingsOf([...routesOf(express().get("/agents", handler)), ...routesOf(late)])).toHaveLength(1);
  });
});

it("lists a mount as unknown, and recognizes protect at the root, if a router keeps no path, as before 5.3", () => {
  const app = express5().use(protect(server)).get("/agents", handler);
  app.use("/mount", express5.Router().get("/below", handler));
  for (const layer of app.router.stack) Object.assign(layer, { rawPath: undefined });
  expect(listed(app)).toEqual(["GET /agents", "GET unknown mount /below"]);
  expect(unguardedIn(app)).toEqual([]);
});

it("reads the mounts of Express 4.17, which compiled parameters to another regular expression", () => {
  const app = express4();
  app.use("/teams/:team", express4.Router().get("/logs", handler as never));
  const stack = (app as unknown as { _router: { stack: { regexp: RegExp }[] } })._router.stack;
  Object.assign(stack.at(-1) ?? {}, { regexp: /^\/teams\/(?:([^/]+?))\/?(?=\/|$)/i });
  expect(listed(app as never)).toEqual(["GET /teams/:team/logs"]);
});
