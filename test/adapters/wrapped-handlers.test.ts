/** Packages that wrap handlers: the check at the route is put in front of each handler once. */
import { Agent, createServer } from "node:http";
import express5, { type RequestHandler } from "express";
import express4 from "express4";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

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

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("protect in %s", (_, express) => {
  async function start(prepare: (layers: Layer[]) => void, handlers: readonly RequestHandler[] = []) {
    const app = express();
    app.use(
      protect(
        createResourceServer({
          serviceId: "agents-prod",
          verificationKeys: [issuer.publicPem],
          scopeMappings: { "GET /x": [], "GET /:page": ["page:read"] },
        }),
      ),
    );
    const route = app.route("/:page");
    route.get(...handlers, (request, response) => response.json(principalOf(request)?.userId));
    prepare(route.stack);
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    return { port, stack: route.stack as unknown as Layer[] };
  }

  it("checks 3,000 requests when a package wraps every handler that is assigned to a layer", async () => {
    const counts: (() => number)[] = [];
    const { port } = await start((layers) => counts.push(...layers.map(wrapAssignedHandlers)));
    const agent = new Agent({ keepAlive: true });
    const token = await issuer.token({ scopes: ["page:read"] });
    const other = await issuer.token({ scopes: [] });
    for (let turn = 0; turn < 60; turn += 1) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => ask(port, { path: "/x", token, agent })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    }
    agent.destroy();
    expect((await ask(port, { path: "/x", token: other })).status).toBe(403);
    // The package wraps the handler, and then the check around it.
    expect(Math.max(...counts.map((count) => count()))).toBeLessThan(10);
  });

  it("checks a handler that was put into a route after the first request", async () => {
    const { port, stack } = await start(() => undefined);
    const token = await issuer.token({ scopes: ["page:read"] });
    expect((await ask(port, { path: "/x", token })).status).toBe(200);
    const [layer] = stack;
    if (!layer) throw new Error("The route has no handler.");
    stack.unshift(
      Object.assign(Object.create(Object.getPrototypeOf(layer) as object) as Layer, layer, {
        handle: ((_request, response) => void response.end("inserted")) satisfies RequestHandler,
      }),
    );
    expect((await ask(port, { path: "/x", token: await issuer.token({ scopes: [] }) })).status).toBe(403);
    expect((await ask(port, { path: "/x", token })).text).toBe("inserted");
  });

  it("keeps the name and the properties of a handler", async () => {
    const named: RequestHandler = Object.assign(
      function listAgents(_request: unknown, _response: unknown, next: () => void) {
        next();
      },
      { label: "agents" },
    );
    const { port, stack } = await start(() => undefined, [named]);
    await ask(port, { path: "/x", token: await issuer.token({ scopes: ["page:read"] }) });
    const handle = stack[0]?.handle;
    expect(handle).not.toBe(named);
    const { name, length, label } = handle as RequestHandler & { readonly label?: string };
    expect({ name, length, label }).toEqual({ name: "listAgents", length: 3, label: "agents" });
  });

  it("leaves the error handlers of a route as they are", async () => {
    const onFault = (fault: Error, _request: unknown, response: express5.Response, _next: unknown) => {
      response.status(418).json(fault.message);
    };
    const failing: RequestHandler = (_request, _response, next) => next(new Error("failed"));
    const { port, stack } = await start(() => undefined, [failing, onFault as unknown as RequestHandler]);
    const token = await issuer.token({ scopes: ["page:read"] });
    expect(await ask(port, { path: "/x", token })).toMatchObject({ status: 418, body: "failed" });
    expect(stack[1]?.handle).toBe(onFault);
  });

  it("checks the route for the guards of two copies of the package", async () => {
    vi.resetModules();
    const other = await import("scopegate/express");
    const serverFor = (scope: string) =>
      createResourceServer({
        serviceId: "agents-prod",
        verificationKeys: [issuer.publicPem],
        scopeMappings: { "GET /x": [], "GET /:page": [scope] },
      });
    const guards = [protect(serverFor("one:read")), other.protect(serverFor("two:read"))];
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    // Without an application, each request gets the accessors of both copies.
    const { port, close } = await listen(
      createServer((incoming, response) => {
        const request = incoming as express5.Request;
        const steps = [...guards, router] as RequestHandler[];
        const next = (): void => {
          steps.shift()?.(request, response as express5.Response, next);
        };
        next();
      }),
    );
    closing.push(close);
    const statusOf = async (...scopes: readonly string[]) =>
      (await ask(port, { path: "/x", token: await issuer.token({ scopes }) })).status;
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await statusOf("one:read")).toBe(403);
      expect(await statusOf("two:read")).toBe(403);
      expect(await statusOf("one:read", "two:read")).toBe(200);
    }
  });

  it.each([
    ["a route of an application", () => express()],
    ["a route of a router without an application", () => express.Router()],
  ])("checks the first request for %s that contains protect itself", async (_kind, create) => {
    vi.resetModules();
    const fresh = await import("scopegate/express");
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: { "GET /x": [], "GET /:page": ["page:read"] },
    });
    const host = create();
    host.get("/:page", fresh.protect(server), (_request, response) => void response.end("ran"));
    const { port, close } = await listen(
      createServer((...given) => {
        Reflect.apply(host, undefined, [...given, () => undefined]);
      }),
    );
    closing.push(close);
    const statusOf = async (...scopes: readonly string[]) =>
      (await ask(port, { path: "/x", token: await issuer.token({ scopes }) })).status;
    expect(await statusOf("other:read")).toBe(403);
    expect(await statusOf("page:read")).toBe(200);
  });

  it("runs the handlers of a guarded route for requests that passed no guard", async () => {
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: { "GET /guarded/:page": ["page:read"] },
    });
    const app = express().use("/open", router).use(protect(server)).use("/guarded", router);
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    const token = await issuer.token({ scopes: ["page:read"] });
    expect((await ask(port, { path: "/guarded/x", token })).status).toBe(200);
    expect((await ask(port, { path: "/guarded/x" })).status).toBe(401);
    expect((await ask(port, { path: "/open/x" })).status).toBe(200);
  });
});
