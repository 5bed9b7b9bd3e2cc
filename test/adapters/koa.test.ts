/** `protect` of scopegate/koa. `test/routing` has the order, mounts and spellings of routes. */
import Router, { type RouterMiddleware } from "@koa/router";
import type Koa3 from "koa";
import mount from "koa-mount";
import { withPollution } from "../support/polluted-prototype.ts";
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

const guard = (rules: ScopeMappings = RULES) => protect(serverFor(rules));

describe.each(KOA_VERSIONS)("protect in %s", (_, Koa) => {
  /** An application with these parts, in their order. */
  const application = (...parts: readonly unknown[]): Koa3 => {
    const app = new Koa();
    for (const part of parts) app.use((part instanceof Router ? part.routes() : part) as Koa3.Middleware);
    return app;
  };
  const mounted = (path: string, ...parts: readonly unknown[]) => mount(path, application(...parts));
  /** Records errors of the application. */
  const faultsOf = (app: Koa3) => {
    const faults: string[] = [];
    app.on("error", (fault: Error) => faults.push(fault.message));
    return faults;
  };

  const setPath = (path: string) => changing((context) => (context.path = path));
  const openApi = () => guard({ "GET /api/*path": "public", "GET /secret": "public" });

  // Node 24 and later read the first of these targets, because `URL` does.
  const UNREADABLE = ["http://xn--a/open", "http://[::1/open"].filter((url) => !URL.canParse(url));

  const unreadable = UNREADABLE.map((target): [string, readonly [string, ...unknown[]]] => [
    `whose authority Koa cannot read: ${target}`,
    [target, guard({ "GET /open": "public" }), answering("/open")],
  ]);
  it.each<[string, readonly [path: string, ...parts: unknown[]]]>(
    Object.entries({
      "rewritten in a mount to /secret": ["/api/x", mounted("/api", setPath("/secret"), openApi(), run)],
      "rewritten in a mount to x": ["/api/apix", mounted("/api", setPath("x"), openApi(), run)],
      "rewritten before a mount": [
        "/x/users",
        rewrite("/x/", "/api/"),
        mounted("/api", guard({ "GET /{*path}": "public" }), answering("/users")),
      ],
      "with newRouterPath in a mount": [
        "/api/open",
        mounted("/api", useRouterPath("/secret"), openApi(), answering("/secret")),
      ],
      "*, rewritten before a mount": ["*", rewrite("*", "/api/open"), mounted("/api", openApi(), run)],
      ...Object.fromEntries(unreadable),
      "in another spelling, at a pass-through route that no rule covers": [
        "/AGENTS/web",
        guard({ "GET /agents/:id": [] }),
        new Router().all("/{*path}", passOn),
        answering("/agents/:id"),
      ],
    }),
  )("refuses a target %s", async (_name, [path, ...parts]) => {
    expect(await statusOf(application(...parts), path, [])).toBe(400);
  });

  it("requires the rule for a method that a middleware has written in lower case", async () => {
    const lower = changing((context) => (context.method = context.method.toLowerCase()));
    const app = application(lower, guard({ "* /x": [], "DELETE /x": ["x:delete"] }), run);
    expect(await statusOf(app, "/x", [], "DELETE")).toBe(403);
    expect(await statusOf(app, "/x", ["x:delete"], "DELETE")).toBe(200);
  });

  it.each([
    ["behind a mount at /api that passes the request on", "/api", false],
    ["behind a mount at /api/ that passes the request on", "/api/", false],
    ["below a mount that is written with a trailing slash", "/api/", true],
  ])("reads the whole path %s", async (_place, prefix, isBelow) => {
    const checking = guard({ "GET /api/things/:id": ["things:<id>:read"] });
    const inner = isBelow ? [checking, run] : [passOn];
    const app = application(mounted(prefix, ...inner), checking, answering("/api/things/:id"));
    expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
  });

  const SECRET: ScopeMappings = { "GET /open": "public", "GET /secret": ["secret:read"] };
  const withRouterPath = () => {
    const router = answering("/secret");
    router.opts.routerPath = "/secret";
    return router;
  };
  const ofVersion13 = () => {
    const router = answering("/:page");
    return asVersion(router, (context, layer) => Object.assign(context, { matched: [[layer]], router }));
  };
  const registered = (path: string, options: Parameters<Router["register"]>[3]) => {
    const router = new Router();
    router.register(path, ["GET"], run, options);
    return [guard({ "GET /files/:id": ["files:<id>:read"] }), router];
  };

  it.each<[string, readonly [path: string, scope: string, ...parts: unknown[]]]>(
    Object.entries({
      "to which newRouterPath leads": [
        "/open",
        "secret:read",
        useRouterPath("/secret"),
        guard(SECRET),
        answering("/secret"),
      ],
      "to which routerPath leads": ["/open", "secret:read", guard(SECRET), withRouterPath()],
      "behind a mount that is stricter about letter case": [
        "/public/users",
        "x:admin",
        guard({ "GET /Public/:id": "public", "GET /:area/:id": ["x:admin"] }),
        mounted("/Public", answering("/:id")),
        answering("/:area/:id"),
      ],
      "behind a mount with characters of the pattern syntax": [
        "/a(b)/x",
        "page:read",
        guard({ "GET /a\\(b\\)/x": [], "GET /a\\(b\\)/:page": ["page:read"] }),
        mounted("/a(b)", answering("/:page")),
      ],
      // It adds the routes of a second router as an array.
      "of @koa/router 13.0.0": ["/x", "page:read", guard(), ofVersion13()],
      "of the first request, which another router has passed on": [
        "/x",
        "page:read",
        new Router().get("/x", passOn),
        guard(),
        answering("/:page"),
      ],
      // These match more than their text, so the rule for the path decides alone.
      "for longer paths": ["/files/abc", "files:abc:read", ...registered("/files", { end: false })],
      "of a RegExp": ["/files/abc", "files:abc:read", ...registered("/files/...", { pathAsRegExp: true })],
    }),
  )("requires the rule for the route %s", async (_name, [path, scope, ...parts]) => {
    // Twice: the first request of a process must not be decided in another way.
    const port = await serve(koaListener(application(...parts)));
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
    const port = await serve(koaListener(application(guard(rules), router)));
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
    const app = application(build(new Router(), guard({ "GET /open": "public" }) as never));
    const faults = faultsOf(app);
    expect(await statusOf(app, path, [])).toBe(500);
    expect(faults).toEqual([
      "protect must not be used inside a @koa/router, which may skip its middleware for a route: write app.use(protect(server)) before the router.",
    ]);
  });

  it("fails at a route of koa-router before 7.2, which assigns no router", async () => {
    const router = asVersion(answering("/open"), (context, layer) =>
      Object.assign(context, { matched: [layer] }),
    );
    const app = application(guard({ "GET /open": "public" }), router);
    const faults = faultsOf(app);
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
    const rules: ScopeMappings = { "GET /y": "public", "GET /x": "public", "GET /:page": ["page:read"] };
    const app = application(passing, guard(rules), answering("/y"), answering("/:page"));
    const port = await serve(koaListener(app));
    const statuses = await Promise.all(["/y", "/x"].map((path) => statusWith(port, path)));
    expect(statuses).toEqual([200, 401]);
  });

  it("checks the routes of a router that is nested in another one after its first request", async () => {
    const inner = answering("/:page");
    const app = application(
      guard({ "GET /:page": [], "GET /api/x": [], "GET /api/:page": ["page:read"] }),
      inner,
    );
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
    const app = application(guard({ "GET /a/:id": ["a:<id>:read"], "GET /a/me": [] }), router);
    expect(await statusOf(app, "/a/12", ["a:12:read"])).toBe(status);
    // Only the rule for the route refuses this request, before the function runs.
    expect(await statusOf(app, "/a/me", ["a:12:read"])).toBe(403);
    expect(onParam.mock.calls).toEqual([["12"]]);
  });

  it("compares what a function of router.param has written with a polluted prototype", async () => {
    const router = new Router().param("id", (_id, context, next) => {
      Object.assign(context.params, { id: "13" });
      return next();
    });
    router.get("/a/:id", run);
    const app = application(guard({ "GET /a/:id": ["a:<id>:read"] }), router);
    expect(await withPollution({ param: "id" }, () => statusOf(app, "/a/12", ["a:12:read"]))).toBe(400);
  });

  it("runs a route of an earlier version of path-to-regexp whose wildcard matches no segment", async () => {
    const router = answering("/files{/*path}");
    for (const layer of router.stack) Object.assign(layer, { path: "/files/:path*" });
    const app = application(guard({ "GET /files{/*path}": ["files:read"] }), router);
    for (const path of ["/files", "/files/a/b"]) expect(await statusOf(app, path, ["files:read"])).toBe(200);
  });

  it("checks the route for the guards of two copies of the package", async () => {
    vi.resetModules();
    const other = await import("scopegate/koa");
    const rules = (scope: string) => serverFor({ "GET /x": [], "GET /:page": [scope] });
    const guards = [protect(rules("one:read")), other.protect(rules("two:read"))];
    const port = await serve(koaListener(application(...guards, answering("/:page"))));
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusWith(port, "/x", ["one:read"])).toBe(403);
      expect(await statusWith(port, "/x", ["two:read"])).toBe(403);
      expect((await askWith(port, "/x", ["one:read", "two:read"])).text).toBe("user-1");
    }
  });
});
