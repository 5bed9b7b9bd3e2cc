/** Requests that a middleware has copied are checked at their routes from the first request on. */
import type { Request } from "express";
import { describe, expect, it } from "vitest";
import { principalOf, protect } from "scopegate/express";
import { askWith, EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";

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

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  it.each(copies)("checks the route of a request that was copied by %s", async (_kind, copy) => {
    const app = express();
    const server = serverFor({ "GET /x": [], "GET /:page": ["page:read"] });
    const router = express
      .Router()
      .get("/:page", (request, response) => response.json(principalOf(request)?.userId));
    app.use(protect(server));
    app.use((request, response, next) => {
      router(copy(request), response, next);
    });
    const port = await serve(app);
    expect(await statusWith(port, "/x", [])).toBe(403);
    expect(await askWith(port, "/x", ["page:read"])).toMatchObject({ status: 200, body: "user-1" });
    expect(await statusWith(port, "/x", [])).toBe(403);
  });

  it("does not change the prototype of all objects", async () => {
    const app = express();
    const server = serverFor({ "GET /agents": [] });
    app.use((request, response, next) => {
      const { headers } = request;
      protect(server)({ ...request, headers, method: "GET", url: "/x", originalUrl: "/x" }, response, next);
    });
    expect(await statusWith(await serve(app), "/x")).toBe(403);
    expect(Object.hasOwn(Object.prototype, "route")).toBe(false);
  });

  it("decides a spread copy of a request, which loses its prototype, by the rule for its path alone", async () => {
    const server = serverFor({ "GET /x": ["x:read"], "GET /:page": ["page:read"] });
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    const app = express().use(protect(server), (request, response, next) => {
      router(Object.assign({}, request), response, next);
    });
    const port = await serve(app);
    expect(await statusWith(port, "/x", ["x:read"])).toBe(200);
    expect(await statusWith(port, "/x", ["page:read"])).toBe(403);
  });

  it("treats a spread copy at a checked route like the request itself", async () => {
    const server = serverFor({ "GET /:page": ["page:read"], "GET /x": ["x:read"] });
    const router = express.Router().get("/:page", (_request, response) => void response.end("ran"));
    let isCopied = false;
    const app = express().use(protect(server), (request, response, next) => {
      router(isCopied ? Object.assign({}, request) : request, response, next);
    });
    const port = await serve(app);
    for (const copied of [false, true]) {
      isCopied = copied;
      expect(await statusWith(port, "/X", ["x:read", "page:read"])).toBe(200);
      expect(await statusWith(port, "/X", ["x:read"])).toBe(403);
    }
  });
});
