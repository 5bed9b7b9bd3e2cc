import { once } from "node:events";
import { createServer } from "node:http";
import Router, { type RouterOptions } from "@koa/router";
import Koa from "koa";
import Koa2 from "koa2";
import mount from "koa-mount";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { protect, requireScopes } from "scopegate/koa";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const serverFor = (scopeMappings: ScopeMappings) =>
  createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], scopeMappings });

async function statusOf(app: Koa, path: string, scopes: readonly string[]): Promise<number> {
  app.silent = true;
  const listener = app.callback();
  const { port, close } = await listen(createServer((request, response) => void listener(request, response)));
  closing.push(close);
  return (await ask(port, { path, token: await issuer.token({ scopes }) })).status;
}

const answering = (path: string, options: RouterOptions = {}) =>
  new Router(options).get(path, (context) => {
    context.body = "ran";
  });

describe.each([
  ["Koa 2", Koa2 as unknown as typeof Koa],
  ["Koa 3", Koa],
])("%s", (_, Application) => {
  it("checks the URL that the router serves when a middleware rewrote it", async () => {
    const app = new Application();
    app.use((context, next) => {
      context.url = context.url.replace("/public/", "/");
      return next();
    });
    app.use(protect(serverFor({ "GET /public/*path": "public", "GET /secret": ["secret:read"] })));
    app.use(answering("/secret").routes());
    expect(await statusOf(app, "/public/secret", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/public/secret", ["secret:read"])).toBe(200);
  });

  it("writes the rules of mounted applications with the whole path, wherever protect stands", async () => {
    const server = serverFor({ "GET /api/v1/things/:id": ["things:<id>:read"], "GET /api/v1": ["api:read"] });
    const inner = new Application();
    inner.use(protect(server)).use(answering("/things/:id").routes()).use(answering("/").routes());
    const app = new Application();
    app.use(mount("/api", new Application().use(mount("/v1", inner))));
    expect(await statusOf(app, "/api/v1/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1/things/8", ["things:7:read"])).toBe(403);
    expect(await statusOf(app, "/api/v1", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1", ["other:read"])).toBe(403);
  });

  it("refuses a URL that was rewritten inside a mounted application", async () => {
    const inner = new Application();
    inner.use((context, next) => {
      context.path = "/secret";
      return next();
    });
    inner.use(protect(serverFor({ "GET /api/public": "public" }))).use(answering("/secret").routes());
    expect(await statusOf(new Application().use(mount("/api", inner)), "/api/public", [])).toBe(400);
  });

  it.each(["/api", "/api/"])(
    "knows the whole path behind a mount at %s that lets the request pass on",
    async (prefix) => {
      const app = new Application();
      const passing = new Application().use((_context, next) => next());
      app.use(mount(prefix, passing));
      app.use(protect(serverFor({ "GET /api/things/:id": ["things:<id>:read"] })));
      app.use(answering("/api/things/:id").routes());
      expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
      expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
    },
  );

  it("knows the whole path below a mount that is written with a trailing slash", async () => {
    const inner = new Application();
    inner.use(protect(serverFor({ "GET /api/things/:id": ["things:<id>:read"] })));
    inner.use((context) => {
      context.body = "ran";
    });
    const app = new Application().use(mount("/api/", inner));
    expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
  });

  it("refuses a URL that was rewritten in front of a mounted application", async () => {
    const inner = new Application();
    const policy: ScopeMappings = { "GET /public/*path": "public", "GET /admin/*path": ["admin:all"] };
    inner.use(protect(serverFor(policy))).use(answering("/users").routes());
    const app = new Application();
    app.use((context, next) => {
      context.url = context.url.replace("/public/", "/admin/");
      return next();
    });
    app.use(mount("/admin", inner));
    expect(await statusOf(app, "/public/users", [])).toBe(400);
    expect(await statusOf(app, "/admin/users", ["admin:all"])).toBe(200);
  });

  it("checks the path that a middleware has the router take", async () => {
    const app = new Application();
    app.use((context, next) => {
      (context as unknown as { newRouterPath: string }).newRouterPath = "/secret";
      return next();
    });
    app.use(protect(serverFor({ "GET /open": "public", "GET /secret": ["secret:read"] })));
    app.use(answering("/secret").routes());
    expect(await statusOf(app, "/open", [])).toBe(403);
    expect(await statusOf(app, "/open", ["secret:read"])).toBe(200);
  });

  it("refuses a path that a middleware has the router take inside of a mounted application", async () => {
    const inner = new Application();
    inner.use((context, next) => {
      (context as unknown as { newRouterPath: string }).newRouterPath = "/secret";
      return next();
    });
    inner.use(protect(serverFor({ "GET /api/open": "public", "GET /secret": "public" })));
    inner.use(answering("/secret").routes());
    expect(await statusOf(new Application().use(mount("/api", inner)), "/api/open", [])).toBe(400);
  });

  it("refuses a request without a path that was rewritten in front of a mounted application", async () => {
    const inner = new Application();
    inner.use(protect(serverFor({ "GET /api/open": "public" }))).use(answering("/open").routes());
    const app = new Application();
    app.use((context, next) => {
      context.url = "/api/open";
      return next();
    });
    app.use(mount("/api", inner));
    expect(await statusOf(app, "*", [])).toBe(400);
  });

  it("stands in a router as well", async () => {
    const router = new Router({ prefix: "/api" });
    router.use(protect(serverFor({ "GET /api/things/:id": ["things:<id>:read"] })));
    router.get("/things/:id", (context) => {
      context.body = "ran";
    });
    const app = new Application();
    app.use(router.routes());
    expect(await statusOf(app, "/api/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/things/8", ["things:7:read"])).toBe(403);
  });

  // Node 24 and later read the first one, as `URL` does there.
  const unreadable = ["http://xn--a/open", "http://[::1/open"].filter((url) => !URL.canParse(url));

  it.each(unreadable)("refuses %s, an authority that Koa cannot read", async (target) => {
    const app = new Application();
    app.use(protect(serverFor({ "GET /open": "public" }))).use(answering("/open").routes());
    expect(await statusOf(app, target, [])).toBe(400);
  });

  it("takes no rule for another one's path because a mount is stricter than a router", async () => {
    const app = new Application();
    app.use(protect(serverFor({ "GET /Public/*path": "public", "GET /:area/:id": ["x:admin"] })));
    app.use(mount("/Public", answering("/:id").routes()));
    app.use(answering("/:area/:id").routes());
    expect(await statusOf(app, "/public/users", [])).toBe(400);
    expect(await statusOf(app, "/Public/users", [])).toBe(200);
  });

  it.each([
    [{}, "/agents/me", 200],
    [{}, "/agents/ME", 400],
    [{}, "/agents/web/", 403],
    [{ caseSensitive: true, strict: true }, "/agents/ME", 403],
    [{ caseSensitive: true, strict: true }, "/agents/me/", 403],
    [{ router: new Router() }, "/agents/ME", 400],
    [{ router: new Router({ sensitive: true }) }, "/agents/ME", 403],
    [{ router: [new Router({ sensitive: true }), new Router()] }, "/agents/ME", 400],
    [{ router: new Router({ sensitive: true }), caseSensitive: false }, "/agents/ME", 400],
    [{ router: new Router({ strict: true }) }, "/agents/me/", 403],
    [{ router: [new Router({ strict: true }), new Router()] }, "/agents/me/", 400],
  ])("reads a path as its options say: %#, %s", async (options, path, status) => {
    const app = new Application();
    app.use(protect(serverFor({ "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] }), options));
    app.use(answering("/agents/me").routes());
    app.use(answering("/agents/:id").routes());
    expect(await statusOf(app, path, [])).toBe(status);
  });

  describe("with the guard inside of a router", () => {
    /** The routes of a router whose guard runs behind another middleware of it. */
    function startInside(ran: string[], { prefix = "" }: RouterOptions = {}, before?: Promise<unknown>): Koa {
      const router = new Router({ prefix });
      router.use(async (_context, next) => {
        await before;
        await next();
      });
      const rules = {
        [`GET ${prefix}/agents/me`]: [],
        [`GET ${prefix}/agents/:id`]: ["agents:<id>:read"],
      };
      router.use(protect(serverFor(rules)) as never);
      router.get("/agents/me", async (context, next) => {
        ran.push("me");
        context.body = "me";
        await next().catch(() => undefined);
      });
      router.get("/agents/:id", (context) => {
        ran.push("id");
        context.body = "id";
      });
      const app = new Application();
      app.use(router.routes());
      return app;
    }

    it("asks each route of the first request, whose handlers were lined up before", async () => {
      const ran: string[] = [];
      expect(await statusOf(startInside(ran), "/agents/me", [])).toBe(403);
      expect(await statusOf(startInside(ran), "/agents/web", ["agents:api:read"])).toBe(403);
      expect(ran).toEqual(["me"]);
      expect(await statusOf(startInside(ran), "/agents/me", ["agents:me:read"])).toBe(200);
      expect(ran).toEqual(["me", "me", "id"]);
    });

    it("asks each route of requests that were lined up before the guard ran for another", async () => {
      const ran: string[] = [];
      let go: (value?: unknown) => void = () => undefined;
      const app = startInside(ran, {}, new Promise((resolve) => (go = resolve)));
      const listener = app.callback();
      let arrived = 0;
      const { port, close } = await listen(
        createServer((request, response) => {
          void listener(request, response);
          arrived += 1;
          if (arrived === 3) go();
        }),
      );
      closing.push(close);
      const token = await issuer.token({ scopes: [] });
      const answers = await Promise.all([1, 2, 3].map(() => ask(port, { path: "/agents/me", token })));
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
      expect(ran).toEqual(["me", "me", "me"]);
    });

    it("asks for a request that the router passes it by with, once it was seen, and warns", async () => {
      const ran: string[] = [];
      const warned = once(process, "warning");
      const app = startInside(ran, { prefix: "/api" });
      expect(await statusOf(app, "/api/agents/web", [])).toBe(403);
      expect(await statusOf(app, "/API/agents/web", [])).toBe(403);
      expect(await statusOf(app, "/API/agents/me", [])).toBe(403);
      expect(ran).toEqual(["me"]);
      expect(String(await warned)).toContain("Write app.use(protect(server))");
    });

    it("asks a route whose own middleware it is", async () => {
      const router = new Router();
      router.get(
        "/agents/:id",
        protect(serverFor({ "GET /agents/*path": [], "GET /agents/:id": ["x:y"] })) as never,
        (context) => {
          context.body = "ran";
        },
      );
      const app = new Application();
      app.use(router.routes());
      expect(await statusOf(app, "/agents/web", [])).toBe(403);
      expect(await statusOf(app, "/agents/web", ["x:y"])).toBe(200);
    });
  });

  it("does not start with a router that is none", () => {
    const router = new Router().routes() as unknown as Router;
    expect(() => protect(serverFor({}), { router })).toThrow("write protect(server, { router })");
  });

  it("tells a program that uses requireScopes without protect, and lets nobody in", async () => {
    const app = new Application();
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
    expect(String(fault)).toContain("requireScopes needs protect(server) in front of it");
  });
});
