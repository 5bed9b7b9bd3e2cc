/** Credentials in odd places and forms, and headers that must not change a decision. */
import { createRequire } from "node:module";
import express from "express";
import { Hono } from "hono";
import { cache } from "hono/cache";
import { expect, onTestFinished, vi } from "vitest";
import * as forExpress from "scopegate/express";
import * as forHono from "scopegate/hono";
import { serve } from "../../support/frameworks.ts";
import { ask, type Asked } from "../../support/http.ts";
import { issuer } from "../../support/resource-servers.ts";
import { itPrevents } from "./prevents.ts";
import { createGuarded, openFetch } from "./support.ts";

/** Older versions, with the types of the current ones, so that both can be built by the same code. */
const require = createRequire(import.meta.url);
const { Hono: OldHono } = require("hono48") as { readonly Hono: typeof Hono };
const { cache: oldCache } = require("hono48/cache") as { readonly cache: typeof cache };

itPrevents("CVE-2024-22206", async () => {
  const app = express();
  const write: express.RequestHandler = (request, _response, next) => {
    Object.assign(request, {
      auth: { userId: "root", sub: "root" },
      user: { id: "root" },
      principal: { userId: "root" },
    });
    next();
  };
  app.use(write, forExpress.protect(createGuarded({ "GET /me": [], "GET /news": "optional" })), write);
  app.get(["/me", "/news"], (request, response) => {
    response.json({ caller: forExpress.principalOf(request)?.userId ?? "nobody" });
  });
  const port = await serve(app);
  expect((await ask(port, { path: "/me" })).status).toBe(401);
  expect((await ask(port, { path: "/news" })).body).toEqual({ caller: "nobody" });
  const token = await issuer.token({ sub: "alice" });
  expect((await ask(port, { path: "/me", token })).body).toEqual({ caller: "alice" });
});

itPrevents("GHSA-8j4g-w8fx-2239", async () => {
  const ran: string[] = [];
  const app = new Hono();
  app.use(forHono.protect(createGuarded({ "GET /admin": ["admin:read"], "OPTIONS /admin": ["admin:read"] })));
  app.all("/admin", (context) => context.text(String(ran.push("admin"))));
  const port = await openFetch(app.fetch);
  const preflight: Asked["headers"] = [
    ["origin", "https://evil.example"],
    ["access-control-request-method", "GET"],
    ["access-control-request-headers", " ,".repeat(5_000)],
  ];
  const { status, headers } = await ask(port, { method: "OPTIONS", path: "/admin", headers: preflight });
  expect(status).toBe(401);
  expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
  expect(ran).toEqual([]);
});

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
  onTestFinished(() => void vi.unstubAllGlobals());
}

itPrevents("CVE-2026-44457", async () => {
  const open = async (Version: typeof Hono, createCache: typeof cache, place: "before" | "after") => {
    stubCaches();
    const app = new Version();
    const caching = createCache({ cacheName: "x", cacheControl: "max-age=60", wait: true });
    if (place === "before") app.use(caching);
    app.use(forHono.protect(createGuarded({ "GET /me": [] })));
    if (place === "after") app.use(caching);
    app.get("/me", (context) => context.json({ caller: forHono.principalOf(context)?.userId }));
    return openFetch(app.fetch);
  };
  const token = await issuer.token({ sub: "alice" });
  const withCookie: Asked = { path: "/me", headers: [["cookie", `token=${token}`]] };
  for (const [Version, createCache] of [[OldHono, oldCache] as const, [Hono, cache] as const]) {
    const after = await open(Version, createCache, "after");
    expect((await ask(after, withCookie)).status).toBe(200);
    expect((await ask(after, { path: "/me" })).status).toBe(401);
    const before = await open(Version, createCache, "before");
    expect((await ask(before, withCookie)).status).toBe(200);
    expect(await ask(before, { path: "/me" })).toMatchObject({ status: 200, body: { caller: "alice" } });
  }
});
