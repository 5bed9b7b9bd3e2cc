/** `protect` of scopegate/koa, on real servers. `test/routing` has the order, mounts and spellings of routes. */
import Router, { type RouterMiddleware } from "@koa/router";
import type Koa3 from "koa";
import mount from "koa-mount";
import { describe, expect, it, vi } from "vitest";
import type { ScopeMappings } from "scopegate";
import { principalOf, protect } from "scopegate/koa";
import { askWith, KOA_VERSIONS, koaListener, serve, serverFor, statusWith } from "../support/frameworks.ts";

type Application = Parameters<typeof koaListener>[0];
const statusOf = async (app: Application, path: string, scopes: readonly string[], method = "GET") =>
  statusWith(await serve(koaListener(app)), path, scopes, { method });

const run: RouterMiddleware = (context) => {
  context.body = principalOf(context)?.userId ?? "nobody";
};

/** Middleware that changes the context and continues. */
const changing =
  (change: (context: Koa3.Context) => unknown): Koa3.Middleware =>
  (context, next) => {
    change(context);
    return next();
  };
const useRouterPath = (path: string) =>
  changing((context) => Object.assign(context, { newRouterPath: path }));
const passOn = changing(() => undefined);
const rewrite = (from: string, to: string) =>
  changing((context) => (context.url = context.url.replace(from, to)));

const answering = (path: string | string[]) => new Router().get(path, run);

/** Runs the first route of a router, with the assignments of another version of it. */
const asVersion =
  (router: Router, assign: (context: object, layer: unknown) => unknown) =>
  (context: Koa3.Context, next: () => Promise<unknown>) => {
    const [layer] = router.stack;
    assign(context, layer);
    const stack = (layer?.stack ?? []) as ((context: unknown, next: () => unknown) => unknown)[];
    return stack.reduceRight<() => unknown>((after, handle) => () => handle(context, after), next)();
  };

/** The narrower rule of `/x` has less than that of the route that runs. */
const RULES: ScopeMappings = { "GET /x": [], "GET /:page": ["page:read"] };

describe.each(KOA_VERSIONS)("protect in %s", (_, Koa) => {
  const guarded = (rules: ScopeMappings = RULES) => new Koa().use(protect(serverFor(rules)));
  const mounted = (path: string, build: (inner: Koa3) => unknown, app = new Koa()) => {
    const inner = new Koa();
    build(inner);
    return app.use(mount(path, inner));
  };
  /** Records errors of the application. */
  const faultsOf = (app: Koa3) => {
    const faults: string[] = [];
    app.on("error", (fault: Error) => faults.push(fault.message));
    return faults;
  };

  it.each<[name: string, path: string, app: () => Koa3]>([
    ...[
      ["/api/public", "/secret"],
      ["/api/apix", "x"],
    ].map(([path = "", rewritten = ""]): [string, string, () => Koa3] => [
      `rewritten inside a mount to ${rewritten}`,
      path,
      () =>
        mounted("/api", (inner) =>
          inner
            .use(changing((context) => (context.path = rewritten)))
            .use(protect(serverFor({ "GET /api/*path": "public" })))
            .use(run as never),
        ),
    ]),
    [
      "rewritten before a mount",
      "/public/users",
      () =>
        mounted(
          "/admin",
          (inner) =>
            inner
              .use(protect(serverFor({ "GET /public/*path": "public", "GET /admin/*path": "public" })))
              .use(answering("/users").routes() as never),
          new Koa().use(rewrite("/public/", "/admin/")),
        ),
    ],
    [
      "with newRouterPath inside a mount",
      "/api/open",
      () =>
        mounted("/api", (inner) =>
          inner
            .use(useRouterPath("/secret"))
            .use(protect(serverFor({ "GET /api/open": "public", "GET /secret": "public" })))
            .use(answering("/secret").routes() as never),
        ),
    ],
    [
      "without a path, rewritten before a mount",
      "*",
      () =>
        mounted(
          "/api",
          (inner) => inner.use(protect(serverFor({ "GET /api/open": "public" }))).use(run as never),
          new Koa().use(changing((context) => (context.url = "/api/open"))),
        ),
    ],
    // Node 24 and later read the first target, because `URL` does.
    ...["http://xn--a/open", "http://[::1/open"]
      .filter((url) => !URL.canParse(url))
      .map((target): [string, string, () => Koa3] => [
        "whose authority Koa cannot read",
        target,
        () => guarded({ "GET /open": "public" }).use(answering("/open").routes() as never),
      ]),
    [
      "in another spelling at a pass-through route that no rule covers",
      "/AGENTS/web",
      () =>
        guarded({ "GET /agents/:id": [] })
          .use(new Router().all("/{*path}", passOn).routes() as never)
          .use(answering("/agents/:id").routes() as never),
    ],
  ])("refuses a target %s: %s", async (_name, path, create) => {
    expect(await statusOf(create(), path, [])).toBe(400);
  });

  it("requires the rule for a method that a middleware has written in lower case", async () => {
    const app = new Koa().use(changing((context) => (context.method = context.method.toLowerCase())));
    app.use(protect(serverFor({ "* /x": [], "DELETE /x": ["x:delete"] }))).use(run as never);
    expect(await statusOf(app, "/x", [], "DELETE")).toBe(403);
    expect(await statusOf(app, "/x", ["x:delete"], "DELETE")).toBe(200);
  });

  it("keeps at a public route the caller that the rule for the path required", async () => {
    const app = guarded({ "GET /homes/:id": ["homes:read"], "GET /:area/mine": "public" });
    const port = await serve(koaListener(app.use(answering("/:area/mine").routes() as never)));
    expect((await askWith(port, "/shops/mine", ["homes:read"])).text).toBe("nobody");
    expect((await askWith(port, "/homes/mine", ["homes:read"])).text).toBe("user-1");
  });

  it.each([
    ["behind a mount at /api that passes the request on", "/api", false],
    ["behind a mount at /api/ that passes the request on", "/api/", false],
    ["below a mount that is written with a trailing slash", "/api/", true],
  ])("reads the whole path %s", async (_place, prefix, isBelow) => {
    const guard = protect(serverFor({ "GET /api/things/:id": ["things:<id>:read"] }));
    const app = mounted(prefix, (inner) =>
      isBelow ? inner.use(guard).use(run as never) : inner.use(passOn),
    );
    app.use(guard).use(answering("/api/things/:id").routes() as never);
    expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
  });

  it.each<[name: string, path: string, scope: string, app: () => Koa3]>([
    [
      "to which newRouterPath leads",
      "/open",
      "secret:read",
      () =>
        new Koa()
          .use(useRouterPath("/secret"))
          .use(protect(serverFor({ "GET /open": "public", "GET /secret": ["secret:read"] })))
          .use(answering("/secret").routes() as never),
    ],
    [
      "to which the option routerPath leads",
      "/open",
      "secret:read",
      () => {
        const router = answering("/secret");
        router.opts.routerPath = "/secret";
        const rules: ScopeMappings = { "GET /open": "public", "GET /secret": ["secret:read"] };
        return guarded(rules).use(router.routes() as never);
      },
    ],
    [
      "behind a mount that is stricter about letter case",
      "/public/users",
      "x:admin",
      () =>
        guarded({ "GET /Public/:id": "public", "GET /:area/:id": ["x:admin"] })
          .use(mount("/Public", answering("/:id").routes() as never))
          .use(answering("/:area/:id").routes() as never),
    ],
    [
      "behind a mount with characters of the pattern syntax",
      "/a(b)/x",
      "page:read",
      () =>
        guarded({ "GET /a\\(b\\)/x": [], "GET /a\\(b\\)/:page": ["page:read"] }).use(
          mount("/a(b)", answering("/:page").routes() as never),
        ),
    ],
    [
      "of @koa/router 13.0.0, which adds those of a second router as an array",
      "/x",
      "page:read",
      () => {
        const router = answering("/:page");
        const assign = (context: object, layer: unknown) =>
          Object.assign(context, { matched: [[layer]], router });
        return guarded().use(asVersion(router, assign));
      },
    ],
    [
      "of the first request, which another router has passed on",
      "/x",
      "page:read",
      () =>
        new Koa()
          .use(new Router().get("/x", passOn).routes() as never)
          .use(protect(serverFor(RULES)))
          .use(answering("/:page").routes() as never),
    ],
    // The route matches more than its text, so the rule for the path decides alone.
    ...[["/files", { end: false }] as const, ["/files/...", { pathAsRegExp: true }] as const].map(
      ([path, options]): [string, string, string, () => Koa3] => [
        `${path} with ${JSON.stringify(options)}`,
        "/files/abc",
        "files:abc:read",
        () => {
          const router = new Router();
          router.register(path, ["GET"], run, options);
          return guarded({ "GET /files/:id": ["files:<id>:read"] }).use(router.routes() as never);
        },
      ],
    ),
  ])("requires the rule for the route %s: %s", async (_name, path, scope, create) => {
    // Twice: the first request of a process must not be decided in another way.
    const port = await serve(koaListener(create()));
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusWith(port, path, ["other:read"])).toBe(403);
      expect(await statusWith(port, path, [scope])).toBe(200);
    }
  });

  it("refuses a route that was matched before the method or the path changed", async () => {
    const rules: ScopeMappings = { "* /x": [], "GET /secret": [], "GET /open": "public" };
    const change = changing((context) => {
      context.method = context.get("x-method") || context.method;
      context.url = context.get("x-url") || context.url;
    });
    const router = new Router().use(change).delete("/x", run).get("/secret", run).get("/open", run);
    const port = await serve(koaListener(guarded(rules).use(router.routes() as never)));
    const ask = (method: string, path: string, ...headers: (readonly [string, string])[]) =>
      statusWith(port, path, [], { method, headers });
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await ask("GET", "/secret", ["x-url", "/open"])).toBe(400);
      expect(await ask("GET", "/secret")).toBe(200);
      expect(await ask("DELETE", "/x", ["x-method", "POST"])).toBe(400);
      expect(await ask("DELETE", "/x")).toBe(200);
    }
  });

  it.each<[place: string, path: string, build: (router: Router, guard: RouterMiddleware) => Router]>([
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
    const guard = protect(serverFor({ "GET /open": "public" })) as never;
    const app = new Koa().use(build(new Router(), guard).routes() as never);
    const faults = faultsOf(app);
    expect(await statusOf(app, path, [])).toBe(500);
    expect(faults).toEqual([
      "protect must not be used inside a @koa/router, which may skip its middleware for a route: write app.use(protect(server)) before the router.",
    ]);
  });

  it("fails at a route of koa-router before 7.2, which assigns no router", async () => {
    const app = guarded({ "GET /open": "public" });
    const faults = faultsOf(app);
    app.use(asVersion(answering("/open"), (context, layer) => Object.assign(context, { matched: [layer] })));
    expect(await statusOf(app, "/open", [])).toBe(500);
    expect(faults).toEqual([
      "protect can't check the routes of this router: install @koa/router, or koa-router 7.2 or later.",
    ]);
  });

  it("checks the routes of concurrent first requests behind a router that has passed them on", async () => {
    let arrived = 0;
    let release: (() => void) | undefined;
    const both = new Promise<void>((resolve) => (release = resolve));
    const passing = new Router().get("/:page", async (_context, next) => {
      arrived += 1;
      if (arrived === 2) release?.();
      await both;
      await next();
    });
    const app = new Koa().use(passing.routes() as never);
    app.use(protect(serverFor({ "GET /y": "public", "GET /x": "public", "GET /:page": ["page:read"] })));
    app.use(answering("/y").routes() as never).use(answering("/:page").routes() as never);
    const port = await serve(koaListener(app));
    const statuses = await Promise.all(["/y", "/x"].map((path) => statusWith(port, path)));
    expect(statuses).toEqual([200, 401]);
  });

  it("checks the routes of a router that is nested in another one after its first request", async () => {
    const inner = answering("/:page");
    const app = guarded({ "GET /:page": [], "GET /api/x": [], "GET /api/:page": ["page:read"] });
    app.use(inner.routes() as never);
    expect(await statusOf(app, "/x", [])).toBe(200);
    app.use(new Router().use("/api", inner.routes()).routes() as never);
    expect(await statusOf(app, "/api/x", [])).toBe(403);
    expect(await statusOf(app, "/api/x", ["page:read"])).toBe(200);
  });

  it.each([
    ["the same integer", 12, 200],
    ["another value", "13", 400],
  ])("compares what a function of router.param has written: %s", async (_name, written, status) => {
    const onParam = vi.fn();
    const router = new Router().param("id", (id, context, next) => {
      onParam(id);
      Object.assign(context.params, { id: written });
      return next();
    });
    router.get(["/a/:id", "/b/:id"], run);
    const app = guarded({ "GET /a/:id": ["a:<id>:read"], "GET /a/me": [] }).use(router.routes() as never);
    expect(await statusOf(app, "/a/12", ["a:12:read"])).toBe(status);
    // Only the rule for the route refuses this request, before the function runs.
    expect(await statusOf(app, "/a/me", ["a:12:read"])).toBe(403);
    expect(onParam.mock.calls).toEqual([["12"]]);
  });

  it("runs a route of an earlier version of path-to-regexp whose wildcard matches no segment", async () => {
    const router = answering("/files{/*path}");
    for (const layer of router.stack) Object.assign(layer, { path: "/files/:path*" });
    const app = guarded({ "GET /files{/*path}": ["files:read"] }).use(router.routes() as never);
    for (const path of ["/files", "/files/a/b"]) expect(await statusOf(app, path, ["files:read"])).toBe(200);
  });

  it("runs no route when middleware ignores the error of the check and continues", async () => {
    const guard = protect(serverFor({ "GET /x": ["x:read"] }, { now: () => Number.NaN }));
    const app = new Koa().use((_context, next) => next().catch(() => undefined));
    app.use((context, next) => Promise.resolve(guard(context, next)).catch(() => next()));
    expect(await statusOf(app.use(answering("/x").routes() as never), "/x", ["x:read"])).toBe(404);
  });

  it("checks the route for the guards of two copies of the package", async () => {
    vi.resetModules();
    const other = await import("scopegate/koa");
    const rules = (scope: string) => serverFor({ "GET /x": [], "GET /:page": [scope] });
    const app = new Koa().use(protect(rules("one:read"))).use(other.protect(rules("two:read")));
    const port = await serve(koaListener(app.use(answering("/:page").routes() as never)));
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusWith(port, "/x", ["one:read"])).toBe(403);
      expect(await statusWith(port, "/x", ["two:read"])).toBe(403);
      expect((await askWith(port, "/x", ["one:read", "two:read"])).text).toBe("user-1");
    }
  });
});
