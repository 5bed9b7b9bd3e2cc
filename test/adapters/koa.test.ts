/** `protect` of scopegate/koa, on real servers. */
import { createServer } from "node:http";
import Router, { type RouterOptions } from "@koa/router";
import Koa3 from "koa";
import Koa2 from "koa2";
import mount from "koa-mount";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { principalOf, protect, requireScopes } from "scopegate/koa";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const serverFor = (scopeMappings: ScopeMappings) =>
  createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], scopeMappings });

async function start(app: Koa3): Promise<number> {
  app.silent = true;
  const listener = app.callback();
  const { port, close } = await listen(createServer((request, response) => void listener(request, response)));
  closing.push(close);
  return port;
}

const statusOf = async (
  app: Koa3,
  path: string,
  scopes: readonly string[],
  method = "GET",
): Promise<number> =>
  (await ask(await start(app), { path, method, token: await issuer.token({ scopes }) })).status;

const answering = (path: string, options: RouterOptions = {}) =>
  new Router(options).get(path, (context) => {
    context.body = "ran";
  });

describe.each([
  ["Koa 2", Koa2 as unknown as typeof Koa3],
  ["Koa 3", Koa3],
])("protect in %s", (_, Koa) => {
  it("checks the URL that an earlier middleware has rewritten", async () => {
    const app = new Koa();
    app.use((context, next) => {
      context.url = context.url.replace("/public/", "/");
      return next();
    });
    app.use(protect(serverFor({ "GET /public/*path": "public", "GET /secret": ["secret:read"] })));
    app.use(answering("/secret").routes());
    expect(await statusOf(app, "/public/secret", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/public/secret", ["secret:read"])).toBe(200);
  });

  it("finds the rule of the whole path inside mounted applications", async () => {
    const server = serverFor({ "GET /api/v1/things/:id": ["things:<id>:read"], "GET /api/v1": ["api:read"] });
    const inner = new Koa();
    inner.use(protect(server)).use(answering("/things/:id").routes()).use(answering("/").routes());
    const app = new Koa();
    app.use(mount("/api", new Koa().use(mount("/v1", inner))));
    expect(await statusOf(app, "/api/v1/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1/things/8", ["things:7:read"])).toBe(403);
    expect(await statusOf(app, "/api/v1", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1", ["other:read"])).toBe(403);
  });

  it("answers canonical requests when protect itself is mounted in a mounted application", async () => {
    const router = answering("/admin/users").get("/teams", (context) => {
      context.body = "ran";
    });
    const server = serverFor({ "GET /api/admin/users": ["users:read"], "GET /api/teams": ["teams:read"] });
    const sub = new Koa();
    sub.use(mount("/admin", protect(server)));
    sub.use(router.routes());
    const app = new Koa();
    app.use(mount("/api", sub));
    expect(await statusOf(app, "/api/admin/users", ["users:read"])).toBe(200);
    expect(await statusOf(app, "/api/admin/users", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/api/ADMIN/users", ["users:read"])).toBe(200);
  });

  it("refuses a URL that was rewritten inside a mounted application", async () => {
    const inner = new Koa();
    inner.use((context, next) => {
      context.path = "/secret";
      return next();
    });
    inner.use(protect(serverFor({ "GET /api/public": "public" }))).use(answering("/secret").routes());
    expect(await statusOf(new Koa().use(mount("/api", inner)), "/api/public", [])).toBe(400);
  });

  it.each([
    ["/api/public", "/secret"],
    ["/api/apix", "x"],
  ])(
    "refuses %s when a middleware of a mounted application rewrites the path to %s",
    async (path, rewritten) => {
      const inner = new Koa();
      inner.use((context, next) => {
        context.path = rewritten;
        return next();
      });
      inner.use(protect(serverFor({ "GET /api/*path": "public" })));
      inner.use((context) => {
        context.body = "ran";
      });
      expect(await statusOf(new Koa().use(mount("/api", inner)), path, [])).toBe(400);
    },
  );

  it("requires the rule of a method that a middleware has written in lower case", async () => {
    const app = new Koa();
    app.use((context, next) => {
      context.method = context.method.toLowerCase();
      return next();
    });
    app.use(protect(serverFor({ "* /x": [], "DELETE /x": ["x:delete"] })));
    app.use((context) => {
      context.body = context.method;
    });
    expect(await statusOf(app, "/x", [], "DELETE")).toBe(403);
    expect(await statusOf(app, "/x", ["x:delete"], "DELETE")).toBe(200);
  });

  it.each(["/api", "/api/"])(
    "reads the whole path behind a mount at %s that passes the request on",
    async (prefix) => {
      const app = new Koa();
      const passing = new Koa().use((_context, next) => next());
      app.use(mount(prefix, passing));
      app.use(protect(serverFor({ "GET /api/things/:id": ["things:<id>:read"] })));
      app.use(answering("/api/things/:id").routes());
      expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
      expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
    },
  );

  it("reads the whole path below a mount that is written with a trailing slash", async () => {
    const inner = new Koa();
    inner.use(protect(serverFor({ "GET /api/things/:id": ["things:<id>:read"] })));
    inner.use((context) => {
      context.body = "ran";
    });
    const app = new Koa().use(mount("/api/", inner));
    expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
  });

  it("refuses a URL that was rewritten in front of a mounted application", async () => {
    const inner = new Koa();
    const policy: ScopeMappings = { "GET /public/*path": "public", "GET /admin/*path": ["admin:all"] };
    inner.use(protect(serverFor(policy))).use(answering("/users").routes());
    const app = new Koa();
    app.use((context, next) => {
      context.url = context.url.replace("/public/", "/admin/");
      return next();
    });
    app.use(mount("/admin", inner));
    expect(await statusOf(app, "/public/users", [])).toBe(400);
    expect(await statusOf(app, "/admin/users", ["admin:all"])).toBe(200);
  });

  it("checks the path that newRouterPath makes the router use", async () => {
    const app = new Koa();
    app.use((context, next) => {
      (context as unknown as { newRouterPath: string }).newRouterPath = "/secret";
      return next();
    });
    app.use(protect(serverFor({ "GET /open": "public", "GET /secret": ["secret:read"] })));
    app.use(answering("/secret").routes());
    expect(await statusOf(app, "/open", [])).toBe(403);
    expect(await statusOf(app, "/open", ["secret:read"])).toBe(200);
  });

  it("refuses a request with newRouterPath inside a mounted application", async () => {
    const inner = new Koa();
    inner.use((context, next) => {
      (context as unknown as { newRouterPath: string }).newRouterPath = "/secret";
      return next();
    });
    inner.use(protect(serverFor({ "GET /api/open": "public", "GET /secret": "public" })));
    inner.use(answering("/secret").routes());
    expect(await statusOf(new Koa().use(mount("/api", inner)), "/api/open", [])).toBe(400);
  });

  it("checks the path that the option routerPath makes a router use", async () => {
    const router = new Router();
    router.opts.routerPath = "/secret";
    router.get("/secret", (context) => {
      context.body = "ran";
    });
    const app = new Koa();
    app.use(protect(serverFor({ "GET /open": "public", "GET /secret": ["secret:read"] })));
    app.use(router.routes());
    expect(await statusOf(app, "/open", [])).toBe(403);
    expect(await statusOf(app, "/open", ["secret:read"])).toBe(200);
  });

  it("refuses a target without a path that was rewritten in front of a mounted application", async () => {
    const inner = new Koa();
    inner.use(protect(serverFor({ "GET /api/open": "public" }))).use(answering("/open").routes());
    const app = new Koa();
    app.use((context, next) => {
      context.url = "/api/open";
      return next();
    });
    app.use(mount("/api", inner));
    expect(await statusOf(app, "*", [])).toBe(400);
  });

  // Node 24 and later read the first target, because `URL` does.
  const unreadable = ["http://xn--a/open", "http://[::1/open"].filter((url) => !URL.canParse(url));

  it.each(unreadable)("refuses %s, whose authority Koa cannot read", async (target) => {
    const app = new Koa();
    app.use(protect(serverFor({ "GET /open": "public" }))).use(answering("/open").routes());
    expect(await statusOf(app, target, [])).toBe(400);
  });

  it("requires the rule of the route when a mount is stricter about letter case than a router", async () => {
    const app = new Koa();
    app.use(protect(serverFor({ "GET /Public/:id": "public", "GET /:area/:id": ["x:admin"] })));
    app.use(mount("/Public", answering("/:id").routes()));
    app.use(answering("/:area/:id").routes());
    expect(await statusOf(app, "/public/users", [])).toBe(403);
    expect(await statusOf(app, "/Public/users", [])).toBe(200);
  });

  it.each([
    [{}, "/agents/me", [], 200],
    [{}, "/agents/ME", [], 403],
    [{}, "/agents/ME", ["agents:read"], 200],
    [{}, "/agents/web/", ["agents:api:read"], 403],
    [{}, "/agents/web/", ["agents:web:read"], 200],
    [{ sensitive: true, strict: true }, "/agents/ME", [], 403],
    [{ sensitive: true, strict: true }, "/agents/ME", ["agents:read"], 200],
    [{ sensitive: true, strict: true }, "/agents/me/", ["agents:read"], 404],
  ])(
    "requires every rule that a router may apply, with the router options %j: %s with %j answers %i",
    async (options, path, scopes, status) => {
      const app = new Koa();
      app.use(protect(serverFor({ "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] })));
      app.use(answering("/agents/me", options).routes());
      app.use(answering("/agents/:id", options).routes());
      expect(await statusOf(app, path, scopes)).toBe(status);
    },
  );

  it("refuses a path with another spelling at a pass-through route that no rule covers", async () => {
    const app = new Koa();
    const router = answering("/agents/:id");
    app.use(protect(serverFor({ "GET /agents/:id": ["agents:<id>:read"] })));
    app.use(new Router().all("/{*path}", (_context, next) => next()).routes()).use(router.routes());
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
    router.use(async (context, next) => {
      context.method = context.get("x-method") || context.method;
      context.url = context.get("x-url") || context.url;
      await next();
    });
    const run = (context: { body: unknown }) => {
      context.body = "ran";
    };
    router.delete("/x", run).get("/secret", run).get("/open", run);
    const app = new Koa();
    app.use(protect(serverFor(rules))).use(router.routes());
    const port = await start(app);
    const token = await issuer.token({ scopes: ["x:delete", "secret:read"] });
    const statusWith = async (method: string, path: string, headers: readonly [string, string][]) =>
      (await ask(port, { method, path, headers, token })).status;
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusWith("GET", "/secret", [["x-url", "/open"]])).toBe(400);
      expect(await statusWith("GET", "/secret", [])).toBe(200);
      expect(await statusWith("DELETE", "/x", [["x-method", "POST"]])).toBe(400);
      expect(await statusWith("DELETE", "/x", [])).toBe(200);
    }
  });

  it.each<[string, string, (router: Router, guard: ReturnType<typeof protect>) => Router]>([
    [
      "as its middleware",
      "/open",
      (router, guard) => router.use(guard as never).use(answering("/open").routes()),
    ],
    [
      "in front of its route",
      "/open",
      (router, guard) => router.get("/open", guard as never, () => undefined),
    ],
    [
      "behind another middleware",
      "/open",
      (router, guard) => router.use((_context, next) => next(), guard as never).get("/open", () => undefined),
    ],
    [
      "behind a prefix",
      "/api/open",
      (router, guard) =>
        router
          .prefix("/api")
          .use(guard as never)
          .get("/open", () => undefined),
    ],
    [
      "in a nested router",
      "/open",
      (router, guard) =>
        router.use(
          new Router()
            .use(guard as never)
            .get("/open", () => undefined)
            .routes(),
        ),
    ],
  ])("throws inside a @koa/router, %s", async (_place, path, build) => {
    const app = new Koa();
    const faults: unknown[] = [];
    app.on("error", (fault: Error) => faults.push(fault.message));
    app.use(build(new Router(), protect(serverFor({ "GET /open": "public" }))).routes());
    expect(await statusOf(app, path, [])).toBe(500);
    expect(faults).toEqual([
      "protect must not be used inside a @koa/router, which may skip its middleware for a route: write app.use(protect(server)) in front of the router.",
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
      "protect cannot check the routes of this router: install @koa/router, or koa-router 7.2 or later.",
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
    app.use(new Router().get("/x", (_context, next) => next()).routes());
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
    const port = await start(app);
    const answers = await Promise.all(["/y", "/x"].map((path) => ask(port, { path })));
    expect(answers.map(({ status }) => status)).toEqual([200, 401]);
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
      router.register(
        path,
        ["GET"],
        (context) => {
          context.body = "ran";
        },
        options,
      );
      const app = new Koa();
      app.use(protect(serverFor({ "GET /files/:id": ["files:<id>:read"] }))).use(router.routes());
      expect(await statusOf(app, "/files/abc", ["files:abc:read"])).toBe(200);
      expect(await statusOf(app, "/files/abc", ["files:other:read"])).toBe(403);
    },
  );

  it("requires the rule of a route behind a mount with characters of the pattern syntax", async () => {
    const app = new Koa();
    app.use(protect(serverFor({ "GET /a\\(b\\)/x": [], "GET /a\\(b\\)/:page": ["page:read"] })));
    app.use(mount("/a(b)", answering("/:page").routes()));
    expect(await statusOf(app, "/a(b)/x", [])).toBe(403);
    expect(await statusOf(app, "/a(b)/x", ["page:read"])).toBe(200);
  });

  it("fails a request at requireScopes without protect", async () => {
    const app = new Koa();
    let fault: unknown;
    app.use(async (context, next) => {
      await next().catch((error: unknown) => {
        fault = error;
        context.status = 500;
      });
    });
    const router = new Router();
    router.get("/agents", requireScopes("agents:read"), (context) => {
      context.body = "ran";
    });
    app.use(router.routes());
    expect(await statusOf(app, "/agents", ["agents:read"])).toBe(500);
    expect(String(fault)).toContain("requireScopes needs protect(server) of the same adapter in front of it");
  });

  it("checks the scopes of requireScopes with the parameters of the route", async () => {
    const router = new Router();
    router.get("/agents/:agent", requireScopes("logs:<agent>:read"), (context) => {
      context.body = "ran";
    });
    const app = new Koa();
    app.use(protect(serverFor({ "GET /agents/:id": [] }))).use(router.routes());
    expect(await statusOf(app, "/agents/web", ["logs:web:read"])).toBe(200);
    expect(await statusOf(app, "/agents/web", ["logs:api:read"])).toBe(403);
  });

  it("continues to the handler in the same tick when the token is remembered", async () => {
    const app = new Koa();
    const order: string[] = [];
    app.use((_context, next) => {
      order.length = 0;
      const result = next();
      order.push("after next()");
      return result;
    });
    app.use(protect(serverFor({ "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] })));
    app.use(
      new Router()
        .get("/agents/:id", (context) => {
          order.push("handler");
          context.body = principalOf(context)?.userId;
        })
        .routes(),
    );
    const port = await start(app);
    const token = await issuer.token({ scopes: ["agents:read"] });
    await ask(port, { path: "/agents/me", token });
    expect(order).toEqual(["after next()", "handler"]);
    await ask(port, { path: "/agents/me", token });
    expect(order).toEqual(["handler", "after next()"]);
  });
});
