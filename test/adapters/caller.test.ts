/** The caller is the one that the guard verified, whatever happens to the request afterwards. */
import expressPlugin from "@fastify/express";
import middie from "@fastify/middie";
import Router from "@koa/router";
import express5 from "express";
import fastify from "fastify";
import Koa from "koa";
import { describe, expect, it } from "vitest";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import {
  askWith,
  EXPRESS_VERSIONS,
  koaListener,
  serve,
  serveFastify,
  serverFor,
} from "../support/frameworks.ts";
import { issuer } from "../support/resource-servers.ts";

const createResource = () =>
  serverFor({ "GET /self": ["self:read"], "GET /open": "public", "GET /:page": ["page:read"] });

/** Changes the credential of a request, as a gateway does that calls its own services. */
type Change = (headers: { authorization?: string | undefined }) => void;

type Start = (change: Change) => Promise<number>;

const startExpress =
  (express: typeof express5, hasSecondGuard = false): Start =>
  (change) => {
    const server = createResource();
    const app = express().use(forExpress.protect(server), (request, _response, next) => {
      change(request.headers);
      next();
    });
    if (hasSecondGuard) app.use(forExpress.protect(server));
    app.get("/:page", (request, response) => response.json(forExpress.principalOf(request)?.userId ?? null));
    return serve(app);
  };

const startKoa: Start = (change) => {
  const app = new Koa();
  app.use(forKoa.protect(createResource()));
  app.use((context, next) => {
    change(context.req.headers);
    return next();
  });
  const router = new Router();
  router.get("/:page", (context) => {
    context.body = JSON.stringify(forKoa.principalOf(context)?.userId ?? null);
  });
  return serve(koaListener(app.use(router.routes())));
};

const startFastify =
  (plugin: typeof middie | typeof expressPlugin): Start =>
  async (change) => {
    const app = fastify();
    await app.register(plugin as typeof middie);
    await app.register(forFastify.protect(createResource()));
    const use = app.use.bind(app) as (middleware: express5.RequestHandler) => unknown;
    use((request, _response, next) => {
      change(request.headers);
      next();
    });
    use(express5.Router().get("/self", (_request, _response, next) => next()));
    app.get("/:page", (request) => JSON.stringify(forFastify.principalOf(request)?.userId ?? null));
    return serveFastify(app);
  };

describe.each<readonly [string, Start]>([
  ...EXPRESS_VERSIONS.map(([name, express]) => [name, startExpress(express)] as [string, Start]),
  ["Express 5 with two guards", startExpress(express5, true)],
  ["Koa", startKoa],
  ["Fastify with @fastify/middie", startFastify(middie)],
  ["Fastify with @fastify/express", startFastify(expressPlugin)],
])("the caller in %s", (_, start) => {
  const gateway = () => issuer.token({ sub: "gateway", scopes: ["self:read", "page:read"] });

  async function startWith(kind: "replaces" | "deletes") {
    const other = `Bearer ${await gateway()}`;
    const port = await start((headers) => {
      if (kind === "replaces") headers.authorization = other;
      else delete headers.authorization;
    });
    return async (path: string, scopes?: readonly string[]) => {
      const token = scopes && (await issuer.token({ sub: "caller", scopes }));
      const { status, body } = await askWith(port, path, undefined, { token });
      return status === 200 ? body : status;
    };
  }

  it.each(["replaces", "deletes"] as const)(
    "keeps its scopes at the route when middleware %s the credential",
    async (kind) => {
      const get = await startWith(kind);
      expect(await get("/self", ["self:read", "page:read"])).toBe("caller");
      expect(await get("/self", ["self:read"])).toBe(403);
      expect(await get("/other", ["page:read"])).toBe("caller");
      expect(await get("/other", ["self:read"])).toBe(403);
    },
  );

  it.each(["replaces", "deletes"] as const)(
    "verifies the first credential at the route of a public path when middleware %s the credential",
    async (kind) => {
      const get = await startWith(kind);
      expect(await get("/open")).toBe(401);
      expect(await get("/open", ["self:read"])).toBe(403);
      expect(await get("/open", ["page:read"])).toBe("caller");
    },
  );
});
