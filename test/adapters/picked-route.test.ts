/**
 * The rule of the route that runs is required, because routers do not choose the route of the narrowest rule.
 * `test/routing` checks the order, mounts and spellings of routes against its policy. These are other cases.
 */
import Router, { type RouterMiddleware } from "@koa/router";
import express5, { type RequestHandler } from "express";
import type Koa3 from "koa";
import { describe, expect, it } from "vitest";
import type { Principal, ScopeMappings } from "scopegate";
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
  "POST /agents/:id": [],
  "DELETE /agents/:id": ["agents:<id>:delete"],
  "GET /pages/:page": "public",
  "GET /pages/draft": ["drafts:read"],
  "GET /odd/*path": ["odd:read"],
  "GET /odd/x/c/y": [],
  "GET /homes/:id": ["homes:read"],
  "GET /:area/mine": "public",
};

const callerOf = (principal: Principal | undefined): readonly string[] =>
  principal?.userId === undefined ? [] : [principal.userId];

/** The status of the answer, the handler that ran and its caller. */
type Ask = (
  method: string,
  path: string,
  scopes?: readonly string[],
) => Promise<readonly [number, ...string[]]>;

async function startExpress(express: typeof express5): Promise<Ask> {
  const ran: string[] = [];
  const run =
    (name: string): RequestHandler =>
    (request, response) => {
      ran.push(name, ...callerOf(forExpress.principalOf(request)));
      response.end();
    };
  const app = express();
  app.use(forExpress.protect(serverFor(policy)));
  app.use((request, _response, next) => {
    const { method } = request.query;
    if (typeof method === "string") request.method = method;
    next();
  });
  app.post("/agents/:id", run("POST /agents/:id"));
  app.route("/agents/:id").delete(run("DELETE /agents/:id"));
  app.get("/pages/:page", run("/pages/:page"));
  app.get("/pages/draft", run("/pages/draft"));
  app.get("/:area/mine", run("/:area/mine"));
  app.get(express === express5 ? "/odd/*x/c/*y" : "/odd/*/c/*", run("an odd pattern"));
  return askAt(await serve(app), ran);
}

async function startKoa(Koa: typeof Koa3): Promise<Ask> {
  const ran: string[] = [];
  const run =
    (name: string): RouterMiddleware =>
    (context) => {
      ran.push(name, ...callerOf(forKoa.principalOf(context)));
      context.body = "";
    };
  const app = new Koa();
  app.use(forKoa.protect(serverFor(policy)));
  app.use((context, next) => {
    if (context.query["method"] !== undefined) context.method = String(context.query["method"]);
    return next();
  });
  const router = new Router();
  router.post("/agents/:id", run("POST /agents/:id"));
  router.delete("/agents/:id", run("DELETE /agents/:id"));
  router.get("/pages/:page", run("/pages/:page"));
  router.get("/pages/draft", run("/pages/draft"));
  router.get("/:area/mine", run("/:area/mine"));
  router.get("/odd/*x/c/*y", run("an odd pattern"));
  app.use(router.routes());
  return askAt(await serve(koaListener(app)), ran);
}

const askAt =
  (port: number, ran: string[]): Ask =>
  async (method, path, scopes) => {
    ran.length = 0;
    const status = await statusWith(port, path, scopes, { method });
    return [status, ...ran];
  };

describe.each([
  ...EXPRESS_VERSIONS.map(([name, express]) => [name, () => startExpress(express)] as const),
  ...KOA_VERSIONS.map(([name, Koa]) => [name, () => startKoa(Koa)] as const),
])("protect in %s", (_, start) => {
  it.each<[string, string, readonly string[] | undefined, number, ...string[]]>([
    // A public route below which a narrower rule requires a token.
    ["GET", "/pages/home", undefined, 200, "/pages/:page"],
    ["GET", "/pages/draft", undefined, 401],
    ["GET", "/pages/draft", ["drafts:read"], 200, "/pages/:page", "user-1"],
    // No rule covers a route with two wildcards, so the rule of the path decides alone.
    ["GET", "/odd/x/c/y", [], 200, "an odd pattern", "user-1"],
    ["GET", "/odd/a/c/b", [], 403],
    ["GET", "/odd/a/c/b", ["odd:read"], 200, "an odd pattern", "user-1"],
    // A public route requires nothing more, and keeps the caller that the rule of the path required.
    ["GET", "/shops/mine", ["homes:read"], 200, "/:area/mine"],
    ["GET", "/homes/mine", undefined, 401],
    ["GET", "/homes/mine", ["homes:read"], 200, "/:area/mine", "user-1"],
    // A middleware behind the guard has changed the method.
    ["POST", "/agents/web", [], 200, "POST /agents/:id", "user-1"],
    ["POST", "/agents/web?method=DELETE", [], 403],
    ["POST", "/agents/web?method=delete", [], 403],
    ["POST", "/agents/web?method=delete", ["agents:web:delete"], 200, "DELETE /agents/:id", "user-1"],
  ])(
    "requires the rule for the matched route: %s %s with %j returns %i",
    async (method, path, scopes, ...answer) => {
      const ask = await start();
      expect(await ask(method, path, scopes)).toEqual(answer);
    },
  );
});
