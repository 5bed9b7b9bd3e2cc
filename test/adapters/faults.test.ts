/** Programs in which something goes wrong around the guard: nobody gets past it. */
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
])("%s", (_, express) => {
  const broken = (thrown: unknown) =>
    serverWith({
      scopeMappings: { "GET /x": ["x:read"] },
      now: () => {
        throw thrown;
      },
    });

  it.each([[undefined], [null], ["route"], ["router"], [0]])(
    "does not go on after a fault that is %j",
    async (thrown) => {
      const app = express();
      app.use(forExpress.protect(broken(thrown)));
      app.get("/x", answer);
      expect(await statusOf(app, "/x")).toBe(500);
    },
  );

  it.each([[undefined], [0], ["no reason"]])(
    "does not go on after a handler that rejects with %j",
    async (reason) => {
      const app = express();
      app.use(forExpress.protect(serverWith({ scopeMappings: { "GET /:page": [], "GET /x": [] } })));
      app.get(
        "/:page",
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as handlers do
        () => Promise.reject(reason),
        answer,
      );
      expect(await statusOf(app, "/x")).toBe(500);
    },
  );

  it("keeps the routes from running where an error handler goes on after a fault", async () => {
    const app = express();
    const goOn: ErrorRequestHandler = (_error, _request, _response, next) => next();
    app.use(forExpress.protect(broken(new Error("no clock"))));
    app.use(goOn);
    app.get("/x", answer);
    expect(await statusOf(app, "/x", { scopes: ["x:read"] })).toBe(500);
  });

  it("keeps a route that no rule covers from running there as well", async () => {
    const app = express();
    const goOn: ErrorRequestHandler = (_error, _request, _response, next) => next();
    app.use(forExpress.protect(broken(new Error("no clock"))));
    app.use(goOn);
    app.get("/:page", answer);
    expect(await statusOf(app, "/x", { scopes: ["x:read"] })).toBe(500);
  });

  it("asks the route of a request that was derived from the guarded one", async () => {
    const app = express();
    const router = express.Router().get("/:page", answer);
    app.use(forExpress.protect(serverWith({ scopeMappings: { "GET /x": [], "GET /:page": ["page:read"] } })));
    app.use((request, response, next) => router(Object.create(request) as never, response, next));
    expect(await statusOf(app, "/x")).toBe(403);
    expect(await statusOf(app, "/x", { scopes: ["page:read"] })).toBe(200);
  });

  it("refuses a mount that nobody tells and that is too long to be guessed", async () => {
    const app = express();
    const inner = express();
    inner.get("/s", answer);
    app.use(forExpress.protect(serverWith({ scopeMappings: { "GET /*path": "public" } })));
    app.use("/a/b/c/d/e/f", express.Router().use("/g", inner));
    app.use("/b", express.Router().use("/c", inner));
    expect(await statusOf(app, "/a/b/c/d/e/f/g/s")).toBe(400);
    expect(await statusOf(app, "/b/c/s")).toBe(200);
  });

  it("knows no caller of a request that one of two guards has refused", async () => {
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

describe("Koa, with the guard inside of a router", () => {
  const rules = {
    "DELETE /x": ["x:delete"],
    "POST /x": [],
    "GET /secret": ["secret:read"],
    "GET /open": "public",
  } as const;

  function createListener(change: (context: Koa.Context) => void): Parameters<typeof createServer>[1] {
    const router = new Router();
    router.use(async (context, next) => {
      change(context);
      await next();
    });
    router.use(forKoa.protect(serverWith({ scopeMappings: rules })) as never);
    for (const path of ["/x", "/secret", "/open"]) {
      router.all(path, (context) => {
        context.body = "ran";
      });
    }
    const app = new Koa();
    app.silent = true;
    app.use(router.routes());
    const listener = app.callback();
    return (request, response) => void listener(request, response);
  }

  it("refuses a route that was matched before the method or the path became another one", async () => {
    const overridden = createListener((context) => {
      context.method = context.get("x-method") || context.method;
    });
    const rewritten = createListener((context) => {
      context.url = context.get("x-url") || context.url;
    });
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusOf(rewritten, "/secret", { headers: [["x-url", "/open"]] })).toBe(400);
      expect(await statusOf(rewritten, "/secret", { scopes: ["secret:read"] })).toBe(200);
      expect(await statusOf(overridden, "/x", { method: "POST" })).toBe(200);
    }
  });

  it("refuses a method that the matched route does not have", async () => {
    const router = new Router();
    router.use(async (context, next) => {
      context.method = context.get("x-method") || context.method;
      await next();
    });
    router.use(forKoa.protect(serverWith({ scopeMappings: rules })) as never);
    router.delete("/x", (context) => {
      context.body = "ran";
    });
    const listener = new Koa().use(router.routes() as never).callback();
    const serve: Parameters<typeof createServer>[1] = (request, response) => void listener(request, response);
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusOf(serve, "/x", { method: "DELETE", headers: [["x-method", "POST"]] })).toBe(400);
      expect(await statusOf(serve, "/x", { method: "DELETE", scopes: ["x:delete"] })).toBe(200);
    }
  });
});
