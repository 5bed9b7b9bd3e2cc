/** Attacks on proxies, and on frameworks of other languages. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Router from "@koa/router";
import fastifyExpress from "@fastify/express";
import { Controller, Get } from "@nestjs/common";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import Koa, { type Middleware } from "koa";
import { expect, onTestFinished } from "vitest";
import type { ScopeMappings } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { RequireScopes, ScopegateModule } from "scopegate/nest";
import { RawClient } from "../../routing/raw-client.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { koaListener, serve, serveFastify, statusWith } from "../../support/frameworks.ts";
import { ask } from "../../support/http.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createApplication, createModule, listenOn } from "../../support/nest.ts";
import { issuer, mistakesOf } from "../../support/resource-servers.ts";
import { itPrevents } from "./prevents.ts";
import {
  ADMIN_TABLE,
  type Application,
  bearer,
  createGuarded,
  expectUnreachable,
  type Fields,
  findReached,
  openFetch,
} from "./support.ts";

/** Expects that no spelling reaches the route, and that at least one of them does without `protect`. */
async function expectSpellingsRefused(route: string, targets: readonly string[]): Promise<void> {
  const table: ScopeMappings = { [`GET ${route}`]: ["admin:read"], "GET /{*path}": "public" };
  const open = await expectUnreachable({ targets, routes: [route], table });
  expect(open).not.toEqual([]);
}

itPrevents("CVE-2022-22978", () =>
  expectSpellingsRefused("/admin/:id", ["/admin/%0a", "/admin/x%0a", "/admin/%0d"]),
);

itPrevents("CVE-2023-4853", () => expectSpellingsRefused("/admin", ["//admin", "/admin//", "///admin"]));

itPrevents("CVE-2019-9901", () =>
  expectSpellingsRefused("/admin", [
    "/public/../admin",
    "/./admin",
    "/public/%2e%2e/admin",
    "/admin/../admin",
  ]),
);

itPrevents("CVE-2021-29492", () =>
  expectSpellingsRefused("/admin", ["/public%2f..%2fadmin", "/public/..%2Fadmin", "/%2fadmin", "/%5cadmin"]),
);

itPrevents("CVE-2021-32779", () =>
  expectSpellingsRefused("/admin", ["/admin#", "/admin#x", "/public#/../admin"]),
);

itPrevents("CVE-2024-38827", () =>
  expectSpellingsRefused("/kiosk", ["/kios%E2%84%AA", "/%E2%84%AAiosk", "/kio%C5%BFk"]),
);

itPrevents("CVE-2025-54576", () =>
  expectSpellingsRefused("/admin", [
    "/admin?/public",
    "/admin?x=/public",
    "/admin?#/public",
    "/admin??/public",
  ]),
);

itPrevents("CVE-2022-32532", () =>
  expectSpellingsRefused("/admin/:id", ["/admin/%0aany", "/admin/any%0A", "/admin/a%0ab"]),
);

itPrevents("CVE-2023-34478", () =>
  expectSpellingsRefused("/admin", ["/admin;/..", "/public/..;/../admin", "/;/../admin", "/admin;x"]),
);

itPrevents("CVE-2020-17523", async () => {
  const open = async (isGuarded: boolean): Promise<Application> => {
    const ran: string[] = [];
    const app = fastify();
    if (isGuarded) await app.register(forFastify.protect(createGuarded(ADMIN_TABLE)));
    await app.register(fastifyExpress);
    // This plugin removes the space before Express reads the path.
    const router = express4.Router().get("/admin", (_request, response) => void response.json(ran.push("x")));
    (app as unknown as { use(handler: typeof router): void }).use(router);
    return { port: await serveFastify(app), ran };
  };
  const targets = ["/admin%20", "/admin%EF%BB%BF"];
  expect(await findReached(await open(false), targets)).toEqual(targets);
  expect(await findReached(await open(true), targets)).toEqual([]);
});

itPrevents("CVE-2026-40912", async () => {
  const table = { "GET /api/admin/:page": ["admin:read"], "GET /{*path}": "public" } as const;
  const targets = ["/api%2e/../api/admin/x", "/api/./admin/x", "/api/%2e/admin/x", "/%2e/api/admin/x"];
  const open = await expectUnreachable({ routes: ["/api/admin/:page"], table, targets });
  expect(open).toContain("Node.js /api/%2e/admin/x");
});

itPrevents("CVE-2023-20860", () => {
  for (const key of ["GET **", "GET admin", "GET *", "**", "GET admin/**"])
    expect(mistakesOf(() => createGuarded({ [key]: "public" as const })).length, key).toBeGreaterThan(0);
});

/** `GET /base/admin`, whose prefix comes from a mount, a plugin, a router or a base path. */
const OPEN_BELOW_PREFIX: Readonly<Record<string, () => Promise<Application>>> = {
  async Express() {
    const ran: string[] = [];
    const inner = express.Router().get("/admin", (_request, response) => void response.json(ran.push("x")));
    const app = express()
      .use(forExpress.protect(createGuarded(PREFIX_TABLE)))
      .use("/base", inner);
    return { port: await serve(app), ran };
  },
  async Fastify() {
    const ran: string[] = [];
    const app = fastify();
    await app.register(forFastify.protect(createGuarded(PREFIX_TABLE)));
    const addRoute = (instance: typeof app, _options: unknown, done: () => void): void => {
      instance.get("/admin", () => String(ran.push("x")));
      done();
    };
    await app.register(addRoute as never, { prefix: "/base" });
    return { port: await serveFastify(app), ran };
  },
  async Koa() {
    const ran: string[] = [];
    const router = new Router({ prefix: "/base" });
    router.get("/admin", (context) => void (context.body = String(ran.push("x"))));
    const app = new Koa().use(forKoa.protect(createGuarded(PREFIX_TABLE)));
    return { port: await serve(koaListener(app.use(router.routes() as Middleware))), ran };
  },
  async Hono() {
    const ran: string[] = [];
    const app = new Hono();
    app.use(forHono.protect(createGuarded(PREFIX_TABLE)));
    app.basePath("/base").get("/admin", (context) => context.text(String(ran.push("x"))));
    return { port: await openFetch(app.fetch), ran };
  },
};
/** Without the prefix, the rule of this route would be public. */
const PREFIX_TABLE = { "GET /admin": "public", "GET /base/admin": ["admin:read"] } as const;

itPrevents("CVE-2026-22753", async () => {
  for (const [name, open] of Object.entries(OPEN_BELOW_PREFIX)) {
    const app = await open();
    expect(await findReached(app, ["/base/admin", "/base/admin/"]), name).toEqual([]);
    expect(await findReached(app, ["/base/admin"], await bearer("other:read")), name).toEqual([]);
    expect(await findReached(app, ["/base/admin"], await bearer("admin:read")), name).toEqual([
      "/base/admin",
    ]);
  }
});

itPrevents("CVE-2022-31692", async () => {
  const ran: string[] = [];
  const server = createGuarded(ADMIN_TABLE);
  const app = express().use(forExpress.protect(server), (request, _response, next) => {
    request.url = request.url.replace("/welcome", "/admin");
    next();
  });
  app.get("/admin", (_request, response) => void response.json(ran.push("Express")));
  const koa = new Koa().use(forKoa.protect(server)).use((context, next) => {
    context.url = context.url.replace("/welcome", "/admin");
    return next();
  });
  const router = new Router().get("/admin", (context) => void (context.body = String(ran.push("Koa"))));
  const koaPort = await serve(koaListener(koa.use(router.routes() as Middleware)));
  for (const port of [await serve(app), koaPort]) {
    expect([await statusWith(port, "/welcome"), await statusWith(port, "/welcome", ["x:y"])]).toEqual([
      401, 403,
    ]);
    expect(ran.splice(0)).toEqual([]);
    expect(await statusWith(port, "/welcome", ["admin:read"])).toBe(200);
    expect(ran.splice(0)).toHaveLength(1);
  }
});

itPrevents("CVE-2024-38821", async () => {
  const root = temporaryFolder("express-static");
  mkdirSync(join(root, "admin"));
  writeFileSync(join(root, "admin", "secret.txt"), "secret");
  const open = async (isGuarded: boolean): Promise<Application> => {
    const ran: string[] = [];
    const app = express();
    if (isGuarded) app.use(forExpress.protect(createGuarded(ADMIN_TABLE)));
    app.use(express.static(root, { setHeaders: (_response, path) => void ran.push(path) }));
    return { port: await serve(app), ran };
  };
  const targets = [
    "/admin/secret.txt",
    "//admin/secret.txt",
    "/admin//secret.txt",
    "/admin%2fsecret.txt",
    "/%61dmin/secret.txt",
    "/./admin/secret.txt",
    "/admin/%2e/secret.txt",
    "/admin/secret.txt%00",
  ];
  expect(await findReached(await open(false), targets)).toEqual(
    expect.arrayContaining(["/admin%2fsecret.txt", "/%61dmin/secret.txt", "/admin//secret.txt"]),
  );
  const guarded = await open(true);
  expect(await findReached(guarded, targets)).toEqual([]);
  const canonical = targets.slice(0, 1);
  expect(await findReached(guarded, canonical, await bearer("admin:read"))).toEqual(canonical);
});

itPrevents("CVE-2025-41248", async () => {
  const ran: string[] = [];
  class Base<T> {
    readonly last?: T;
    report(): T | undefined {
      ran.push("report");
      return this.last;
    }
    admin(): string {
      ran.push("admin of the base class");
      return "";
    }
  }
  const decorate = (prototype: object, name: string, ...decorators: readonly MethodDecorator[]): void => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
    for (const decorator of decorators) decorator(prototype, name, descriptor);
  };
  decorate(Base.prototype, "report", RequireScopes("reports:read"), Get("report"));
  decorate(Base.prototype, "admin", RequireScopes("admin:read"), Get("admin"));
  class Reports extends Base<string> {
    // An override inherits no decorator.
    override admin(): string {
      ran.push("admin");
      return "";
    }
  }
  decorate(Reports.prototype, "admin", Get("admin"));
  Controller()(Reports);
  const server = createGuarded({ "GET /report": [], "GET /admin": ["admin:read"] });
  const imports = [ScopegateModule.forRoot(server)];
  const app = await createApplication("Express", createModule({ imports, controllers: [Reports] }));
  const { port, close } = await listenOn(app);
  onTestFinished(close);
  const statuses = async (path: string, scope: string): Promise<readonly number[]> => [
    await statusWith(port, path),
    await statusWith(port, path, ["other:read"]),
    await statusWith(port, path, [scope]),
  ];
  expect(await statuses("/report", "reports:read")).toEqual([401, 403, 200]);
  expect(await statuses("/admin", "admin:read")).toEqual([401, 403, 200]);
  expect(ran).toEqual(["report", "admin"]);
});

itPrevents("CVE-2021-32777", async () => {
  const [valid = ["authorization", ""]] = await bearer("admin:read");
  const open = await expectUnreachable({ targets: ["/admin"], fields: [valid, valid] });
  expect(open).toContain("Express 5 /admin");
  const app = express().use(forExpress.protect(createGuarded(ADMIN_TABLE)));
  const client = new RawClient(await serve(app));
  onTestFinished(() => client.close());
  const others: Fields = [valid, ["authorization", "Bearer x"], ["Authorization", "Basic dXNlcjpwYXNz"]];
  for (const other of others) {
    const headers: Fields = [["host", "h"], valid, other];
    expect((await client.ask({ method: "GET", target: "/admin", headers })).status, other[1]).toBe(400);
  }
});

itPrevents("CVE-2021-21378", async () => {
  const app = express().use(forExpress.protect(createGuarded({ "GET /news": "optional" })));
  app.get(
    "/news",
    (request, response) => void response.json(forExpress.principalOf(request)?.userId ?? null),
  );
  const port = await serve(app);
  const stranger = createIssuer({ kid: "stranger" });
  const status = async (token?: string) => (await ask(port, { path: "/news", token })).status;
  expect(await status()).toBe(200);
  const header = { kid: undefined };
  expect(await status(await stranger.token({ sub: "root", iss: "https://unknown.example" }, header))).toBe(
    401,
  );
  expect(await status(await createIssuer({ algorithm: "ES256" }).token())).toBe(401);
  expect(await status("a.b.c")).toBe(401);
});

const FORWARDED: readonly (readonly [string, string])[] = [
  "X-Forwarded-Uri",
  "X-Forwarded-Path",
  "X-Original-URL",
  "X-Original-URI",
  "X-Rewrite-URL",
  "X_Forwarded_Uri",
  "X_Original_URL",
].map((name) => [name, "/public"]);

itPrevents("CVE-2026-40575", async () => {
  const open = await expectUnreachable({ targets: ["/admin"], fields: FORWARDED });
  expect(open).toContain("Express 5 /admin");
});

itPrevents("CVE-2025-64484", async () => {
  const app = express().use(forExpress.protect(createGuarded({ "GET /me": [] })));
  app.get("/me", (request, response) => void response.json(forExpress.principalOf(request)?.userId));
  const port = await serve(app);
  const headers = ["X-Forwarded-User", "X_Forwarded_User", "X-Auth-Request-User", "X_Auth_Request_User"].map(
    (name): readonly [string, string] => [name, "root"],
  );
  expect((await ask(port, { path: "/me", headers })).status).toBe(401);
  const token = await issuer.token({ sub: "alice" });
  expect(await ask(port, { path: "/me", token, headers })).toMatchObject({ status: 200, body: "alice" });
});
