/** Requests for a protected path whose spelling a guard and a router have read differently. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { serveStatic } from "@hono/node-server/serve-static";
import type Router from "@koa/router";
import type { RouterMiddleware } from "@koa/router";
import { H3 } from "h3";
import { Hono } from "hono";
import { LinearRouter } from "hono/router/linear-router";
import { PatternRouter } from "hono/router/pattern-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { createProxyMiddleware } from "http-proxy-middleware";
import express from "express";
import fastify4, { type FastifyInstance } from "fastify4";
import Koa, { type Middleware } from "koa";
import { expect, onTestFinished } from "vitest";
import type { ScopeMappings } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { ScopegateModule } from "scopegate/nest";
import { guardUpgrades } from "scopegate/node";
import { temporaryFolder } from "../../support/folder.ts";
import { koaListener, serve, serveFastify, serveHttp, statusWith } from "../../support/frameworks.ts";
import { createApplication, createController, createModule, listenOn } from "../../support/nest.ts";
import { exchange, renderUpgrade } from "../../support/raw-http.ts";
import { issuer } from "../../support/resource-servers.ts";
import { itPrevents } from "./prevents.ts";
import {
  ADMIN_TABLE,
  type Application,
  type Fields,
  bearer,
  createGuarded,
  expectUnreachable,
  findReached,
  LENIENT,
  openFetch,
} from "./support.ts";

/** Older versions, with the types of the current ones, so that both can be built by the same code. */
const require = createRequire(import.meta.url);
const { Hono: OldHono } = require("hono48") as { readonly Hono: typeof Hono };
const Router14 = require("@koa/router14") as typeof Router;

/** Spellings of `/api/admin` that some router or proxy has read as that path. */
const API_ADMIN = [
  "/api/admin /api%2fadmin //api/admin /%61pi/admin /ap%69/admin /api/%61dmin /api//admin /API/admin /api/admin/",
  "/api/./admin /api/x/../admin /api/x/%2e%2e/admin /api/x/..%2fadmin /api%5cadmin /api\\admin /api/admin;x",
  "/api/admin%2fx http://h/api/admin http://a@h/api/admin http:///api/admin",
].flatMap((spellings) => spellings.split(" "));
const API_TABLE: ScopeMappings = {
  "GET /api/admin": ["admin:read"],
  "GET /api/admin/*rest": ["admin:read"],
  "GET /{*path}": "public",
};

/** A route, and spellings that reach it without `protect` in some framework. Every other path is public. */
const SPELLINGS = {
  "CVE-2026-14198": "/users/:id/secret /users/a%2Fb/secret /users/%2Fsecret/secret /users/a%252Fb/secret",
  "GHSA-crvj-82cr-hjcx": "/admin /public?x=1#/admin /admin# /admin?x=1#y /#/admin",
  "GHSA-x732-6j76-qmhm": "/admin //admin ///admin /admin//",
  "GHSA-mm7m-92g8-7m47": "/admin /ADMIN /Admin /aDMIN/",
  "CVE-2025-64765": `/admin /%61dmin /%2561dmin /%252561dmin /%${"25".repeat(10)}61dmin`,
  "CVE-2026-44373": "/admin /public/..%2fadmin /public/%2e%2e%2fadmin /public/..%2Fadmin /public/..%5cadmin",
  "CVE-2022-22978": "/admin/:id /admin/%0a /admin/x%0a /admin/%0d",
  "CVE-2023-4853": "/admin //admin /admin// ///admin",
  "CVE-2019-9901": "/admin /public/../admin /./admin /public/%2e%2e/admin /admin/../admin",
  "CVE-2021-29492": "/admin /public%2f..%2fadmin /public/..%2Fadmin /%2fadmin /%5cadmin",
  "CVE-2021-32779": "/admin /admin# /admin#x /public#/../admin",
  "CVE-2024-38827": "/kiosk /kios%E2%84%AA /%E2%84%AAiosk /kio%C5%BFk",
  "CVE-2025-54576": "/admin /admin?/public /admin?x=/public /admin?#/public /admin??/public",
  "CVE-2024-51479": "/:page /x?__nextLocale=/ /x?__nextDefaultLocale=x&__nextLocale=%2F /x/?x=/ /en",
  "CVE-2022-32532": "/admin/:id /admin/%0aany /admin/any%0A /admin/a%0ab",
  "CVE-2023-34478": "/admin /admin;/.. /public/..;/../admin /;/../admin /admin;x",
  "CVE-2026-40912":
    "/api/admin/:page /api%2e/../api/admin/x /api/./admin/x /api/%2e/admin/x /%2e/api/admin/x",
};

for (const [id, spellings] of Object.entries(SPELLINGS))
  itPrevents(id, async () => {
    const [route = "", ...targets] = spellings.split(" ");
    const table: ScopeMappings = { [`GET ${route}`]: ["admin:read"], "GET /{*path}": "public" };
    expect(await expectUnreachable({ targets, routes: [route], table })).not.toEqual([]);
  });

itPrevents("CVE-2026-41248", async () => {
  const table: ScopeMappings = { "GET /admin": ["admin:read"], "GET /docs": "public" };
  const targets = ["/forgotten", "/forgotten/", "/FORGOTTEN", "/%66orgotten", "//forgotten"];
  expect(await expectUnreachable({ routes: ["/admin", "/forgotten"], table, targets })).toContain(
    "Express 5 /forgotten",
  );
});

/** Plugins of Fastify 4 that run middleware, in versions with the vulnerability. */
const PLUGINS = {
  middie: require("@fastify/middie8") as Parameters<FastifyInstance["register"]>[0],
  express: require("@fastify/express3") as Parameters<FastifyInstance["register"]>[0],
};

interface WithUse {
  use(path: string | readonly string[], handler: (...values: never[]) => void): void;
}
interface MiddlewareAttack {
  readonly plugin: keyof typeof PLUGINS;
  readonly targets: readonly string[];
  readonly options?: object;
  /** The prefix of the plugin in which the route and the middleware are registered. */
  readonly prefix?: string;
}

/** An application of Fastify 4 with `GET /admin`, which middleware on `/admin` protects, or `protect` instead. */
async function openWithPlugin(
  { plugin, options = {}, prefix = "" }: MiddlewareAttack,
  protection: "middleware" | "scopegate",
): Promise<Application> {
  const ran: string[] = [];
  const app = fastify4(options);
  if (protection === "scopegate") {
    const server = createGuarded({ [`GET ${prefix}/admin`]: ["admin:read"], "GET /{*path}": "public" });
    await app.register(forFastify.protect(server));
  }
  const addRoutes = async (instance: FastifyInstance): Promise<void> => {
    await instance.register(PLUGINS[plugin]);
    if (protection === "middleware") {
      const deny = (_request: never, response: { statusCode: number; end(): void }): void => {
        response.statusCode = 401;
        response.end();
      };
      (instance as unknown as WithUse).use(["/admin"], deny);
    }
    instance.get("/admin", () => String(ran.push("admin")));
  };
  await app.register(addRoutes, { prefix });
  return { port: await serveFastify(app), ran };
}

async function expectScopegateRefuses(attack: MiddlewareAttack): Promise<void> {
  const guarded = await openWithPlugin(attack, "scopegate");
  expect(await findReached(guarded, attack.targets)).toEqual([]);
  const canonical = [`${attack.prefix ?? ""}/admin`];
  expect(await findReached(guarded, canonical, await bearer("admin:read"))).toEqual(canonical);
}

/** Expects that each target skips the middleware, and that none passes `protect`. */
async function expectOnlyMiddlewareSkipped(attack: MiddlewareAttack): Promise<void> {
  expect(await findReached(await openWithPlugin(attack, "middleware"), attack.targets)).toEqual(
    attack.targets,
  );
  await expectScopegateRefuses(attack);
}

itPrevents("CVE-2026-22031", () =>
  expectOnlyMiddlewareSkipped({ plugin: "middie", targets: ["/%61dmin", "/a%64min"] }),
);

itPrevents("CVE-2026-2880", () =>
  expectOnlyMiddlewareSkipped({
    plugin: "middie",
    targets: ["//admin", "/admin;x"],
    options: { ignoreDuplicateSlashes: true, useSemicolonDelimiter: true, ignoreTrailingSlash: true },
  }),
);

itPrevents("CVE-2026-22037", () =>
  expectOnlyMiddlewareSkipped({ plugin: "express", targets: ["/%61dmin", "/admi%6e"] }),
);

itPrevents("CVE-2026-33808", () =>
  expectOnlyMiddlewareSkipped({ plugin: "express", targets: ["//admin", "/admin;x"], options: LENIENT }),
);

// The versions before and after the affected one run the middleware.
itPrevents("CVE-2026-33807", () =>
  expectScopegateRefuses({
    plugin: "express",
    targets: ["/admin/admin", "/admin/%61dmin"],
    prefix: "/admin",
  }),
);

itPrevents("CVE-2026-6556", () =>
  expectOnlyMiddlewareSkipped({ plugin: "express", targets: ["/team/admin"], prefix: "/team" }),
);

/** A controller of NestJS on Fastify with `GET /admin`. */
async function openNest(options: object = {}): Promise<Application> {
  const ran: string[] = [];
  const route = {
    method: "GET",
    path: "/admin",
    handle: (_request: unknown, response: { send(body: string): unknown }) => {
      ran.push("admin");
      response.send("{}");
    },
  };
  const root = createModule({
    imports: [ScopegateModule.forRoot(createGuarded(ADMIN_TABLE))],
    controllers: [createController("Fastify", [route])],
  });
  const app = await createApplication("Fastify", root, {}, options);
  const { port, close } = await listenOn(app);
  onTestFinished(close);
  return { port, ran };
}

itPrevents("CVE-2025-69211", async () => {
  const app = await openNest();
  expect(await findReached(app, ["/admin", "/%61dmin", "/%2561dmin"])).toEqual([]);
  expect(await findReached(app, ["/%61dmin"], await bearer("admin:read"))).toEqual(["/%61dmin"]);
});

itPrevents("CVE-2026-2293", async () => {
  const app = await openNest({ routerOptions: LENIENT });
  expect(await findReached(app, ["//admin", "/ADMIN", "/admin;x", "/admin//"])).toEqual([]);
  expect(await findReached(app, ["/admin", "/ADMIN"], await bearer("admin:read"))).toEqual([
    "/admin",
    "/ADMIN",
  ]);
});

itPrevents("CVE-2026-54281", async () => {
  for (const options of [{}, { routerOptions: { ignoreTrailingSlash: true } }])
    expect(await findReached(await openNest(options), ["/admin", "/admin/"])).toEqual([]);
});

itPrevents("CVE-2026-33011", async () => {
  const { port, ran } = await openNest();
  const head = (scopes?: readonly string[]) => statusWith(port, "/admin", scopes, { method: "HEAD" });
  expect([await head(), await head(["other:read"])]).toEqual([401, 403]);
  expect(ran).toEqual([]);
  expect(await head(["admin:read"])).toBe(200);
});

itPrevents("CVE-2025-58362", async () => {
  const open = async (isGuarded: boolean): Promise<Application> => {
    const ran: string[] = [];
    const app = new OldHono();
    if (isGuarded) app.use(forHono.protect(createGuarded(ADMIN_TABLE)));
    app.get("/admin", (context) => context.text(String(ran.push("admin"))));
    app.get("*", (context) => context.text("open"));
    return { port: await openFetch(app.fetch), ran };
  };
  const targets = ["/admin", "/x/admin", "/xx/admin", "http://ab:8/x/admin"];
  expect(await findReached(await open(false), targets, [["host", "ab:8"]])).toContain("/x/admin");
  const guarded = await open(true);
  for (const host of ["ab:8", "a:1", "abc:1", "h", "", "ab:"])
    expect(await findReached(guarded, targets, [["host", host]]), host).toEqual([]);
});

itPrevents("CVE-2026-47676", async () => {
  for (const Version of [Hono, OldHono]) {
    const ran: string[] = [];
    const inner = new Hono().all("*", (context) => context.text(String(ran.push(context.req.path))));
    const app = new Version();
    app.use(forHono.protect(createGuarded(API_TABLE)));
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- The vulnerability is in this method.
    app.mount("/api", inner.fetch);
    const served = { port: await openFetch(app.fetch), ran };
    expect(await findReached(served, ["/api/admin", "/%61pi/admin", "/ap%69/admin"])).toEqual([]);
    expect(await findReached(served, ["/%E2%82%AC/api/admin", "/api/%61dmin"])).toEqual([]);
    expect(await findReached(served, ["/api/admin"], await bearer("admin:read"))).toEqual(["/api/admin"]);
  }
});

itPrevents("CVE-2023-50710", async () => {
  const routers = [
    new TrieRouter(),
    new RegExpRouter(),
    new LinearRouter(),
    new PatternRouter(),
    new SmartRouter({ routers: [new RegExpRouter(), new TrieRouter()] }),
  ];
  for (const router of routers) {
    const app = new Hono({ router: router as never });
    app.use(forHono.protect(createGuarded({ "GET /agents/:agent_id": ["agents:<agent_id>:read"] })));
    app.get("/agents/:agent_id", (context) => context.text(context.req.param("agent_id")));
    const port = await openFetch(app.fetch);
    const read = async (id: string) => statusWith(port, `/agents/${id}`, ["agents:mine:read"]);
    expect(await Promise.all([read("mine"), read("theirs"), read("mine")]), router.name).toEqual([
      200, 403, 200,
    ]);
  }
});

/** Hono serves a folder that contains `admin/secret.txt`, behind `protect`. */
async function openStatic(): Promise<Application> {
  const root = temporaryFolder("static");
  mkdirSync(join(root, "admin"));
  writeFileSync(join(root, "admin", "secret.txt"), "secret");
  writeFileSync(join(root, "admin\\secret.txt"), "secret");
  const ran: string[] = [];
  const app = new Hono();
  app.use(forHono.protect(createGuarded(ADMIN_TABLE)));
  app.use("*", serveStatic({ root, onFound: (path) => void ran.push(path) }));
  return { port: await openFetch(app.fetch), ran };
}

/** Expects that no spelling returns the file, and that its path needs `admin:read`. */
async function expectFileRefused(targets: readonly string[]): Promise<void> {
  const guarded = await openStatic();
  expect(await findReached(guarded, targets)).toEqual([]);
  for (const path of targets) expect(await statusWith(guarded.port, path, ["other:read"]), path).toBe(400);
  const canonical = ["/admin/secret.txt"];
  expect(await findReached(guarded, canonical)).toEqual([]);
  expect(await findReached(guarded, canonical, await bearer("admin:read"))).toEqual(canonical);
}

itPrevents("CVE-2026-29087", () => expectFileRefused(["/admin%2Fsecret.txt", "/admin%2fsecret.txt"]));

itPrevents("CVE-2026-39406", () => expectFileRefused(["//admin/secret.txt", "/admin//secret.txt"]));

itPrevents("GHSA-frvp-7c67-39w9", () =>
  expectFileRefused(["/admin%5Csecret.txt", "/admin%5csecret.txt", "/x%5c..%5cadmin%5csecret.txt"]),
);

type Handle = (name: string) => RouterMiddleware;
const withRoutes = (router: Router, handle: Handle): Router =>
  router.get("/list", handle("list")).get("/:id", handle("id"));
/** Ways to give a router a prefix with a parameter. */
const PREFIXED: Readonly<Record<string, (handle: Handle) => Router>> = {
  "the option `prefix`": (handle) => withRoutes(new Router14({ prefix: "/teams/:team" }), handle),
  "`.prefix()`": (handle) => withRoutes(new Router14(), handle).prefix("/teams/:team"),
  "a nested router": (handle) =>
    new Router14({ prefix: "/teams/:team" }).use(withRoutes(new Router14(), handle).routes()),
  "a nested router with middleware": (handle) => {
    const inner = withRoutes(new Router14({ prefix: "/:team" }), handle);
    return new Router14({ prefix: "/teams" }).use((_, next) => next()).use(inner.routes());
  },
};

itPrevents("CVE-2026-9495", async () => {
  for (const [name, build] of Object.entries(PREFIXED)) {
    const ran: string[] = [];
    const server = createGuarded({
      "GET /teams/:team/list": ["list:read"],
      "GET /teams/:team/:id": ["id:read"],
      "GET /{*path}": "public",
    });
    const router = build((handler) => (context) => {
      ran.push(handler);
      context.body = "{}";
    });
    const app = new Koa().use(forKoa.protect(server)).use(router.routes() as Middleware);
    const port = await serve(koaListener(app));
    const call = (path: string, ...scopes: string[]) => statusWith(port, path, scopes);
    const targets = ["/teams/a/list", "/teams/a/7", "/TEAMS/a/list"];
    expect(await findReached({ port, ran }, targets), name).toEqual([]);
    expect([await call("/teams/a/list", "id:read"), await call("/teams/a/7", "list:read")]).toEqual([
      403, 403,
    ]);
    expect([await call("/teams/a/list", "list:read"), await call("/teams/a/7", "id:read")]).toEqual([
      200, 200,
    ]);
    expect(ran).toEqual(["list", "id"]);
  }
});

/** An application of h3 with routes below `/api`. */
async function openH3(): Promise<Application> {
  const ran: string[] = [];
  const guard = forFetch.protect(createGuarded(API_TABLE));
  const app = new H3();
  // In versions with the vulnerability, reading the URL was enough.
  app.use((event, next) => {
    expect(event.url.pathname).toContain("/");
    return next();
  });
  app.use(async (event, next) => {
    const access = await guard(event.req);
    return "decision" in access ? next() : access;
  });
  app.get("/api/admin", () => String(ran.push("admin")));
  app.get("/api/admin/**", () => String(ran.push("admin/**")));
  app.get("/files/**", () => "file");
  return { port: await openFetch((request) => app.fetch(request)), ran };
}

itPrevents("CVE-2026-33131", async () => {
  const app = await openH3();
  for (const host of ["h", "h/x?", "h/open?", "h/api/admin?", "h/api/admin#"])
    expect(await findReached(app, API_ADMIN, [["host", host]]), host).toEqual([]);
  expect(await findReached(app, ["/api/admin"], await bearer("admin:read"))).toEqual(["/api/admin"]);
});

itPrevents("GHSA-72gr-qfp7-vwhw", async () => {
  const app = await openH3();
  const targets = [
    "/files/%2e%2e/api/admin",
    "/files/%252e%252e/api/admin",
    "/files/%252e%252e%252fapi/admin",
  ];
  expect(await findReached(app, targets)).toEqual([]);
  expect(await findReached(app, targets, await bearer("other:read"))).toEqual([]);
});

itPrevents("CVE-2021-21322", async () => {
  const ran: string[] = [];
  const backend = await serve((request, response) => {
    ran.push(String(request.url));
    response.end();
  });
  const app = express().use(forExpress.protect(createGuarded(API_TABLE)));
  app.use(createProxyMiddleware({ pathFilter: "/api", target: `http://127.0.0.1:${backend}` }));
  const proxy = { port: await serve(app), ran };
  const targets = [...API_ADMIN, "/api/public/../admin", "/api/public/..%2fadmin", "/api/%2e%2e/api/admin"];
  expect(await findReached(proxy, targets)).toEqual([]);
  expect(await findReached(proxy, ["/api/admin"], await bearer("admin:read"))).toEqual(["/api/admin"]);
});

itPrevents("GHSA-c4j6-fc7j-m34r", async () => {
  const http = createServer();
  const upgraded: string[] = [];
  guardUpgrades(http, createGuarded({ "GET /events": ["events:read"] }));
  http.on("upgrade", (request, socket) => {
    upgraded.push(String(request.url));
    socket.end();
  });
  const port = await serveHttp(http);
  const token = await issuer.token({ scopes: ["events:read"] });
  const statusOf = async (target: string, fields: Fields = []): Promise<string> =>
    (await exchange(port, renderUpgrade(target, fields))).slice(9, 12);
  expect(await statusOf("http://169.254.169.254/events")).toBe("401");
  expect(await statusOf("http://169.254.169.254/latest", [["Authorization", `Bearer ${token}`]])).toBe("403");
  expect(await statusOf("http:///events", [["Authorization", `Bearer ${token}`]])).toBe("400");
  expect(upgraded).toEqual([]);
});
