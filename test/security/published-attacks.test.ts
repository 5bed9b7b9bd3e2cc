/** Attacks that were published for other packages, against the versions that they were published for. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type Router from "@koa/router";
import type { RouterMiddleware } from "@koa/router";
import { H3 } from "h3";
import { Hono } from "hono";
import { cache } from "hono/cache";
import { Hono as Hono48 } from "hono48";
import { createProxyMiddleware } from "http-proxy-middleware";
import express from "express";
import Koa, { type Middleware } from "koa";
import { Server } from "socket.io";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { ScopeMappings } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forSocketIo from "scopegate/socketio";
import { RawClient } from "../routing/raw-client.ts";
import { koaListener, serve, serverFor, statusWith } from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";
import { ask, listen } from "../support/http.ts";
import { issuer } from "../support/resource-servers.ts";

/** With the types of the current version, so that both can be built by the same code. */
const require = createRequire(import.meta.url);
const { Hono: OldHono } = require("hono48") as { readonly Hono: typeof Hono };
const { cache: oldCache } = require("hono48/cache") as { readonly cache: typeof cache };
const Router14 = require("@koa/router14") as typeof Router;

afterEach(() => void vi.unstubAllGlobals());

const createGuarded = (scopeMappings: ScopeMappings) =>
  serverFor(scopeMappings, { tokenSources: [{ header: "authorization" }, { cookie: "token" }] });

const openFetch = (fetch: (request: Request) => Response | Promise<Response>): Promise<number> =>
  serve(listenerOf(fetch));

/** Sends each target as it is written, and returns the targets for which `ran` contains an entry. */
async function findReached(port: number, targets: readonly string[], ran: string[], host = "h") {
  const client = new RawClient(port);
  onTestFinished(() => client.close());
  const reached: string[] = [];
  for (const target of targets) {
    ran.length = 0;
    const { status } = await client.ask({ method: "GET", target, headers: [["host", host]] });
    expect(status, target).toBeLessThan(500);
    if (ran.length > 0) reached.push(target);
  }
  return reached;
}

/** Spellings of `/api/admin` that some router or proxy has read as that path. */
const ADMIN = [
  "/api/admin",
  "/api%2fadmin",
  "//api/admin",
  "/%61pi/admin",
  "/ap%69/admin",
  "/api/%61dmin",
  "/api//admin",
  "/API/admin",
  "/api/admin/",
  "/api/./admin",
  "/api/x/../admin",
  "/api/x/%2e%2e/admin",
  "/api/x/..%2fadmin",
  "/api%5cadmin",
  "/api\\admin",
  "/api/admin;x",
  "/api/admin%2fx",
  "http://h/api/admin",
  "http://a@h/api/admin",
  "http:///api/admin",
];
const ADMIN_TABLE: ScopeMappings = {
  "GET /api/admin": ["admin:read"],
  "GET /api/admin/*rest": ["admin:read"],
  "GET /{*path}": "public",
};

describe("Hono before 4.9.6, which reads the path at the wrong place", () => {
  const createApp = (ran: string[], isGuarded: boolean): Hono48 => {
    const app = new Hono48();
    if (isGuarded)
      app.use(forHono.protect(createGuarded({ "GET /admin": ["admin:read"], "GET /{*path}": "public" })));
    app.get("/admin", (context) => context.text(String(ran.push("admin"))));
    app.get("*", (context) => context.text("open"));
    return app;
  };
  const targets = ["/admin", "/x/admin", "/xx/admin", "http://ab:8/x/admin"];

  it("refuses a Host of two letters with a port, for which Hono reads another path", async () => {
    const ran: string[] = [];
    const plain = await openFetch(createApp(ran, false).fetch);
    expect(await findReached(plain, targets, ran, "ab:8")).toContain("/x/admin");
    const guarded = await openFetch(createApp(ran, true).fetch);
    for (const host of ["ab:8", "a:1", "abc:1", "h", "", "ab:"])
      expect(await findReached(guarded, targets, ran, host), host).toEqual([]);
  });
});

describe("@koa/router 14.0.0, whose routers lose middleware if the prefix has a parameter (CVE-2026-9495)", () => {
  type Handle = (name: string) => RouterMiddleware;
  const withRoutes = (router: Router, handle: Handle): Router =>
    router.get("/list", handle("list")).get("/:id", handle("id"));
  const cases: readonly (readonly [string, (handle: Handle) => Router])[] = [
    ["the option `prefix`", (handle) => withRoutes(new Router14({ prefix: "/teams/:team" }), handle)],
    ["`.prefix()`", (handle) => withRoutes(new Router14(), handle).prefix("/teams/:team")],
    [
      "a nested router",
      (handle) => new Router14({ prefix: "/teams/:team" }).use(withRoutes(new Router14(), handle).routes()),
    ],
    [
      "a nested router with middleware",
      (handle) => {
        const inner = withRoutes(new Router14({ prefix: "/:team" }), handle);
        return new Router14({ prefix: "/teams" }).use((_, next) => next()).use(inner.routes());
      },
    ],
  ];

  it.each(cases)("still requires the rule of each route, with %s", async (_, build) => {
    const ran: string[] = [];
    const server = createGuarded({
      "GET /teams/:team/list": ["list:read"],
      "GET /teams/:team/:id": ["id:read"],
      "GET /{*path}": "public",
    });
    const router = build((name) => (context) => {
      ran.push(name);
      context.body = "{}";
    });
    const app = new Koa().use(forKoa.protect(server)).use(router.routes() as Middleware);
    const port = await serve(koaListener(app));
    const call = (path: string, ...scopes: string[]) => statusWith(port, path, scopes);
    expect(await findReached(port, ["/teams/a/list", "/teams/a/7", "/TEAMS/a/list"], ran)).toEqual([]);
    expect([await call("/teams/a/list", "id:read"), await call("/teams/a/7", "list:read")]).toEqual([
      403, 403,
    ]);
    expect([await call("/teams/a/list", "list:read"), await call("/teams/a/7", "id:read")]).toEqual([
      200, 200,
    ]);
    expect(ran).toEqual(["list", "id"]);
  });
});

describe("h3, encoded slashes and letters (CVE-2026-33131)", () => {
  it("runs no handler without its rule", async () => {
    const ran: string[] = [];
    const guard = forFetch.protect(createGuarded(ADMIN_TABLE));
    const app = new H3();
    app.use(async (event, next) => {
      const access = await guard(event.req);
      return "decision" in access ? next() : access;
    });
    app.get("/api/admin", () => String(ran.push("admin")));
    app.get("/api/admin/**", () => String(ran.push("admin/**")));
    expect(await findReached(await openFetch((request) => app.fetch(request)), ADMIN, ran)).toEqual([]);
  });
});

describe("http-proxy-middleware, which passes on what its filter matches", () => {
  it("passes no spelling of a protected path on", async () => {
    const reached: string[] = [];
    const backend = await serve((request, response) => {
      reached.push(String(request.url));
      response.end();
    });
    const app = express().use(forExpress.protect(createGuarded(ADMIN_TABLE)));
    app.use(createProxyMiddleware({ pathFilter: "/api", target: `http://127.0.0.1:${backend}` }));
    const port = await serve(app);
    expect(await findReached(port, ADMIN, reached)).toEqual([]);
  });
});

describe("a response cache before protect (GHSA-p77w-8qqv-26rm)", () => {
  /** The part of the Cache API of Workers and Deno that `hono/cache` uses. */
  function stubCaches(): void {
    const responses = new Map<string, Response>();
    const urlOf = (key: string | Request) => (typeof key === "string" ? key : key.url);
    const store = {
      match: (key: string | Request) => Promise.resolve(responses.get(urlOf(key))?.clone()),
      put: (key: string | Request, response: Response) =>
        Promise.resolve(void responses.set(urlOf(key), response)),
    };
    vi.stubGlobal("caches", { open: () => Promise.resolve(store) });
  }
  const versions = [
    ["4.8.0", OldHono, oldCache],
    ["the current version", Hono, cache],
  ] as const;

  async function openCached([, Version, createCache]: (typeof versions)[number], place: "before" | "after") {
    stubCaches();
    const app = new Version();
    const caching = createCache({ cacheName: "x", cacheControl: "max-age=60", wait: true });
    if (place === "before") app.use(caching);
    app.use(forHono.protect(createGuarded({ "GET /me": [] })));
    if (place === "after") app.use(caching);
    app.get("/me", (context) => context.json({ caller: forHono.principalOf(context)?.userId }));
    return openFetch(app.fetch);
  }

  it.each(versions)(
    "hands a response to a caller without a token, as documented, in Hono %s",
    async (...version) => {
      const port = await openCached(version, "before");
      const token = await issuer.token({ sub: "alice" });
      expect((await ask(port, { path: "/me", headers: [["cookie", `token=${token}`]] })).status).toBe(200);
      expect(await ask(port, { path: "/me" })).toMatchObject({ status: 200, body: { caller: "alice" } });
    },
  );

  it.each(versions)(
    "refuses a caller without a token if the cache is after it, in Hono %s",
    async (...version) => {
      const port = await openCached(version, "after");
      const token = await issuer.token({ sub: "alice" });
      expect((await ask(port, { path: "/me", token })).status).toBe(200);
      expect((await ask(port, { path: "/me" })).status).toBe(401);
    },
  );
});

describe("Socket.IO, malformed handshakes (CVE-2022-21676, CVE-2022-2421)", () => {
  const queries = [
    "EIO=4&transport=polling",
    "EIO=4&transport=websocket",
    "EIO[]=4&transport[a]=polling",
    "EIO=4&transport=__proto__",
    "EIO=4&transport=constructor",
    "EIO=4&transport=polling&sid=__proto__",
    "EIO=99999&transport=polling",
    "EIO=4&transport=polling&%",
  ];
  const heads: readonly (readonly (readonly [string, string])[])[] = [
    [],
    [["authorization", "Bearer"]],
    [["cookie", "%%%;;;="]],
    [["sec-websocket-protocol", " ".repeat(15_000)]],
  ];

  it("keep the server alive, and connect nobody", async () => {
    const connected: unknown[] = [];
    const http = createServer();
    const io = new Server(http);
    forSocketIo.protect(createGuarded({ "GET /socket.io": ["sockets:open"] }))(io);
    io.on("connection", (socket) => connected.push(socket.id));
    const { port } = await listen(http);
    onTestFinished(() => io.close());
    for (const query of queries)
      for (const headers of heads)
        for (const method of ["GET", "POST", "OPTIONS"]) {
          const { status } = await ask(port, { method, path: `/socket.io/?${query}`, headers });
          expect([200, 101], `${method} ${query}`).not.toContain(status);
          expect(status, `${method} ${query}`).toBeLessThan(500);
        }
    expect(connected).toEqual([]);
  });
});
