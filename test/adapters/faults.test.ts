/** Faults around the guard do not bypass it. */
import { once } from "node:events";
import Router from "@koa/router";
import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import Koa from "koa";
import { describe, expect, it, vi } from "vitest";
import type { ScopeMappings } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import { EXPRESS_VERSIONS, koaListener, serve, serverFor, statusWith } from "../support/frameworks.ts";

const failWith = (thrown: unknown) => ({
  now: () => {
    throw thrown;
  },
});

/** As a program does that only logs errors. */
const continueAnyway: ErrorRequestHandler = (_error, _request, _response, next) => next();

const answer: RequestHandler = (_request, response) => void response.json("ran");

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  const broken = (thrown: unknown) => serverFor({ "GET /x": ["x:read"] }, failWith(thrown));

  it.each([[undefined], [null], ["route"], ["router"], [0]])(
    "calls the error handler once, and nothing else, after a check that throws %j",
    async (thrown) => {
      const app = express();
      let faults = 0;
      const onFault: ErrorRequestHandler = (_error, _request, response, _next) => {
        faults += 1;
        response.status(500).end();
      };
      app.use(forExpress.protect(broken(thrown)));
      app.get("/x", answer).use(onFault);
      expect(await statusWith(await serve(app), "/x", [])).toBe(500);
      expect(faults).toBe(1);
    },
  );

  it.each([[undefined], [0], ["no reason"]])(
    "does not continue after a handler that rejects with %j",
    async (reason) => {
      const app = express();
      // The token is verified at the route, so the handler runs after a promise in both versions.
      app.use(forExpress.protect(serverFor({ "GET /:page": [], "GET /x": "public" })));
      app.get(
        "/:page",
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as handlers do
        () => Promise.reject(reason),
        answer,
      );
      expect(await statusWith(await serve(app), "/x", [])).toBe(500);
    },
  );

  it("requires what each of two guards requires at a route where both have to verify the token", async () => {
    const app = express();
    for (const scopes of [[], ["x:read"]])
      app.use(forExpress.protect(serverFor({ "GET /:page": scopes, "GET /x": "public" })));
    app.get("/:page", answer);
    const port = await serve(app);
    expect(await statusWith(port, "/x", ["y:read"])).toBe(403);
    expect(await statusWith(port, "/x", ["x:read"])).toBe(200);
  });

  it.each(["/x", "/:page"])(
    "does not run the route %s when an error handler calls next() after an error of the check",
    async (path) => {
      const app = express();
      app.use(forExpress.protect(broken(new Error("no clock"))), continueAnyway);
      app.get(path, answer);
      expect(await statusWith(await serve(app), "/x", ["x:read"])).toBe(500);
    },
  );

  it("runs no route when a second guard of the same server fails and an error handler calls next()", async () => {
    let isBroken = false;
    const now = () => (isBroken ? Number.NaN : Date.now());
    const server = serverFor({ "GET /x": ["x:read"] }, { now });
    const app = express();
    app.use(forExpress.protect(server));
    app.use((_request, _response, next) => {
      isBroken = true;
      next();
    });
    app.use(forExpress.protect(server), continueAnyway);
    app.get("/x", answer);
    expect(await statusWith(await serve(app), "/x", ["x:read"])).toBe(500);
  });

  describe("behind a wrapper of protect that always continues", () => {
    /** With another URL, if `change` sets one. */
    async function startIgnoring(rules: ScopeMappings, path: string, change: (request: Request) => void) {
      const guard = forExpress.protect(serverFor(rules));
      const run = vi.fn(answer);
      const onFault: ErrorRequestHandler = (_error, _request, response, _next) => {
        if (!response.headersSent) response.status(500).end();
      };
      const app = express().use((request, response, next) => {
        guard(request, response, () => undefined);
        change(request);
        next();
      });
      return { port: await serve(app.get(path, run).use(onFault)), run };
    }

    it("runs no route before the decision or after a refusal", async () => {
      const rules = { "GET /x": ["x:read"], "GET /:page": ["x:read"] };
      const { port, run } = await startIgnoring(rules, "/:page", () => undefined);
      expect(await statusWith(port, "/x")).toBe(401);
      // A request is decided at once as soon as the token is remembered.
      expect(await statusWith(port, "/x", [])).toBe(500);
      await expect.poll(() => statusWith(port, "/x", [])).toBe(403);
      expect(run).not.toHaveBeenCalled();
    });

    it("runs no public route after a refusal with another URL", async () => {
      const rules: ScopeMappings = { "GET /x": [], "GET /open": "public" };
      const { port, run } = await startIgnoring(rules, "/open", (request) => (request.url = "/open"));
      expect(await statusWith(port, "/x")).toBe(401);
      expect(run).not.toHaveBeenCalled();
    });
  });

  it("returns no principal for a request that one of two guards has refused", async () => {
    const app = express();
    const callers: unknown[] = [];
    const rules = (scope: string) => serverFor({ "GET /:page": [scope], "GET /x": [] });
    app.use((request, response, next) => {
      void once(response, "finish").then(() => callers.push(forExpress.principalOf(request)));
      next();
    });
    app.use(forExpress.protect(rules("first:read")), forExpress.protect(rules("second:read")));
    app.get("/:page", answer);
    expect(await statusWith(await serve(app), "/x", ["second:read"])).toBe(403);
    expect(callers).toEqual([undefined]);
  });
});

describe("protect in Koa", () => {
  it("runs no route when middleware ignores the error of the check and continues", async () => {
    const app = new Koa();
    const broken = serverFor({ "GET /x": ["x:read"] }, failWith(new Error("no clock")));
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
    expect(await statusWith(await serve(koaListener(app)), "/x", ["x:read"])).toBe(404);
  });
});
