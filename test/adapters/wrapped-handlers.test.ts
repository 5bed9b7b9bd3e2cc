/** Packages that wrap handlers: the check at the route is put in front of each handler once. */
import { Agent } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { describe, expect, it, vi } from "vitest";
import { principalOf, protect } from "scopegate/express";
import { askWith, EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";

const RULES = { "GET /x": [], "GET /:page": ["page:read"] };
const PAGE = ["page:read"];

interface Layer {
  handle: RequestHandler;
}

/** Wraps whatever is assigned to `layer.handle`, as express-async-errors does. Returns how often it did. */
function wrapAssignedHandlers(layer: Layer): () => number {
  let wraps = 0;
  const wrap = (handle: RequestHandler): RequestHandler => {
    wraps += 1;
    return (request, response, next) => handle(request, response, next);
  };
  let current = wrap(layer.handle);
  Object.defineProperty(layer, "handle", {
    configurable: true,
    enumerable: true,
    get: () => current,
    set(handle: RequestHandler) {
      current = wrap(handle);
    },
  });
  return () => wraps;
}

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  async function start(prepare: (layers: Layer[]) => void, handlers: readonly RequestHandler[] = []) {
    const app = express();
    app.use(protect(serverFor(RULES)));
    const route = app.route("/:page");
    route.get(...handlers, (request, response) => response.json(principalOf(request)?.userId));
    prepare(route.stack);
    return { port: await serve(app), stack: route.stack as unknown as Layer[] };
  }

  it("checks 3,000 requests when a package wraps every handler that is assigned to a layer", async () => {
    const counts: (() => number)[] = [];
    const { port } = await start((layers) => counts.push(...layers.map(wrapAssignedHandlers)));
    const agent = new Agent({ keepAlive: true });
    for (let turn = 0; turn < 60; turn += 1) {
      const asked = Array.from({ length: 50 }, () => statusWith(port, "/x", PAGE, { agent }));
      expect(new Set(await Promise.all(asked))).toEqual(new Set([200]));
    }
    agent.destroy();
    expect(await statusWith(port, "/x", [])).toBe(403);
    // The package wraps the handler, and then the check around it.
    expect(Math.max(...counts.map((count) => count()))).toBeLessThan(10);
  });

  it("checks a handler that was put into a route after the first request", async () => {
    const { port, stack } = await start(() => undefined);
    expect(await statusWith(port, "/x", PAGE)).toBe(200);
    const [layer] = stack;
    if (!layer) throw new Error("The route has no handler.");
    stack.unshift(
      Object.assign(Object.create(Object.getPrototypeOf(layer) as object) as Layer, layer, {
        handle: ((_request, response) => void response.end("inserted")) satisfies RequestHandler,
      }),
    );
    expect(await statusWith(port, "/x", [])).toBe(403);
    expect((await askWith(port, "/x", PAGE)).text).toBe("inserted");
  });

  it("keeps the name and the properties of a handler", async () => {
    const named: RequestHandler = Object.assign(
      function listAgents(_request: unknown, _response: unknown, next: () => void) {
        next();
      },
      { label: "agents" },
    );
    const { port, stack } = await start(() => undefined, [named]);
    await askWith(port, "/x", PAGE);
    const handle = stack[0]?.handle;
    expect(handle).not.toBe(named);
    const { name, length, label } = handle as RequestHandler & { readonly label?: string };
    expect({ name, length, label }).toEqual({ name: "listAgents", length: 3, label: "agents" });
  });

  it("leaves the error handlers of a route as they are", async () => {
    const onFault = (fault: Error, _request: unknown, response: Response, _next: unknown) => {
      response.status(418).json(fault.message);
    };
    const failing: RequestHandler = (_request, _response, next) => next(new Error("failed"));
    const { port, stack } = await start(() => undefined, [failing, onFault as unknown as RequestHandler]);
    expect(await askWith(port, "/x", PAGE)).toMatchObject({ status: 418, body: "failed" });
    expect(stack[1]?.handle).toBe(onFault);
  });

  it("checks the route for the guards of two copies of the package", async () => {
    vi.resetModules();
    const other = await import("scopegate/express");
    const rules = (scope: string) => ({ "GET /x": [], "GET /:page": [scope] });
    const guards = [protect(serverFor(rules("one:read"))), other.protect(serverFor(rules("two:read")))];
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    // Without an application, each request gets the accessors of both copies.
    const port = await serve((request, response) => {
      const steps = [...guards, router] as RequestHandler[];
      const next = (): void => {
        steps.shift()?.(request as Request, response as Response, next);
      };
      next();
    });
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusWith(port, "/x", ["one:read"])).toBe(403);
      expect(await statusWith(port, "/x", ["two:read"])).toBe(403);
      expect(await statusWith(port, "/x", ["one:read", "two:read"])).toBe(200);
    }
  });

  it.each([
    ["a route of an application", () => express()],
    ["a route of a router without an application", () => express.Router()],
  ])("checks the first request for %s that contains protect itself", async (_kind, create) => {
    vi.resetModules();
    const fresh = await import("scopegate/express");
    const host = create();
    host.get("/:page", fresh.protect(serverFor(RULES)), (_request, response) => void response.end("ran"));
    const port = await serve((...values) => {
      Reflect.apply(host, undefined, [...values, () => undefined]);
    });
    expect(await statusWith(port, "/x", ["other:read"])).toBe(403);
    expect(await statusWith(port, "/x", PAGE)).toBe(200);
  });

  it("runs the handlers of a guarded route for requests that passed no guard", async () => {
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    const server = serverFor({ "GET /guarded/:page": PAGE });
    const app = express().use("/open", router).use(protect(server)).use("/guarded", router);
    const port = await serve(app);
    expect(await statusWith(port, "/guarded/x", PAGE)).toBe(200);
    expect(await statusWith(port, "/guarded/x")).toBe(401);
    expect(await statusWith(port, "/open/x")).toBe(200);
  });
});
