/** Requests that a middleware has copied are checked at their routes from the first request on. */
import { createServer } from "node:http";
import express5, { type Request } from "express";
import express4 from "express4";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const copies: readonly (readonly [string, (request: Request) => Request])[] = [
  [
    "Object.create and Object.assign",
    (request) => Object.assign(Object.create(Object.getPrototypeOf(request) as object) as Request, request),
  ],
  ["Object.create of the request", (request) => Object.create(request) as Request],
  [
    "property descriptors",
    (request) =>
      Object.create(
        Object.getPrototypeOf(request) as object,
        Object.getOwnPropertyDescriptors(request),
      ) as Request,
  ],
  ["a proxy", (request) => new Proxy(request, {})],
];

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("protect in %s", (_, express) => {
  it.each(copies)("checks the route of a request that was copied by %s", async (_kind, copy) => {
    const app = express();
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: { "GET /x": [], "GET /:page": ["page:read"] },
    });
    const router = express
      .Router()
      .get("/:page", (request, response) => response.json(principalOf(request)?.userId));
    app.use(protect(server));
    app.use((request, response, next) => {
      router(copy(request), response, next);
    });
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    const [none, right] = [await issuer.token({ scopes: [] }), await issuer.token({ scopes: ["page:read"] })];
    expect((await ask(port, { path: "/x", token: none })).status).toBe(403);
    expect(await ask(port, { path: "/x", token: right })).toMatchObject({ status: 200, body: "user-1" });
    expect((await ask(port, { path: "/x", token: none })).status).toBe(403);
  });

  it("does not change the prototype of all objects", async () => {
    const app = express();
    const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] });
    app.use((request, response, next) => {
      const { headers } = request;
      protect(server)({ ...request, headers, method: "GET", url: "/x", originalUrl: "/x" }, response, next);
    });
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    expect((await ask(port, { path: "/x" })).status).toBe(403);
    expect(Object.hasOwn(Object.prototype, "route")).toBe(false);
  });

  it("decides a spread copy of a request, which loses its prototype, by the rule of its path alone", async () => {
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: { "GET /x": ["x:read"], "GET /:page": ["page:read"] },
    });
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    const app = express().use(protect(server), (request, response, next) => {
      router(Object.assign({}, request), response, next);
    });
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    const statusOf = async (...scopes: readonly string[]) =>
      (await ask(port, { path: "/x", token: await issuer.token({ scopes }) })).status;
    expect(await statusOf("x:read")).toBe(200);
    expect(await statusOf("page:read")).toBe(403);
  });

  it("treats a spread copy at a checked route like the request itself", async () => {
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: { "GET /:page": ["page:read"], "GET /x": ["x:read"] },
    });
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    let isCopied = false;
    const app = express().use(protect(server), (request, response, next) => {
      router(isCopied ? Object.assign({}, request) : request, response, next);
    });
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    const statusOf = async (...scopes: readonly string[]) =>
      (await ask(port, { path: "/X", token: await issuer.token({ scopes }) })).status;
    for (const copied of [false, true]) {
      isCopied = copied;
      expect(await statusOf("x:read", "page:read")).toBe(200);
      expect(await statusOf("x:read")).toBe(403);
    }
  });
});
