/** Credentials in odd places and forms, and headers that must not change a decision. */
import { createRequire } from "node:module";
import express from "express";
import { Hono } from "hono";
import { cache } from "hono/cache";
import { expect, onTestFinished, vi } from "vitest";
import * as forExpress from "scopegate/express";
import * as forHono from "scopegate/hono";
import { RawClient } from "../../routing/raw-client.ts";
import { serve, serverFor } from "../../support/frameworks.ts";
import { closeAll } from "../../support/hosts.ts";
import { ask, type Asked } from "../../support/http.ts";
import { createServer, issuer, mistakesOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { sentBy } from "../proofs/forge.ts";
import { createService, HOST_NAMES, OPENERS, sendTo } from "../proofs/service.ts";
import { itPrevents } from "./prevents.ts";
import { createGuarded, expectUnreachable, type Fields, openFetch } from "./support.ts";

/** Older versions, with the types of the current ones, so that both can be built by the same code. */
const require = createRequire(import.meta.url);
const { Hono: OldHono } = require("hono48") as { readonly Hono: typeof Hono };
const { cache: oldCache } = require("hono48/cache") as { readonly cache: typeof cache };

/** Serves `GET /admin`, which needs `admin:read`, and returns the status of requests with these header fields. */
async function openAdmin(): Promise<(fields: Fields) => Promise<number>> {
  const app = express().use(forExpress.protect(createGuarded({ "GET /admin": ["admin:read"] })));
  app.get("/admin", (_request, response) => void response.json("admin"));
  const client = new RawClient(await serve(app));
  onTestFinished(() => client.close());
  return async (fields) => {
    const { status } = await client.ask({
      method: "GET",
      target: "/admin",
      headers: [["host", "h"], ...fields],
    });
    return status;
  };
}

itPrevents("CVE-2026-47673", async () => {
  const statusFor = await openAdmin();
  const token = await issuer.token({ scopes: ["admin:read"] });
  const send = (scheme: string) => statusFor([["authorization", `${scheme}${token}`]]);
  for (const scheme of [
    "Basic ",
    "Token ",
    "JWT ",
    "DPoP ",
    "Bearer\t",
    "Bearer,",
    "Bearer:",
    "Bearer Bearer ",
    "",
  ])
    expect([400, 401], scheme).toContain(await send(scheme));
  expect([await send("Bearer "), await send("bearer ")]).toEqual([200, 200]);
});

itPrevents("GHSA-xmf8-cvqr-rfgj", async () => {
  const statusFor = await openAdmin();
  const malformed = [
    "Bearer",
    "Bearer ",
    "Bearer  ",
    "bearer%",
    "Bearer %",
    "Bearer %E0%A4%A",
    "Bearer \u00ff",
    "",
  ];
  const odd = [
    "Bearer .",
    "Bearer ..",
    "Bearer a.b.c",
    "Bearer {}",
    'Bearer "a"',
    "Bearer =",
    "Bearer a,b",
    ",",
    "=",
  ];
  for (const value of [...malformed, ...odd, "Bearer ".repeat(100), "a".repeat(7_000)])
    expect([400, 401], value.slice(0, 20)).toContain(await statusFor([["authorization", value]]));
  expect(
    await statusFor([["authorization", `Bearer ${await issuer.token({ scopes: ["admin:read"] })}`]]),
  ).toBe(200);
});

itPrevents("GHSA-8fpg-xm3f-6cx3", async () => {
  const mistakes: readonly object[] = [
    { verificationKeys: ["not a key"] },
    { serviceId: "" },
    { algorithm: "HS257" },
    { scopeMappings: { "GET /admin": undefined } },
    { issuer: 5 },
  ];
  for (const options of mistakes)
    expect(
      mistakesOf(() => createServer(options)),
      JSON.stringify(options),
    ).not.toEqual([]);
  const failing: readonly Partial<ResourceServerOptions>[] = [
    { keys: { jwksUri: "https://issuer.example/jwks", fetch: () => Promise.reject(new Error("down")) } },
    { isRevoked: () => Promise.reject(new Error("down")) },
    { isRevoked: () => undefined as never },
  ];
  for (const options of failing) {
    const server = serverFor({ "GET /me": [], "GET /news": "optional" }, options);
    const app = express().use(forExpress.protect(server));
    app.get(["/me", "/news"], (_request, response) => void response.json("ran"));
    const port = await serve(app);
    const token = await issuer.token({ exp: 2_000_000_000, jti: "one" });
    for (const path of ["/me", "/news"]) expect((await ask(port, { path, token })).status, path).toBe(503);
    await server.close();
  }
});

itPrevents("CVE-2026-39410", async () => {
  const server = serverFor({ "GET /me": [] }, { tokenSources: [{ cookie: "__Host-token" }] });
  const app = express().use(forExpress.protect(server));
  app.get("/me", (request, response) => void response.json(forExpress.principalOf(request)?.userId));
  const client = new RawClient(await serve(app));
  onTestFinished(() => client.close());
  const send = async (cookie: string) =>
    client.ask({
      method: "GET",
      target: "/me",
      headers: [
        ["host", "h"],
        ["cookie", cookie],
      ],
    });
  const [alice, mallory] = [await issuer.token({ sub: "alice" }), await issuer.token({ sub: "mallory" })];
  // As UTF-8 and as Latin-1, one byte per character.
  for (const space of ["\u00c2\u00a0", "\u00a0", "\u00ef\u00bb\u00bf", "\u00e2\u0080\u0083"]) {
    expect((await send(`${space}__Host-token=${mallory}`)).status).toBe(401);
    const both = await send(`${space}__Host-token=${mallory}; __Host-token=${alice}`);
    expect(both).toMatchObject({ status: 200, body: expect.stringContaining("alice") as string });
  }
  expect((await send(`__Host-token=${mallory}; __Host-token=${alice}`)).status).toBe(400);
});

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

itPrevents("CVE-2025-29927", async () => {
  for (const name of ["middleware", "proxy"]) {
    const fields: Fields = [
      ["x-middleware-subrequest", Array<string>(5).fill(name).join(":")],
      ["x-middleware-next", "1"],
    ];
    expect(await expectUnreachable({ targets: ["/admin"], fields })).toContain("Express 5 /admin");
  }
});

itPrevents("CVE-2024-51479", async () => {
  const open = await expectUnreachable({
    routes: ["/:page"],
    table: { "GET /:page": ["admin:read"], "GET /": "public" },
    targets: ["/x", "/x?__nextLocale=/", "/x?__nextDefaultLocale=x&__nextLocale=%2F", "/x/?x=/", "/en"],
  });
  expect(open).toContain("Express 5 /x?__nextLocale=/");
});

itPrevents("CVE-2026-27959", async () => {
  const { server } = createService();
  const evil = { claims: { htu: "https://evil.example/agents/7" } };
  const headers: readonly Fields[] = [
    [["Host", "evil.example"]],
    [["Host", "evil.example:443@api.example"]],
    [
      ["X-Forwarded-Host", "evil.example"],
      ["X-Forwarded-Proto", "https"],
    ],
    [["Forwarded", "host=evil.example;proto=https"]],
  ];
  for (const host of HOST_NAMES) {
    const port = await OPENERS[host](server);
    for (const fields of headers)
      expect([400, 401], `${host} ${fields.join()}`).toContain(
        (await sendTo(port, sentBy(evil, { fields }))).status,
      );
    expect((await sendTo(port, sentBy({}, { fields: headers[2] ?? [] }))).status, host).toBe(200);
  }
  await closeAll();
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

itPrevents("CVE-2025-68130", async () => {
  const authorization = `Bearer ${await issuer.token({ scopes: ["other:read"] })}`;
  const admin = `Bearer ${await issuer.token({ scopes: ["admin:read"] })}`;
  const pollution: Readonly<Record<string, unknown>> = {
    scopes: ["admin:read"],
    authorization: admin,
    cookie: `token=${admin}`,
    verifyAudience: false,
    allowed: true,
    unmappedRoutes: "authenticated",
    shadow: { compare: () => ({ allowed: true }) },
  };
  const request = { method: "GET", target: "/admin" };
  for (const [name, value] of Object.entries(pollution)) {
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
    try {
      const server = createGuarded({ "GET /admin": ["admin:read"] });
      expect(await server.check(request), name).toMatchObject({ reason: "credential_missing" });
      const decision = await server.check({ ...request, authorization });
      expect(Object.getOwnPropertyDescriptor(decision, "allowed")?.value, name).toBe(false);
    } finally {
      Reflect.deleteProperty(Object.prototype, name);
    }
  }
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
