/** The rule of the route that runs is required, because routers do not choose the route of the narrowest rule. */
import Router, { type RouterMiddleware } from "@koa/router";
import express5, { type RequestHandler } from "express";
import type Koa3 from "koa";
import mount from "koa-mount";
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import {
  EXPRESS_VERSIONS,
  KOA_VERSIONS,
  koaListener,
  serve,
  serverFor,
  statusWith,
} from "../support/frameworks.ts";

const policy: ScopeMappings = {
  "GET /agents/:id": ["agents:<id>:read"],
  "GET /agents/me": ["me:read"],
  "POST /agents/:id": [],
  "DELETE /agents/:id": ["agents:<id>:delete"],
  "GET /old": [],
  "GET /new": ["new:read"],
  "GET /files/*path": ["files:read"],
  "GET /files/open": "public",
  "GET /pages/:page": "public",
  "GET /pages/draft": ["drafts:read"],
  "GET /teams/:id/logs": ["teams:<id>:logs"],
  "GET /teams/me/logs": [],
  "GET /mounted/teams/:id/logs": ["teams:<id>:logs"],
  "GET /mounted/teams/me/logs": [],
  "GET /mounted": ["mounted:read"],
  "GET /lists/:id": ["lists:<id>:read"],
  "GET /lists/all": [],
  "GET /odd/*path": ["odd:read"],
  "GET /odd/x/c/y": [],
  "GET /homes/:id": ["homes:read"],
  "GET /:area/mine": "public",
};

/** A handler that always calls `next()`. */
const LOGGER = "a logger";

/** The status of the answer, and the handlers that ran. */
type Ask = (
  method: string,
  path: string,
  scopes?: readonly string[],
) => Promise<readonly [number, ...string[]]>;

async function startExpress(express: typeof express5): Promise<Ask> {
  const ran: string[] = [];
  const run =
    (name: string): RequestHandler =>
    (request, response, next) => {
      ran.push(name);
      if (name !== LOGGER && request.query["pass"] === undefined)
        response.json(forExpress.principalOf(request)?.userId ?? null);
      else next();
    };
  const app = express();
  app.use(forExpress.protect(serverFor(policy)));
  app.use((request, _response, next) => {
    if (request.url === "/old") request.url = "/new";
    const { method } = request.query;
    if (typeof method === "string") request.method = method;
    next();
  });
  app.get("/agents/:id", run(LOGGER), run("/agents/:id"));
  app.get("/agents/me", run("/agents/me"));
  app.post("/agents/:id", run("POST /agents/:id"));
  app.route("/agents/:id").delete(run("DELETE /agents/:id"));
  app.get("/new", run("/new"));
  app.get(/^\/files\/.*/, run("an expression"));
  app.get("/pages/:page", run("/pages/:page"));
  app.get("/pages/draft", run("/pages/draft"));
  app.get(["/lists/:id", "/l/:id"], run("/lists/:id"));
  app.get("/lists/all", run("/lists/all"));
  app.get("/:area/mine", (request, response) => {
    ran.push(forExpress.principalOf(request)?.userId ?? "nobody");
    response.end();
  });
  app.get(express === express5 ? "/odd/*x/c/*y" : "/odd/*/c/*", run("an odd pattern"));
  const ofOne = express.Router({ mergeParams: true });
  ofOne.get("/logs", run("/teams/:id/logs"));
  const ofMe = express.Router();
  ofMe.get("/logs", run("/teams/me/logs"));
  app.use("/teams/:id", ofOne);
  app.use("/teams/me", ofMe);
  const inner = express();
  inner.use("/teams/:id", ofOne);
  inner.use("/teams/me", ofMe);
  inner.get("/", run("/mounted"));
  app.use("/mounted", inner);
  return askAt(await serve(app), ran);
}

async function startKoa(Koa: typeof Koa3): Promise<Ask> {
  const ran: string[] = [];
  const run =
    (name: string): RouterMiddleware =>
    async (context, next) => {
      ran.push(name);
      context.body = forKoa.principalOf(context)?.userId ?? "";
      if (name === LOGGER || context.search.includes("pass")) await next();
    };
  const app = new Koa();
  app.use(forKoa.protect(serverFor(policy)));
  app.use((context, next) => {
    if (context.url === "/old") context.url = "/new";
    if (context.query["method"] !== undefined) context.method = String(context.query["method"]);
    return next();
  });
  const teams = new Router();
  teams.get("/teams/:id/logs", run("/teams/:id/logs"));
  teams.get("/teams/me/logs", run("/teams/me/logs"));
  const router = new Router();
  router.get("/agents/:id", run(LOGGER), run("/agents/:id"));
  router.get("/agents/me", run("/agents/me"));
  router.post("/agents/:id", run("POST /agents/:id"));
  router.delete("/agents/:id", run("DELETE /agents/:id"));
  router.get("/new", run("/new"));
  router.get(/^\/files\/.*/, run("an expression"));
  router.get("/pages/:page", run("/pages/:page"));
  router.get("/pages/draft", run("/pages/draft"));
  router.get(["/lists/:id", "/l/:id"], run("/lists/:id"));
  router.get("/lists/all", run("/lists/all"));
  router.get("/:area/mine", (context) => {
    ran.push(forKoa.principalOf(context)?.userId ?? "nobody");
    context.body = "";
  });
  router.get("/odd/*x/c/*y", run("an odd pattern"));
  router.use(teams.routes());
  const inner = new Koa();
  inner.use(new Router().get("/", run("/mounted")).use(teams.routes()).routes());
  app.use(mount("/mounted", inner)).use(router.routes());
  return askAt(await serve(koaListener(app)), ran);
}

const askAt =
  (port: number, ran: string[]): Ask =>
  async (method, path, scopes) => {
    ran.length = 0;
    const status = await statusWith(port, path, scopes, { method });
    return [status, ...ran.filter((name) => name !== LOGGER)];
  };

describe.each([
  ...EXPRESS_VERSIONS.map(([name, express]) => [name, () => startExpress(express)] as const),
  ...KOA_VERSIONS.map(([name, Koa]) => [name, () => startKoa(Koa)] as const),
])("protect in %s", (_, start) => {
  it.each<[string, string, readonly string[] | undefined, number, ...string[]]>([
    ["GET", "/agents/web", ["agents:web:read"], 200, "/agents/:id"],
    ["GET", "/agents/web", ["agents:api:read"], 403],
    // The first route that matches runs, and its rule is required next to the rule of the path.
    ["GET", "/agents/me", ["me:read"], 403],
    ["GET", "/agents/me", ["agents:me:read"], 403],
    ["GET", "/agents/me", ["me:read", "agents:me:read"], 200, "/agents/:id"],
    ["GET", "/AGENTS/me", ["me:read"], 403],
    ["GET", "/AGENTS/me/", ["me:read", "agents:me:read"], 200, "/agents/:id"],
    ["HEAD", "/agents/me", ["me:read"], 403],
    ["HEAD", "/agents/me", ["me:read", "agents:me:read"], 200, "/agents/:id"],
    ["GET", "/lists/all", [], 403],
    ["GET", "/lists/all", ["lists:all:read"], 200, "/lists/:id"],
    ["GET", "/teams/me/logs", [], 403],
    ["GET", "/teams/me/logs", ["teams:me:logs"], 200, "/teams/:id/logs"],
    ["GET", "/teams/web/logs", ["teams:web:logs"], 200, "/teams/:id/logs"],
    ["GET", "/mounted/teams/me/logs", [], 403],
    ["GET", "/mounted/teams/me/logs", ["teams:me:logs"], 200, "/teams/:id/logs"],
    ["GET", "/mounted/teams/web/logs", ["teams:web:logs"], 200, "/teams/:id/logs"],
    ["GET", "/mounted", ["mounted:read"], 200, "/mounted"],
    // The rule of the path decides alone for a route that no rule covers, and for a regular expression.
    ["GET", "/pages/home", undefined, 200, "/pages/:page"],
    ["GET", "/pages/draft", undefined, 401],
    ["GET", "/pages/draft", ["drafts:read"], 200, "/pages/:page"],
    ["GET", "/files/open", undefined, 200, "an expression"],
    ["GET", "/files/other", [], 403],
    // No rule covers a route with two wildcards, so the rule of the path decides alone.
    ["GET", "/odd/x/c/y", [], 200, "an odd pattern"],
    ["GET", "/odd/a/c/b", [], 403],
    ["GET", "/odd/a/c/b", ["odd:read"], 200, "an odd pattern"],
    // A public route requires nothing more, and keeps the caller that the rule of the path required.
    ["GET", "/shops/mine", ["homes:read"], 200, "nobody"],
    ["GET", "/homes/mine", undefined, 401],
    ["GET", "/homes/mine", ["homes:read"], 200, "user-1"],
    // A middleware behind the guard has changed the method or the path.
    ["GET", "/old", [], 403],
    ["GET", "/old", ["new:read"], 200, "/new"],
    ["POST", "/agents/web", [], 200, "POST /agents/:id"],
    ["POST", "/agents/web?method=DELETE", [], 403],
    ["POST", "/agents/web?method=DELETE", ["agents:web:delete"], 200, "DELETE /agents/:id"],
    ["POST", "/agents/web?method=delete", [], 403],
    ["POST", "/agents/web?method=delete", ["agents:web:delete"], 200, "DELETE /agents/:id"],
  ])(
    "requires the rule of the route that runs: %s %s with %j answers %i",
    async (method, path, scopes, ...answer) => {
      const ask = await start();
      expect(await ask(method, path, scopes)).toEqual(answer);
    },
  );

  it("checks each route that a request is passed on to", async () => {
    const ask = await start();
    const [, ...ran] = await ask("GET", "/agents/me?pass", ["me:read", "agents:me:read"]);
    expect(ran).toEqual(["/agents/:id", "/agents/me"]);
    expect(await ask("GET", "/pages/home?pass")).toEqual([expect.any(Number), "/pages/:page"]);
  });
});
