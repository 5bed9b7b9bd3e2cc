/** `protect` of scopegate/express. `test/routing` has the order, mounts and spellings of routes. */
import { once } from "node:events";
import { Agent, type IncomingMessage } from "node:http";
import middie5 from "@fastify/middie";
import middie4 from "@fastify/middie8";
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from "express";
import express5 from "express";
import methodOverride from "method-override";
import { describe, expect, it, vi } from "vitest";
import type { ScopeMappings } from "scopegate";
import { principalOf, protect, requireScopes } from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import { createTestIssuer } from "scopegate/testing";
import { issuersOf } from "../../src/tools/shared/issuers.ts";
import {
  askWith,
  EXPRESS_VERSIONS,
  FASTIFY_VERSIONS,
  serve,
  serverFor,
  statusWith,
} from "../support/frameworks.ts";
import { issuer } from "../support/resource-servers.ts";
import { hasClassOfProperties, haveSameClass } from "../support/hidden-class.ts";
import { createResourceServer } from "../support/server.ts";

const statusOf = async (app: Express, path: string, scopes: readonly string[] = []) =>
  statusWith(await serve(app), path, scopes);

const run: RequestHandler = (request, response) => void response.json(principalOf(request)?.userId ?? null);

/** Responds to errors, and records them. */
const recording =
  (faults: string[]): ErrorRequestHandler =>
  (fault, _request, response, _next) => {
    faults.push(String(fault));
    if (!response.headersSent) response.status(500).end();
  };

/** As a program does that only logs errors. */
const continueAnyway: ErrorRequestHandler = (_error, _request, _response, next) => next();

/** Router of one copy of the rules: `/x` is narrower than the route that runs. */
const RULES: ScopeMappings = { "GET /x": [], "GET /:page": ["page:read"] };
const PAGE = ["page:read"];

async function expectChecked(port: number) {
  expect(await statusWith(port, "/x", ["other:read"])).toBe(403);
  expect(await askWith(port, "/x", PAGE)).toMatchObject({ status: 200, body: "user-1" });
  expect(await statusWith(port, "/x", ["other:read"])).toBe(403);
}

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  const guarded = (rules: ScopeMappings = RULES) => express().use(protect(serverFor(rules)));
  const page = () => express.Router().get("/:page", run);

  it("allows a public mount path that is requested with and without a slash", async () => {
    const router = express.Router().use(protect(serverFor({ "GET /api": "public" })));
    const port = await serve(express().use("/api", router.get("/", run)));
    for (const path of ["/api", "/api?x=1", "/api/"]) expect(await statusWith(port, path)).toBe(200);
  });

  it("finds the rule for a mount path in an application with strict routing", async () => {
    const guard = protect(serverFor({ "GET /api": ["api:read"] }));
    const app = express().set("strict routing", true) as Express;
    app.use("/api", guard, express5.Router({ strict: true }).use(guard).get("/", run));
    expect(await statusOf(app, "/api", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api", ["other:read"])).toBe(403);
  });

  it("requires the rule for a method that middleware has written in lower case", async () => {
    const app = guarded({ "POST /agents/:id": [], "DELETE /agents/:id": ["agents:<id>:delete"] });
    app.use((request, _response, next) => {
      request.method = "delete";
      next();
    });
    const port = await serve(app.delete("/agents/:id", run));
    expect(await statusWith(port, "/agents/web", [], { method: "POST" })).toBe(403);
    expect(await statusWith(port, "/agents/web", ["agents:web:delete"], { method: "POST" })).toBe(200);
  });

  it("keeps at a public route the caller that the rule for the path required", async () => {
    const app = guarded({ "GET /homes/:id": ["homes:read"], "GET /:area/mine": "public" });
    const port = await serve(app.get("/:area/mine", run));
    expect((await askWith(port, "/shops/mine", ["homes:read"])).body).toBe(null);
    expect(await statusWith(port, "/homes/mine")).toBe(401);
    expect((await askWith(port, "/homes/mine", ["homes:read"])).body).toBe("user-1");
  });

  it("writes nothing and runs no handler when a timeout has already sent a response", async () => {
    const app = express();
    let answered: (() => void) | undefined;
    // Refuses the request after the timeout has answered it.
    const isRevoked = () => new Promise<boolean>((resolve) => (answered = () => resolve(true)));
    app.use((_request, response, next) => {
      next();
      const wait = (): void => {
        if (answered) {
          response.status(503).end("timeout");
          answered();
        } else setImmediate(wait);
      };
      wait();
    });
    app.use(protect(serverFor({ "GET /agents": [] }, { isRevoked })));
    const ran = vi.fn(run);
    const faults: string[] = [];
    app.use(ran, recording(faults));
    expect(await statusOf(app, "/agents")).toBe(503);
    await new Promise(setImmediate);
    expect(ran).not.toHaveBeenCalled();
    expect(faults).toEqual([]);
  });

  it.each<[place: string, rules: ScopeMappings, order: string]>([
    ["before the guard", { "DELETE /items/:id": [] }, "override guard"],
    ["after the guard", { "POST /items/:id": "public", "DELETE /items/:id": [] }, "guard override"],
    [
      "before the guard of another path",
      { "DELETE /{*path}": "public", "DELETE /items/:id": [] },
      "override guard other-path",
    ],
    ["between two guards", { "POST /items/:id": [], "DELETE /items/:id": [] }, "guard override guard"],
  ])("compares a proof with the method on the wire if method-override runs %s", async (_, rules, order) => {
    const proving = createTestIssuer();
    const origin = "https://api.example";
    const server = createResourceServer({
      ...proving.resourceServerOptions,
      scopeMappings: rules,
      senderConstraint: { dpop: { origins: [origin] } },
    });
    const parts: Readonly<Record<string, RequestHandler>> = {
      guard: protect(server),
      override: methodOverride("X-HTTP-Method-Override"),
      "other-path": (request, _response, next) => {
        request.url = request.url.replace("/alias", "/items");
        next();
      },
    };
    const app = express();
    for (const part of order.split(" ")) app.use(parts[part] ?? run);
    const port = await serve(app.delete("/items/:id", run));
    const path = order.includes("other-path") ? "/alias/a" : "/items/a";
    for (const [method, status] of Object.entries({ POST: 200, DELETE: 401 })) {
      const token = await proving.token({ bound: "dpop" });
      const dpop = await proving.proofFor({ method, url: origin + path, token });
      const headers = { authorization: `DPoP ${token}`, dpop, "x-http-method-override": "DELETE" };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers });
      expect(response.status, method).toBe(status);
    }
  });

  describe("compares the parameters of a handler", () => {
    const rules: ScopeMappings = {
      "* /orgs/:org{/*path}": ["orgs:<org>:use"],
      "GET /orgs/:org/users/:id": ["users:<id>:read"],
      "GET /free/:id": ["free:read"],
    };
    const write =
      (params: object) =>
      (request: Request, _response: unknown, next: () => void): void => {
        Object.assign(request.params, params);
        next();
      };

    it.each([
      ["12", 12, 200],
      ["12", { id: 13 }, 200],
      ["12", "13", 400],
      ["ACME", "acme", 400],
      ["007", 7, 400],
    ])("for %s only if a rule reads them, with what app.param has written: %j", async (id, org, status) => {
      const app = guarded(rules).get("/orgs/:org", run).get("/free/:org", run);
      app.param("org", write({ org }));
      expect(await statusOf(app, `/orgs/${id}`, [`orgs:${id}:use`])).toBe(status);
      expect(await statusOf(app, `/free/${id}`, ["free:read"])).toBe(200);
    });

    it("before the first handler of a method only; for HEAD, before that of HEAD, or else of GET", async () => {
      const app = guarded(rules);
      app
        .route("/orgs/:org/first")
        .post(run)
        .get(write({ org: "b" }))
        .get(run);
      app.param("own", write({ own: "b" }));
      app
        .route("/orgs/:own")
        .get(run)
        .head(continueAnyway as never, run);
      app
        .route("/orgs/:own/x")
        .post(run)
        .get(continueAnyway as never, run);
      const port = await serve(app);
      expect(await statusWith(port, "/orgs/a/first", ["orgs:a:use"])).toBe(200);
      for (const path of ["/orgs/a", "/orgs/a/x"])
        expect(await statusWith(port, path, ["orgs:a:use"], { method: "HEAD" })).toBe(400);
    });

    it.each([true, false])("by their places; those of a mount with mergeParams: %s", async (mergeParams) => {
      const inner = express.Router({ mergeParams }).get("/users/:id", run).get("/all/:name", run);
      const app = guarded(rules).use("/orgs/:id", inner).get("/orgs/:org/users/:id/x", run);
      inner.param("name", write(mergeParams ? { id: "b" } : {}));
      const port = await serve(app);
      const get = (path: string) => statusWith(port, path, ["orgs:a:use", "users:u+1:read"]);
      expect([await get("/orgs/a/users/u+1"), await get("/orgs/a/users/u+1/x")]).toEqual([200, 200]);
      expect(await get("/orgs/a/all/x")).toBe(mergeParams ? 400 : 200);
    });

    it("for each path of a route", async () => {
      const app = guarded(rules).get(["/orgs/:org", "/orgs/:org/:section", "/free/:id"], run);
      app.param("section", write({ org: "b" }));
      expect(await statusOf(app, "/orgs/a", ["orgs:a:use"])).toBe(200);
      expect(await statusOf(app, "/orgs/a/x", ["orgs:a:use"])).toBe(400);
    });
  });

  describe("after an error", () => {
    const failing = (thrown: unknown) => {
      const now = () => {
        throw thrown;
      };
      return protect(serverFor({ "GET /x": ["x:read"] }, { now }));
    };

    it.each([undefined, null, "route", "router", 0])(
      "that is %j calls the error handler once, and nothing else",
      async (thrown) => {
        const faults: string[] = [];
        const app = express().use(failing(thrown)).get("/x", run).use(recording(faults));
        expect(await statusOf(app, "/x")).toBe(500);
        expect(faults).toEqual(["Error: The request couldn't be decided."]);
      },
    );

    it.each([undefined, 0, "no reason"])(
      "of a handler that rejects with %j does not continue",
      async (reason) => {
        // The token is verified at the route, so the handler runs after a promise in both versions.
        const app = guarded({ "GET /:page": [], "GET /x": "public" });
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as handlers do
        app.get("/:page", () => Promise.reject(reason), run);
        expect(await statusOf(app, "/x")).toBe(500);
      },
    );

    it.each(["/x", "/:page"])(
      "does not run the route %s when an error handler calls next()",
      async (path) => {
        const app = express().use(failing(new Error("no clock")), continueAnyway);
        expect(await statusOf(app.get(path, run), "/x", ["x:read"])).toBe(500);
      },
    );

    it("of a second guard of the same server runs no route when an error handler calls next()", async () => {
      let now = Date.now();
      const guard = protect(serverFor({ "GET /x": ["x:read"] }, { now: () => now }));
      const breakClock: RequestHandler = (_request, _response, next) => {
        now = Number.NaN;
        next();
      };
      const app = express().use(guard, breakClock, guard, continueAnyway).get("/x", run);
      expect(await statusOf(app, "/x", ["x:read"])).toBe(500);
    });
  });

  it.each<[rules: ScopeMappings, path: string, url: string]>([
    [{ "GET /x": ["x:read"], "GET /:page": ["x:read"] }, "/:page", "/x"],
    [{ "GET /x": ["x:read"], "GET /open": "public" }, "/open", "/open"],
  ])("runs no route behind a wrapper that always continues: %j, %s", async (rules, path, url) => {
    const guard = protect(serverFor(rules));
    const ran = vi.fn(run);
    const app = express().use((request, response, next) => {
      guard(request, response, () => undefined);
      request.url = url;
      next();
    });
    const port = await serve(app.get(path, ran).use(recording([])));
    expect(await statusWith(port, "/x")).toBe(401);
    expect(await statusWith(port, "/x", [])).toBe(500);
    // A request is decided at once as soon as the token is remembered.
    await expect.poll(() => statusWith(port, "/x", [])).toBe(403);
    expect(ran).not.toHaveBeenCalled();
  });

  describe("with two guards", () => {
    it("requires what each requires at a route, and finds no principal if one refuses", async () => {
      const callers: unknown[] = [];
      const app = express().use((request, response, next) => {
        void once(response, "finish").then(() => callers.push(principalOf(request)?.userId));
        next();
      });
      for (const scope of ["first:read", "second:read"])
        app.use(protect(serverFor({ "GET /:page": [scope], "GET /x": "public", "GET /y": [] })));
      const port = await serve(app.get("/:page", run));
      for (const path of ["/x", "/y"]) {
        expect(await statusWith(port, path, ["first:read"])).toBe(403);
        expect(await statusWith(port, path, ["second:read"])).toBe(403);
        expect(await statusWith(port, path, ["first:read", "second:read"])).toBe(200);
      }
      await expect
        .poll(() => callers)
        .toEqual([undefined, undefined, "user-1", undefined, undefined, "user-1"]);
    });

    it.each(["replaces", "deletes"])("keeps the caller when middleware %s the credential", async (kind) => {
      const gateway = await issuer.token({ sub: "gateway", scopes: ["self:read", "page:read"] });
      const rules: ScopeMappings = { "GET /self": ["self:read"], "GET /open": "public", "GET /:page": PAGE };
      const guard = protect(serverFor(rules));
      const change: RequestHandler = (request, _response, next) => {
        if (kind === "replaces") request.headers.authorization = `Bearer ${gateway}`;
        else delete request.headers.authorization;
        next();
      };
      const port = await serve(express().use(guard, change, guard).get("/:page", run));
      const get = async (path: string, ...scopes: readonly string[]) => {
        const { status, body } = await askWith(port, path, scopes);
        return status === 200 ? body : status;
      };
      expect(await get("/self", "self:read", "page:read")).toBe("user-1");
      expect(await get("/self", "self:read")).toBe(403);
      expect(await get("/other", "page:read")).toBe("user-1");
      expect(await get("/other", "self:read")).toBe(403);
      expect(await statusWith(port, "/open")).toBe(401);
      expect(await get("/open", "self:read")).toBe(403);
      expect(await get("/open", "page:read")).toBe("user-1");
    });
  });

  describe("with another copy of the package", () => {
    const TWO_COPIES =
      "Error: Another copy of scopegate guards this request, so this copy doesn't know its caller. Run `npm ls scopegate`, and install one version for the guard and the handlers.";

    it("checks the route for the guards of both, also without an application", async () => {
      vi.resetModules();
      const other = await import("scopegate/express");
      const rules = (scope: string) => serverFor({ "GET /x": [], "GET /:page": [scope] });
      const guards = [protect(rules("one:read")), other.protect(rules("two:read"))];
      const bothCallers: RequestHandler = (request, response) =>
        void response.end([principalOf(request)?.userId, other.principalOf(request)?.userId].join());
      const router = express.Router().get("/:page", bothCallers);
      // Each request gets the accessors of both copies.
      const plain = await serve((request, response) => {
        const steps = [...guards, router] as RequestHandler[];
        const next = (): void => {
          steps.shift()?.(request as Request, response as Response, next);
        };
        next();
      });
      for (const port of [plain, plain, await serve(express().use(...guards, router))]) {
        expect(await statusWith(port, "/x", ["one:read"])).toBe(403);
        expect(await statusWith(port, "/x", ["two:read"])).toBe(403);
        const allowed = await askWith(port, "/x", ["one:read", "two:read"]);
        expect(allowed).toMatchObject({ status: 200, text: "user-1,user-1" });
      }
    });

    it("throws an error in a handler that imports the copy that does not guard its request", async () => {
      vi.resetModules();
      const other = await import("scopegate/express");
      for (const handler of [
        other.requireScopes("x:read"),
        (request: Request, response: Response) => response.json(other.principalOf(request)),
      ]) {
        const faults: string[] = [];
        const app = guarded({ "GET /x": [] }).get("/x", handler as RequestHandler, run);
        expect(await statusOf(app.use(recording(faults)), "/x", ["x:read"])).toBe(500);
        expect(faults).toEqual([TWO_COPIES]);
      }
      expect(
        await statusOf(guarded({ "GET /x": [] }).get("/x", requireScopes("x:read"), run), "/x", ["x:read"]),
      ).toBe(200);
    });

    it("gives tools the issuers of a server of the other copy, for messages about rejected tokens", async () => {
      vi.resetModules();
      const other = await import("scopegate");
      const options = { serviceId: "agents-prod", verificationKeys: [issuer.publicPem] };
      for (const create of [createResourceServer, other.createResourceServer])
        expect(issuersOf(create(options)).map(({ token }) => token.audience)).toEqual([["agents-prod"]]);
    });

    it.each([
      ["an application", () => express()],
      ["a router without an application", () => express.Router()],
    ])("checks the first request for a route of %s that contains protect itself", async (_kind, create) => {
      vi.resetModules();
      const fresh = await import("scopegate/express");
      const host = create();
      host.get("/:page", fresh.protect(serverFor(RULES)), (_request, response) => void response.end("ran"));
      const port = await serve(
        (...values) => void Reflect.apply(host, undefined, [...values, () => undefined]),
      );
      expect(await statusWith(port, "/x", ["other:read"])).toBe(403);
      expect(await statusWith(port, "/x", PAGE)).toBe(200);
    });
  });

  describe("with a copy of a request", () => {
    const like = (request: Request): object =>
      Object.create(Object.getPrototypeOf(request) as object) as object;

    it.each<[string, (request: Request) => object]>([
      ["Object.create and Object.assign", (request) => Object.assign(like(request), request)],
      ["Object.create of the request", (request) => Object.create(request) as object],
      [
        "property descriptors",
        (request) => Object.defineProperties(like(request), Object.getOwnPropertyDescriptors(request)),
      ],
      ["a proxy", (request) => new Proxy(request, {})],
    ])("checks its route: %s", async (_kind, copy) => {
      const router = page();
      const app = guarded().use(
        (request, response, next) => void router(copy(request) as Request, response, next),
      );
      await expectChecked(await serve(app));
    });

    it("decides a spread copy by the rule for its path alone, until the route is checked", async () => {
      const router = page();
      let isCopied = true;
      const app = guarded({ "GET /x": ["x:read"], "GET /:page": PAGE }).use((request, response, next) => {
        router(isCopied ? Object.assign({}, request) : request, response, next);
      });
      const port = await serve(app);
      expect(await statusWith(port, "/x", ["x:read"])).toBe(200);
      expect(await statusWith(port, "/x", PAGE)).toBe(403);
      for (isCopied of [false, true]) {
        expect(await statusWith(port, "/X", ["x:read", "page:read"])).toBe(200);
        expect(await statusWith(port, "/X", ["x:read"])).toBe(403);
      }
    });

    it("does not change the prototype of all objects", async () => {
      const guard = protect(serverFor({ "GET /agents": [] }));
      const app = express().use((request, response, next) => {
        const { headers } = request;
        guard({ ...request, headers, method: "GET", url: "/x", originalUrl: "/x" }, response, next);
      });
      expect(await statusOf(app, "/x")).toBe(403);
      expect(Object.hasOwn(Object.prototype, "route")).toBe(false);
    });
  });

  describe("with other packages that change handlers", () => {
    interface Layer {
      handle: RequestHandler;
    }

    async function start(
      handlers: readonly RequestHandler[] = [],
      prepare?: (layers: readonly Layer[]) => void,
    ) {
      const app = guarded();
      const { stack } = app.route("/:page").get(...handlers, run);
      prepare?.(stack);
      return { port: await serve(app), stack: stack as unknown as Layer[] };
    }

    it("checks 600 requests when one wraps every handler that is assigned to a layer", async () => {
      let wraps = 0;
      // As express-async-errors does.
      const wrap = (handle: RequestHandler): RequestHandler => {
        wraps += 1;
        return (request, response, next) => handle(request, response, next);
      };
      const { port } = await start([], ([layer]) => {
        let current = wrap(layer?.handle ?? run);
        const set = (handle: RequestHandler) => void (current = wrap(handle));
        Object.defineProperty(layer, "handle", { get: () => current, set });
      });
      const agent = new Agent({ keepAlive: true });
      for (let turn = 0; turn < 12; turn += 1) {
        const asked = Array.from({ length: 50 }, () => statusWith(port, "/x", PAGE, { agent }));
        expect(new Set(await Promise.all(asked))).toEqual(new Set([200]));
      }
      agent.destroy();
      expect(await statusWith(port, "/x", [])).toBe(403);
      // The package wraps the handler, and then the check around it, also for requests that come at once.
      expect(wraps).toBeLessThan(100);
    });

    it("checks a handler that was put into a route after the first request", async () => {
      const { port, stack } = await start();
      expect(await statusWith(port, "/x", PAGE)).toBe(200);
      const handle: RequestHandler = (_request, response) => void response.end("inserted");
      const prototype = Object.getPrototypeOf(stack[0]) as object;
      stack.unshift(Object.assign(Object.create(prototype) as Layer, stack[0], { handle }));
      expect(await statusWith(port, "/x", [])).toBe(403);
      expect((await askWith(port, "/x", PAGE)).text).toBe("inserted");
    });

    it("keeps the name and the properties of a handler, and error handlers as they are", async () => {
      const onFault = (fault: Error, _request: unknown, response: Response, _next: unknown) => {
        response.status(418).json(fault.message);
      };
      const named: RequestHandler = Object.assign(
        function listAgents(_request: unknown, _response: unknown, next: (fault: Error) => void) {
          next(new Error("failed"));
        },
        { label: "agents" },
      );
      const { port, stack } = await start([named, onFault as unknown as RequestHandler]);
      expect(await askWith(port, "/x", PAGE)).toMatchObject({ status: 418, body: "failed" });
      expect(stack[0]?.handle).not.toBe(named);
      const { name, length, label } = stack[0]?.handle as RequestHandler & { readonly label?: string };
      expect({ name, length, label }).toEqual({ name: "listAgents", length: 3, label: "agents" });
      expect(stack[1]?.handle).toBe(onFault);
    });

    it("returns 500 at a route whose handler cannot be replaced, and does not run it", async () => {
      const { port } = await start([], ([layer]) => {
        Object.defineProperty(layer, "handle", { get: () => run, set: () => undefined });
      });
      for (let turn = 0; turn < 2; turn += 1) expect(await statusWith(port, "/x", PAGE)).toBe(500);
    });

    it("runs the handlers of a guarded route for requests that passed no guard", async () => {
      const router = page();
      const guard = protect(serverFor({ "GET /guarded/:page": PAGE }));
      const port = await serve(express().use("/open", router).use(guard).use("/guarded", router));
      expect(await statusWith(port, "/guarded/x", PAGE)).toBe(200);
      expect(await statusWith(port, "/guarded/x")).toBe(401);
      expect(await statusWith(port, "/open/x")).toBe(200);
    });
  });

  it("lets all requests share a hidden class, and all responses, and changes none of their values", async () => {
    const seen: [request: Request, response: Response][] = [];
    const app = guarded({ "GET /:page": "public" }).get("/:page", (request, response) => {
      seen.push([request, response]);
      const { statusMessage } = request;
      response.json({ statusMessage, sendDate: response.sendDate });
    });
    const port = await serve(app.disable("etag"));
    for (const path of ["/first", "/second", "/third"])
      expect((await askWith(port, path)).body).toEqual({ statusMessage: null, sendDate: true });
    const [, second, third] = seen;
    for (const index of [0, 1] as const)
      expect(haveSameClass(second?.[index] ?? {}, third?.[index] ?? {})).toBe(true);
  });

  it.each<[string, (response: Response) => object]>([
    ["of an object that cannot get it back", Object.preventExtensions],
    [
      "that is an accessor",
      (response) => Object.defineProperty(response, "sendDate", { configurable: true, get: () => true }),
    ],
  ])("leaves a property as it is %s", async (_, change) => {
    let before: PropertyDescriptor | undefined = undefined as PropertyDescriptor | undefined;
    const app = express().use((_request, response, next) => {
      // Node.js adds these when it writes the head.
      Object.assign(response, { statusCode: 200, statusMessage: "OK" });
      change(response);
      before = Object.getOwnPropertyDescriptor(response, "sendDate");
      next();
    });
    app.use(protect(serverFor({ "GET /x": "public" })), (_request, response) => {
      expect(Object.getOwnPropertyDescriptor(response, "sendDate")).toEqual(before);
      response.end();
    });
    const { status, headers } = await askWith(await serve(app), "/x");
    expect([status, headers["date"]]).toEqual([200, expect.any(String)]);
  });

  it("puts a property back while the prototype of all objects has `get`", async () => {
    const guard = protect(serverFor({ "GET /x": "public" }));
    const app = express().use((request, response, next) => {
      Object.defineProperty(Object.prototype, "get", {
        configurable: true,
        writable: true,
        value: "polluted",
      });
      try {
        guard(request, response, () => undefined);
      } finally {
        Reflect.deleteProperty(Object.prototype, "get");
      }
      next();
    });
    const port = await serve(app.use((_request, response) => void response.end()));
    for (let turn = 0; turn < 2; turn += 1) expect(await statusWith(port, "/x")).toBe(200);
  });

  it("reads a path once for all paths of a route", async () => {
    const paths = Array.from({ length: 200 }, (_path, index) => `/pages/page-${index}`);
    const app = guarded({ "GET /{*path}": "public" }).get([...paths, "/pages/:name"], run);
    const port = await serve(app);
    const path = `/pages/${"A".repeat(5_000)}`;
    // The first request reads the patterns.
    expect(await statusWith(port, path)).toBe(200);
    let folds = 0;
    vi.spyOn(String.prototype, "toUpperCase").mockImplementation(function (this: string) {
      if (this.length > 1_000) folds += 1;
      return this.toLocaleUpperCase("en");
    });
    expect(await statusWith(port, path)).toBe(200);
    expect(folds).toBeLessThan(10);
  });
});

describe("protect of scopegate/express below a mount of another framework", () => {
  const FAULT =
    "protect needs the path that it is mounted at, but connect, polka or @fastify/middie has removed it: mount protect, and Express routers, without a path.";
  const server = serverFor({
    "GET /": "public",
    "GET /x": "public",
    "GET /api/*path": ["api:read"],
    "GET /new": "public",
  });
  type Stripped = IncomingMessage & { method: string; url: string; originalUrl: string };

  /** A server that changes `url` and `originalUrl` as a framework does, and then runs the guard. */
  async function startWith(change: (request: Stripped) => void) {
    const guard = protect(server);
    const port = await serve((request, response) => {
      change(request as Stripped);
      guard(request as Stripped, response, (fault) => {
        response.statusCode = fault ? 500 : 200;
        response.end((fault as Error | undefined)?.message);
      });
    });
    return async (path: string) => {
      const { status, text } = await askWith(port, path);
      return status === 500 ? text : status;
    };
  }

  it.each<[string, (rest: string) => string]>([
    ["connect", (rest) => (rest.startsWith("/") ? rest : `/${rest}`)],
    ["polka", (rest) => rest || "/"],
  ])("fails a request whose mount path %s has removed", async (_framework, complete) => {
    const get = await startWith((request) => {
      request.originalUrl = request.url;
      if (request.url.startsWith("/api")) request.url = complete(request.url.slice("/api".length));
    });
    for (const path of ["/api", "/api/", "/api/x", "/api?y=1", "/api/x?y=1"])
      expect(await get(path), path).toBe(FAULT);
    for (const path of ["/x", "/x?y=1", "/"]) expect(await get(path), path).toBe(200);
  });

  it("checks the path that middleware has rewritten at the root, and a request without `originalUrl`", async () => {
    const rewritten = await startWith((request) => {
      request.originalUrl = request.url;
      request.url = request.url.replace(/^\/api\/old$/, "/new");
    });
    expect([await rewritten("/api/old"), await rewritten("/api/other")]).toEqual([200, 401]);
    const plain = await startWith(() => undefined);
    expect([await plain("/x"), await plain("/api/x")]).toEqual([200, 401]);
  });

  it("leaves the hidden class of a response that Express has not changed", async () => {
    const guard = protect(server);
    const port = await serve((request, response) => {
      guard(request as Stripped, response, () => {
        response.end(String(hasClassOfProperties(response)));
      });
    });
    expect((await askWith(port, "/x")).text).toBe("true");
  });

  it.each(FASTIFY_VERSIONS)(
    "fails a request at protect and at an Express router below @fastify/middie in %s",
    async (name, create) => {
      const middie = name === "Fastify 4" ? middie4 : middie5;
      const app = create();
      await app.register(middie);
      app.use("/api", protect(server) as never);
      app.get("/api/x", () => "ran");
      const { statusCode, body } = await app.inject("/api/x");
      expect([statusCode, (JSON.parse(body) as { message: string }).message]).toEqual([500, FAULT]);

      const behind = create();
      await behind.register(middie);
      await behind.register(forFastify.protect(server));
      behind.use("/api", express5.Router().get("/x", run) as never);
      const headers = { authorization: `Bearer ${await issuer.token({ scopes: ["api:read"] })}` };
      expect((await behind.inject({ url: "/api/x", headers })).statusCode).toBe(500);
      expect((await behind.inject("/api/x")).statusCode).toBe(401);
    },
  );
});
