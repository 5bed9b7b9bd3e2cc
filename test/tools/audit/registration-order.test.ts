/** The order of registration: routes before `protect`, behind that of another server, and behind a wider route. */
import Router from "@koa/router";
import express5 from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { audit, type ListedRoute, routesOf } from "scopegate/audit";
import { describe, expect, it } from "vitest";
import * as forExpress from "scopegate/express";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { EXPRESS_VERSIONS } from "../../support/frameworks.ts";
import { ScopegateModule } from "scopegate/nest";
import { createApplication, createController, createModule, PLATFORMS } from "../../support/nest.ts";
import { findingsOf, server, serverFor, unguardedOf } from "./routes/support.ts";

/** The routes that an audit reports as hidden, with the message. */
const hiddenIn = (routes: Iterable<ListedRoute>): readonly string[] =>
  audit(server, routes)
    .findings.filter(({ kind }) => kind === "route_hidden")
    .map(({ message }) => message);

const MESSAGE =
  "`GET /agents/me` is registered after `GET /agents/:id`, which runs for the same requests: such a request needs the scopes of both rules.";

const handler = (): void => undefined;

/** A second server in the same application. */
const other = serverFor({ "GET /agents": [], "GET /teams": ["teams:read"] });
const guards = { protect: server, protectOther: other };

/** What is registered: `protect`, or a GET route of a path, which may require scopes of its own. */
type Step = keyof typeof guards | `/${string}` | { readonly path: string; readonly scopes: string };

const isGuard = (step: Step): step is keyof typeof guards => typeof step === "string" && step in guards;

/** Registers the steps in their order, and lists the routes. */
type List = (...steps: readonly Step[]) => Iterable<ListedRoute>;

const FRAMEWORKS: readonly (readonly [string, List])[] = [
  ...EXPRESS_VERSIONS.map(([name, express]): readonly [string, List] => [
    name,
    (...steps) => {
      const app = express();
      for (const step of steps) {
        if (isGuard(step)) app.use(forExpress.protect(guards[step]));
        else if (typeof step === "string") app.get(step, handler);
        else app.get(step.path, forExpress.requireScopes(step.scopes), handler);
      }
      return routesOf(app);
    },
  ]),
  [
    "Koa",
    (...steps) => {
      const app = new Koa();
      for (const step of steps) {
        const router = new Router();
        if (isGuard(step)) app.use(forKoa.protect(guards[step]));
        else if (typeof step === "string") app.use(router.get(step, handler).routes());
        else app.use(router.get(step.path, forKoa.requireScopes(step.scopes), handler).routes());
      }
      return routesOf(app);
    },
  ],
  [
    "Hono",
    (...steps) => {
      const app = new Hono();
      for (const step of steps) {
        if (isGuard(step)) app.use(forHono.protect(guards[step]));
        else if (typeof step === "string") app.get(step, (c) => c.text("ran"));
        else app.get(step.path, forHono.requireScopes(step.scopes), (c) => c.text("ran"));
      }
      return routesOf(app);
    },
  ],
];

describe.each(FRAMEWORKS)("%s", (_, list) => {
  it("marks routes that are registered before protect, and the audit reports what to move", () => {
    const routes = list("/agents", "/health", "protect", "/teams");
    expect(unguardedOf(routes)).toEqual(["GET /agents", "GET /health"]);
    expect(findingsOf(routes)).toMatchObject([
      {
        kind: "route_unguarded",
        severity: "error",
        message: "`GET /agents` is registered before protect: its handler runs without any check.",
      },
    ]);
  });

  it("marks every route of an application without protect, and the audit fails", () => {
    const routes = list("/agents");
    expect([...routes].map(({ unguarded }) => unguarded)).toEqual([
      {
        message: "has no protect that routesOf can find.",
        hint: "Write app.use(protect(server)) before all routes. If it is already there, another package has wrapped it.",
        isUncertain: true,
      },
    ]);
    expect(findingsOf(routes)).toMatchObject([{ kind: "guard_missing", severity: "error" }]);
  });

  it("reports the consequence for requireScopes without protect before it", () => {
    const [finding] = findingsOf(list({ path: "/agents", scopes: "a:b" }, "protect"));
    expect(finding?.message).toContain("requireScopes finds no caller, and every request gets 500");
  });

  it("reports the routes that only another server guards, also in a copy of the list", () => {
    const routes = list("protectOther", "/agents", "protect", "/teams");
    for (const listed of [routes, [...routes]])
      expect(audit(server, listed).findings.filter(({ kind }) => kind === "route_unguarded")).toMatchObject([
        { message: "`GET /agents` is behind protect of another resource server: this one doesn't check it." },
      ]);
    expect(audit(other, routes)).toMatchObject({ ok: true, findings: [] });
  });

  it("reports a route that an earlier, wider one of the same list hides", () => {
    expect(hiddenIn(list("/agents/:id", "/agents/me"))).toEqual([MESSAGE]);
    const filtered = [...list("/agents/:id", "/x", "/agents/me")].filter(({ pattern }) => pattern !== "/x");
    expect(hiddenIn([{ method: "GET", pattern: "/other" }, ...filtered])).toEqual([MESSAGE]);
    // Another application may have another order.
    expect(hiddenIn([...list("/agents/:id"), ...list("/x", "/agents/me")])).toEqual([]);
  });

  it("reports nothing in the right order, and for two routes of one pattern", () => {
    expect(hiddenIn(list("/agents/me", "/agents/:id"))).toEqual([]);
    expect(hiddenIn(list("/agents/:id", "/agents/:name"))).toEqual([]);
    expect(hiddenIn(list("/agents/:id", "/agents/:id/runs"))).toEqual([]);
  });
});

describe.each(PLATFORMS)("NestJS on %s", (platform) => {
  it("counts only the server of its module", async () => {
    const routes = ["/agents", "/teams"].map((path) => ({ method: "GET", path, handle: handler }));
    const imports = [ScopegateModule.forRoot(other)];
    const root = createModule({ imports, controllers: [createController(platform, routes)] });
    const app = await createApplication(platform, root);
    await app.init();
    expect(findingsOf(routesOf(app))).toHaveLength(2);
    expect(audit(other, routesOf(app))).toMatchObject({ ok: true, findings: [] });
    await app.close();
  });
});

describe("the audit", () => {
  it("reports a route that a handler for every method hides, but no middleware and no other method", () => {
    const hiddenBy = (register: (app: express5.Express) => unknown) => {
      const app = express5();
      register(app);
      return hiddenIn(routesOf(app.get("/agents/me", handler)));
    };
    expect(hiddenBy((app) => app.all("/agents/:id", handler))).toHaveLength(1);
    expect(hiddenBy((app) => app.all("/{*path}", handler))).toEqual([]);
    expect(hiddenBy((app) => app.post("/agents/:id", handler))).toEqual([]);
  });

  it("does not count a route with a regular expression, which may match fewer paths, as wider", () => {
    const app = express4();
    app.get("/agents/:id(\\d+)", handler);
    app.get("/agents/me", handler);
    expect(hiddenIn(routesOf(app))).toEqual([]);
    const hono = new Hono();
    hono.get("/agents/:id{[0-9]+}", (c) => c.text("id"));
    hono.get("/agents/me", (c) => c.text("me"));
    expect(hiddenIn(routesOf(hono))).toEqual([]);
  });

  it("reports nothing about Fastify, which runs the narrowest route, and about a list by hand", async () => {
    const app = fastify();
    const routes = routesOf(app);
    app.get("/agents/:id", () => "id");
    app.get("/agents/me", () => "me");
    await app.ready();
    expect(hiddenIn(routes)).toEqual([]);
    const byHand = ["/agents/:id", "/agents/me"].map((pattern) => ({ method: "GET", pattern }));
    expect(hiddenIn(byHand)).toEqual([]);
  });
});
