/** `protect` of scopegate/koa, on real servers. */
import Router, { type RouterMiddleware, type RouterOptions } from "@koa/router";
import type Koa3 from "koa";
import mount from "koa-mount";
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { protect } from "scopegate/koa";
import { KOA_VERSIONS, koaListener, serve, serverFor, statusWith } from "../support/frameworks.ts";

const statusOf = async (
  app: Parameters<typeof koaListener>[0],
  path: string,
  scopes: readonly string[],
  method = "GET",
) => statusWith(await serve(koaListener(app)), path, scopes, { method });

const run = (context: { body: unknown }) => {
  context.body = "ran";
};

/** Middleware that changes the context and continues. */
const changing =
  (change: (context: Koa3.Context) => void): Koa3.Middleware =>
  (context, next) => {
    change(context);
    return next();
  };

const useRouterPath = (path: string) =>
  changing((context) => Object.assign(context, { newRouterPath: path }));

const passOn = changing(() => undefined);

const answering = (path: string, options: RouterOptions = {}) => new Router(options).get(path, run);

describe.each(KOA_VERSIONS)("protect in %s", (_, Koa) => {
  const guarded = (rules: ScopeMappings) => new Koa().use(protect(serverFor(rules)));

  it.each([
    ["/api/public", "/secret"],
    ["/api/apix", "x"],
  ])(
    "refuses %s when a middleware of a mounted application rewrites the path to %s",
    async (path, rewritten) => {
      const inner = new Koa().use(changing((context) => (context.path = rewritten)));
      inner.use(protect(serverFor({ "GET /api/*path": "public" }))).use(run);
      expect(await statusOf(new Koa().use(mount("/api", inner)), path, [])).toBe(400);
    },
  );

  it("requires the rule for a method that a middleware has written in lower case", async () => {
    const app = new Koa().use(changing((context) => (context.method = context.method.toLowerCase())));
    app.use(protect(serverFor({ "* /x": [], "DELETE /x": ["x:delete"] }))).use(run);
    expect(await statusOf(app, "/x", [], "DELETE")).toBe(403);
    expect(await statusOf(app, "/x", ["x:delete"], "DELETE")).toBe(200);
  });

  it.each([
    ["behind a mount at /api that passes the request on", "/api", false],
    ["behind a mount at /api/ that passes the request on", "/api/", false],
    ["below a mount that is written with a trailing slash", "/api/", true],
  ])("reads the whole path %s", async (_place, prefix, isBelow) => {
    const guard = protect(serverFor({ "GET /api/things/:id": ["things:<id>:read"] }));
    const inner = new Koa();
    if (isBelow) inner.use(guard).use(run);
    else inner.use(passOn);
    const app = new Koa().use(mount(prefix, inner));
    app.use(guard).use(answering("/api/things/:id").routes());
    expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
  });

  it("refuses a URL that was rewritten before a mounted application", async () => {
    const inner = new Koa();
    const policy: ScopeMappings = { "GET /public/*path": "public", "GET /admin/*path": ["admin:all"] };
    inner.use(protect(serverFor(policy))).use(answering("/users").routes());
    const app = new Koa().use(
      changing((context) => (context.url = context.url.replace("/public/", "/admin/"))),
    );
    app.use(mount("/admin", inner));
    expect(await statusOf(app, "/public/users", [])).toBe(400);
    expect(await statusOf(app, "/admin/users", ["admin:all"])).toBe(200);
  });

  it.each(["newRouterPath of a context", "the option routerPath"])(
    "checks the path that %s makes a router use",
    async (name) => {
      const router = answering("/secret");
      const app = new Koa();
      if (name === "the option routerPath") router.opts.routerPath = "/secret";
      else app.use(useRouterPath("/secret"));
      app.use(protect(serverFor({ "GET /open": "public", "GET /secret": ["secret:read"] })));
      app.use(router.routes());
      expect(await statusOf(app, "/open", [])).toBe(403);
      expect(await statusOf(app, "/open", ["secret:read"])).toBe(200);
    },
  );

  it("refuses a request with newRouterPath inside a mounted application", async () => {
    const inner = new Koa().use(useRouterPath("/secret"));
    inner.use(protect(serverFor({ "GET /api/open": "public", "GET /secret": "public" })));
    inner.use(answering("/secret").routes());
    expect(await statusOf(new Koa().use(mount("/api", inner)), "/api/open", [])).toBe(400);
  });

  it("refuses a target without a path that was rewritten before a mounted application", async () => {
    const inner = guarded({ "GET /api/open": "public" }).use(answering("/open").routes());
    const app = new Koa().use(changing((context) => (context.url = "/api/open"))).use(mount("/api", inner));
    expect(await statusOf(app, "*", [])).toBe(400);
  });

  // Node 24 and later read the first target, because `URL` does.
  const unreadable = ["http://xn--a/open", "http://[::1/open"].filter((url) => !URL.canParse(url));

  it.each(unreadable)("refuses %s, whose authority Koa cannot read", async (target) => {
    const app = guarded({ "GET /open": "public" }).use(answering("/open").routes());
    expect(await statusOf(app, target, [])).toBe(400);
  });

  it("requires the rule for the route when a mount is stricter about letter case than a router", async () => {
    const app = guarded({ "GET /Public/:id": "public", "GET /:area/:id": ["x:admin"] });
    app.use(mount("/Public", answering("/:id").routes()));
    app.use(answering("/:area/:id").routes());
    expect(await statusOf(app, "/public/users", [])).toBe(403);
    expect(await statusOf(app, "/Public/users", [])).toBe(200);
  });

  it("refuses a path with another spelling at a pass-through route that no rule covers", async () => {
    const app = new Koa();
    const router = answering("/agents/:id");
    app.use(protect(serverFor({ "GET /agents/:id": ["agents:<id>:read"] })));
    app.use(new Router().all("/{*path}", passOn).routes()).use(router.routes());
    expect(await statusOf(app, "/agents/web", ["agents:web:read"])).toBe(200);
    expect(await statusOf(app, "/AGENTS/web", ["agents:web:read"])).toBe(400);
  });

  it("refuses a route that was matched before the method or the path changed", async () => {
    const rules: ScopeMappings = {
      "DELETE /x": ["x:delete"],
      "POST /x": [],
      "GET /secret": ["secret:read"],
      "GET /open": "public",
    };
    const router = new Router();
    router.use(
      changing((context) => {
        context.method = context.get("x-method") || context.method;
        context.url = context.get("x-url") || context.url;
      }),
    );
    router.delete("/x", run).get("/secret", run).get("/open", run);
    const app = guarded(rules).use(router.routes());
    const port = await serve(koaListener(app));
    const statusFor = (method: string, path: string, headers: readonly [string, string][]) =>
      statusWith(port, path, ["x:delete", "secret:read"], { method, headers });
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusFor("GET", "/secret", [["x-url", "/open"]])).toBe(400);
      expect(await statusFor("GET", "/secret", [])).toBe(200);
      expect(await statusFor("DELETE", "/x", [["x-method", "POST"]])).toBe(400);
      expect(await statusFor("DELETE", "/x", [])).toBe(200);
    }
  });

  it.each<[string, string, (router: Router, guard: RouterMiddleware) => Router]>([
    ["as its middleware", "/open", (router, guard) => router.use(guard).use(answering("/open").routes())],
    ["in front of its route", "/open", (router, guard) => router.get("/open", guard, run)],
    ["behind another middleware", "/open", (router, guard) => router.use(passOn, guard).get("/open", run)],
    ["behind a prefix", "/api/open", (router, guard) => router.prefix("/api").use(guard).get("/open", run)],
    [
      "in a nested router",
      "/open",
      (router, guard) => router.use(new Router().use(guard).get("/open", run).routes()),
    ],
  ])("throws inside a @koa/router, %s", async (_place, path, build) => {
    const app = new Koa();
    const faults: unknown[] = [];
    app.on("error", (fault: Error) => faults.push(fault.message));
    const guard = protect(serverFor({ "GET /open": "public" })) as never;
    app.use(build(new Router(), guard).routes());
    expect(await statusOf(app, path, [])).toBe(500);
    expect(faults).toEqual([
      "protect must not be used inside a @koa/router, which may skip its middleware for a route: write app.use(protect(server)) before the router.",
    ]);
  });

  /** Runs the first route of a router, with the assignments of another version of it. */
  const asVersion =
    (router: Router, assign: (context: object, layer: unknown) => void) =>
    (context: Koa3.Context, next: () => Promise<unknown>) => {
      const [layer] = router.stack;
      assign(context, layer);
      const stack = (layer?.stack ?? []) as ((context: unknown, next: () => unknown) => unknown)[];
      return stack.reduceRight<() => unknown>((after, handle) => () => handle(context, after), next)();
    };

  it("fails at a route of koa-router before 7.2, which assigns no router", async () => {
    const app = new Koa();
    const faults: unknown[] = [];
    app.on("error", (fault: Error) => faults.push(fault.message));
    app.use(protect(serverFor({ "GET /open": "public" })));
    app.use(asVersion(answering("/open"), (context, layer) => Object.assign(context, { matched: [layer] })));
    expect(await statusOf(app, "/open", [])).toBe(500);
    expect(faults).toEqual([
      "protect can't check the routes of this router: install @koa/router, or koa-router 7.2 or later.",
    ]);
  });

  it("checks the routes of @koa/router 13.0.0, which adds those of a second router as an array", async () => {
    const app = new Koa();
    const router = answering("/:page");
    app.use(protect(serverFor({ "GET /open": [], "GET /:page": ["page:read"] })));
    app.use(asVersion(router, (context, layer) => Object.assign(context, { matched: [[layer]], router })));
    expect(await statusOf(app, "/open", [])).toBe(403);
    expect(await statusOf(app, "/open", ["page:read"])).toBe(200);
  });

  it("checks the routes of the first request behind a router that has passed it on", async () => {
    const app = new Koa();
    app.use(new Router().get("/x", passOn).routes());
    app.use(protect(serverFor({ "GET /x": [], "GET /:page": ["page:read"] })));
    app.use(answering("/:page").routes());
    expect(await statusOf(app, "/x", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/x", ["page:read"])).toBe(200);
  });

  it("checks the routes of concurrent first requests behind a router that has passed them on", async () => {
    const app = new Koa();
    let arrived = 0;
    let release: (() => void) | undefined;
    const both = new Promise<void>((resolve) => (release = resolve));
    const passing = new Router().get("/:page", async (_context, next) => {
      arrived += 1;
      if (arrived === 2) release?.();
      await both;
      await next();
    });
    app.use(passing.routes());
    app.use(protect(serverFor({ "GET /y": "public", "GET /x": "public", "GET /:page": ["page:read"] })));
    app.use(answering("/y").routes()).use(answering("/:page").routes());
    const port = await serve(koaListener(app));
    const statuses = await Promise.all(["/y", "/x"].map((path) => statusWith(port, path)));
    expect(statuses).toEqual([200, 401]);
  });

  it("checks the routes of a router that is nested in another one after its first request", async () => {
    const app = new Koa();
    const inner = answering("/:page");
    const rules: ScopeMappings = { "GET /:page": [], "GET /api/x": [], "GET /api/:page": ["page:read"] };
    app.use(protect(serverFor(rules))).use(inner.routes());
    expect(await statusOf(app, "/x", [])).toBe(200);
    app.use(new Router().use("/api", inner.routes()).routes());
    expect(await statusOf(app, "/api/x", [])).toBe(403);
    expect(await statusOf(app, "/api/x", ["page:read"])).toBe(200);
  });

  it.each([
    ["/files", { end: false }],
    ["/files/...", { pathAsRegExp: true }],
  ])(
    "decides by the path alone at the route %s with %j, which matches more than its text",
    async (path, options) => {
      const router = new Router();
      router.register(path, ["GET"], run, options);
      const app = guarded({ "GET /files/:id": ["files:<id>:read"] }).use(router.routes());
      expect(await statusOf(app, "/files/abc", ["files:abc:read"])).toBe(200);
      expect(await statusOf(app, "/files/abc", ["files:other:read"])).toBe(403);
    },
  );

  it.each([
    ["the same integer", 12, 200],
    ["another value", "13", 400],
  ])("compares what a function of router.param has written: %s", async (_name, written, status) => {
    const order: string[] = [];
    const router = new Router().param("id", (_id, context, next) => {
      order.push("param");
      Object.assign(context.params, { id: written });
      return next();
    });
    router.get(["/a/:id", "/b/:id"], run);
    const app = guarded({ "GET /a/:id": ["a:<id>:read"], "GET /a/me": [] }).use(router.routes());
    expect(await statusOf(app, "/a/12", ["a:12:read"])).toBe(status);
    expect(order.splice(0)).toEqual(["param"]);
    // Only the rule for the route refuses this request, before the function runs.
    expect(await statusOf(app, "/a/me", ["a:12:read"])).toBe(403);
    expect(order).toEqual([]);
  });

  it("runs a route of an earlier version of path-to-regexp whose wildcard matches no segment", async () => {
    const router = new Router().get("/files{/*path}", run);
    for (const layer of router.stack) Object.assign(layer, { path: "/files/:path*" });
    const app = guarded({ "GET /files{/*path}": ["files:read"] }).use(router.routes());
    for (const path of ["/files", "/files/a/b"]) expect(await statusOf(app, path, ["files:read"])).toBe(200);
  });

  it("requires the rule for a route behind a mount with characters of the pattern syntax", async () => {
    const app = guarded({ "GET /a\\(b\\)/x": [], "GET /a\\(b\\)/:page": ["page:read"] });
    app.use(mount("/a(b)", answering("/:page").routes()));
    expect(await statusOf(app, "/a(b)/x", [])).toBe(403);
    expect(await statusOf(app, "/a(b)/x", ["page:read"])).toBe(200);
  });
});
