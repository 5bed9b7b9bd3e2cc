/** Faults around the guard do not bypass it. */
import { once } from "node:events";
import { createServer } from "node:http";
import Router from "@koa/router";
import express5, { type ErrorRequestHandler, type RequestHandler } from "express";
import express4 from "express4";
import Koa from "koa";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type ResourceServerOptions } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const serverWith = (options: Partial<ResourceServerOptions>) =>
  createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], ...options });

async function statusOf(
  listener: Parameters<typeof createServer>[1],
  path: string,
  { method = "GET", headers = [] as [string, string][], scopes = [] as string[] } = {},
): Promise<number> {
  const { port, close } = await listen(createServer(listener));
  closing.push(close);
  return (await ask(port, { path, method, headers, token: await issuer.token({ scopes }) })).status;
}

const answer: RequestHandler = (_request, response) => void response.json("ran");

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("protect in %s", (_, express) => {
  const broken = (thrown: unknown) =>
    serverWith({
      scopeMappings: { "GET /x": ["x:read"] },
      now: () => {
        throw thrown;
      },
    });

  it.each([[undefined], [null], ["route"], ["router"], [0]])(
    "does not continue after a check that throws %j",
    async (thrown) => {
      const app = express();
      app.use(forExpress.protect(broken(thrown)));
      app.get("/x", answer);
      expect(await statusOf(app, "/x")).toBe(500);
    },
  );

  it.each([[undefined], [0], ["no reason"]])(
    "does not continue after a handler that rejects with %j",
    async (reason) => {
      const app = express();
      // The token is verified at the route, so the handler runs after a promise in both versions.
      app.use(forExpress.protect(serverWith({ scopeMappings: { "GET /:page": [], "GET /x": "public" } })));
      app.get(
        "/:page",
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as handlers do
        () => Promise.reject(reason),
        answer,
      );
      expect(await statusOf(app, "/x")).toBe(500);
    },
  );

  it("requires what each of two guards requires at a route where both have to verify the token", async () => {
    const app = express();
    for (const scopes of [[], ["x:read"]])
      app.use(
        forExpress.protect(serverWith({ scopeMappings: { "GET /:page": scopes, "GET /x": "public" } })),
      );
    app.get("/:page", answer);
    expect(await statusOf(app, "/x", { scopes: ["y:read"] })).toBe(403);
    expect(await statusOf(app, "/x", { scopes: ["x:read"] })).toBe(200);
  });

  it("runs no route when an error handler calls next() after an error of the check", async () => {
    const app = express();
    const continueAnyway: ErrorRequestHandler = (_error, _request, _response, next) => next();
    app.use(forExpress.protect(broken(new Error("no clock"))));
    app.use(continueAnyway);
    app.get("/x", answer);
    expect(await statusOf(app, "/x", { scopes: ["x:read"] })).toBe(500);
  });

  it("runs no route without a rule when an error handler calls next() after an error", async () => {
    const app = express();
    const continueAnyway: ErrorRequestHandler = (_error, _request, _response, next) => next();
    app.use(forExpress.protect(broken(new Error("no clock"))));
    app.use(continueAnyway);
    app.get("/:page", answer);
    expect(await statusOf(app, "/x", { scopes: ["x:read"] })).toBe(500);
  });

  it("runs no route when a second guard of the same server fails and an error handler calls next()", async () => {
    let isBroken = false;
    const server = serverWith({
      scopeMappings: { "GET /x": ["x:read"] },
      now: () => (isBroken ? Number.NaN : Date.now()),
    });
    const continueAnyway: ErrorRequestHandler = (_error, _request, _response, next) => next();
    const app = express();
    app.use(forExpress.protect(server));
    app.use((_request, _response, next) => {
      isBroken = true;
      next();
    });
    app.use(forExpress.protect(server), continueAnyway);
    app.get("/x", answer);
    expect(await statusOf(app, "/x", { scopes: ["x:read"] })).toBe(500);
  });

  it("runs no route when a wrapper of protect continues before the decision or after a refusal", async () => {
    const server = serverWith({ scopeMappings: { "GET /x": ["x:read"], "GET /:page": ["x:read"] } });
    const guard = forExpress.protect(server);
    const app = express();
    let ran = 0;
    app.use((request, response, next) => {
      guard(request, response, () => undefined);
      next();
    });
    app.get("/:page", (_request, response) => {
      ran += 1;
      response.end();
    });
    const onFault: ErrorRequestHandler = (_error, _request, response, _next) => {
      if (!response.headersSent) response.status(500).end();
    };
    app.use(onFault);
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    expect((await ask(port, { path: "/x" })).status).toBe(401);
    const token = await issuer.token({ scopes: [] });
    // A request is decided at once as soon as the token is remembered.
    expect((await ask(port, { path: "/x", token })).status).toBe(500);
    await expect.poll(async () => (await ask(port, { path: "/x", token })).status).toBe(403);
    expect(ran).toBe(0);
  });

  it("runs no public route when a wrapper of protect continues after a refusal with another URL", async () => {
    const guard = forExpress.protect(serverWith({ scopeMappings: { "GET /x": [], "GET /open": "public" } }));
    const app = express();
    let ran = 0;
    app.use((request, response, next) => {
      guard(request, response, () => undefined);
      request.url = "/open";
      next();
    });
    app.get("/open", (_request, response) => {
      ran += 1;
      response.end();
    });
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    expect((await ask(port, { path: "/x" })).status).toBe(401);
    expect(ran).toBe(0);
  });

  it("checks the route of a request whose prototype is the guarded request", async () => {
    const app = express();
    const router = express.Router().get("/:page", answer);
    app.use(forExpress.protect(serverWith({ scopeMappings: { "GET /x": [], "GET /:page": ["page:read"] } })));
    app.use((request, response, next) => router(Object.create(request) as never, response, next));
    expect(await statusOf(app, "/x")).toBe(403);
    expect(await statusOf(app, "/x", { scopes: ["page:read"] })).toBe(200);
  });

  it("returns no principal for a request that one of two guards has refused", async () => {
    const app = express();
    const callers: unknown[] = [];
    const rules = (scope: string) => serverWith({ scopeMappings: { "GET /:page": [scope], "GET /x": [] } });
    app.use((request, response, next) => {
      void once(response, "finish").then(() => callers.push(forExpress.principalOf(request)));
      next();
    });
    app.use(forExpress.protect(rules("first:read")), forExpress.protect(rules("second:read")));
    app.get("/:page", answer);
    expect(await statusOf(app, "/x", { scopes: ["second:read"] })).toBe(403);
    expect(callers).toEqual([undefined]);
  });
});

describe("protect in Koa", () => {
  it("runs no route when middleware ignores the error of the check and continues", async () => {
    const app = new Koa();
    const broken = serverWith({
      scopeMappings: { "GET /x": ["x:read"] },
      now: () => {
        throw new Error("no clock");
      },
    });
    app.silent = true;
    app.use(async (_context, next) => {
      await next().catch(() => undefined);
    });
    const guard = forKoa.protect(broken);
    app.use((context, next) => Promise.resolve(guard(context, next)).catch(() => next()));
    app.use(
      new Router()
        .get("/x", (context) => {
          context.body = "ran";
        })
        .routes() as never,
    );
    const listener = app.callback();
    const status = await statusOf((request, response) => void listener(request, response), "/x", {
      scopes: ["x:read"],
    });
    expect(status).toBe(404);
  });
});
