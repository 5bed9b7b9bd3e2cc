/** Routes behind the mounts of Express: the whole pattern of a route counts, with every mount above it. */
import type { Express, RequestHandler } from "express";
import express5 from "express";
import { describe, expect, it, vi } from "vitest";
import type { ScopeMappings } from "scopegate";
import { protect } from "scopegate/express";
import { EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";

type Get = (path: string, ...scopes: readonly string[]) => Promise<number>;

async function start(app: Express): Promise<Get> {
  const port = await serve(app);
  return (path, ...scopes) => statusWith(port, path, scopes);
}

/** A narrow path under a parameter: the literal mount has another rule than the mount that was written. */
const LOGS: ScopeMappings = {
  "GET /api/:team/logs": ["teams:<team>:logs"],
  "GET /api/me/logs": [],
};

const handler: RequestHandler = (_request, response) => void response.end("ran");

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  const logs = () => express.Router().get("/logs", handler);

  /** Only the rule of the mount as it was written gives these answers. */
  async function expectWritten(get: Get) {
    expect(await get("/api/me/logs")).toBe(403);
    expect(await get("/api/me/logs", "teams:me:logs")).toBe(200);
    expect(await get("/api/web/logs", "teams:web:logs")).toBe(200);
    expect(await get("/api/web/logs", "teams:api:logs")).toBe(403);
  }

  it("requires the rule of the mount as it is written in a router that is mounted after the first request", async () => {
    const app = express().use(protect(serverFor(LOGS)));
    const router = logs();
    app.use("/other", router);
    const get = await start(app);
    expect(await get("/api/web/logs", "teams:web:logs")).toBe(404);
    app.use("/api/:team", router);
    await expectWritten(get);
  });

  it("requires the rule of the mount that a request passes, in a router that is mounted again later", async () => {
    const router = express.Router().get("/logs", handler);
    const rules: ScopeMappings = {
      "GET /api/:team/logs": ["teams:read"],
      "GET /api/web/logs": ["web:read"],
      "GET /:area/web/logs": ["area:logs"],
    };
    const app = express().use(protect(serverFor(rules)));
    const outer = express.Router();
    app.use("/api/:team", (request, response, next) => {
      if (request.headers.via) next();
      else router(request, response, next);
    });
    app.use(outer);
    const port = await serve(app);
    const get = (headers: [string, string][], ...scopes: readonly string[]) =>
      statusWith(port, "/api/web/logs", scopes, { headers });
    expect(await get([], "web:read", "teams:read")).toBe(200);
    outer.use("/:area/web", router);
    expect(await get([], "web:read", "teams:read")).toBe(200);
    expect(await get([], "web:read", "area:logs")).toBe(403);
    // The first mount is left, and the second one has the same requested path.
    expect(await get([["via", "outer"]], "web:read", "teams:read")).toBe(403);
    expect(await get([["via", "outer"]], "web:read", "area:logs")).toBe(200);
  });

  it.each<[string, (inner: RequestHandler) => RequestHandler]>([
    ["mounted twice", (inner) => inner],
    [
      "mounted and also called by hand",
      (inner) =>
        (...given) =>
          inner(...given),
    ],
  ])("answers canonical requests for an application that is %s", async (_how, secondMount) => {
    const inner = express().get("/logs/:id", handler);
    const rules: ScopeMappings = {
      "GET /a/logs/:id": ["a:<id>:read"],
      "GET /b/:team/logs/:id": ["b:<team>:read"],
    };
    const app = express().use(protect(serverFor(rules)));
    app.use("/a", inner).use("/b/:team", secondMount(inner));
    const get = await start(app);
    expect(await get("/a/logs/1", "a:1:read")).toBe(200);
    expect(await get("/a/logs/1", "a:2:read")).toBe(403);
    expect(await get("/b/web/logs/1", "b:web:read")).toBe(200);
    expect(await get("/b/web/logs/1", "b:api:read")).toBe(403);
  });

  it("requires the rule of the mount as it is written in a router that is called by hand", async () => {
    const router = express.Router().get("/:page", handler);
    const rules: ScopeMappings = { "GET /b/:team/x": [], "GET /b/:team/:page": ["page:read"] };
    const app = express().use(protect(serverFor(rules)));
    app.use("/a", router);
    app.use("/b/:team", (request, response, next) => {
      router(request, response, next);
    });
    const get = await start(app);
    for (const path of ["/b/web/x", "/b/a(b)/x", "/b/:team/x"]) {
      expect(await get(path), path).toBe(403);
      expect(await get(path, "page:read"), path).toBe(200);
    }
  });

  it("warns of no mount that a request passes behind protect", async () => {
    // The process is warned once by each copy of the package.
    vi.resetModules();
    const fresh = await import("scopegate/express");
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
    const inner = logs();
    const app = express().use(fresh.protect(serverFor({ ...LOGS, "* /{*path}": ["any:thing"] })));
    app.use("/api", (request, response, next) => {
      express().use("/:team", inner)(request, response, next);
    });
    await expectWritten(await start(app));
    expect(warn).not.toHaveBeenCalled();
  });

  it("requires every rule that a mount above protect may have, and warns once", async () => {
    vi.resetModules();
    const fresh = await import("scopegate/express");
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
    const inner = express.Router().use(fresh.protect(serverFor({ ...LOGS, "GET /{*path}": ["any:read"] })));
    const get = await start(express().use("/api/:team", inner.use(logs())));
    // Also for the first request, which passed the mounts before the guard knew the application.
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await get("/api/me/logs", "any:read")).toBe(403);
      expect(await get("/api/me/logs", "teams:me:logs")).toBe(403);
      expect(await get("/api/me/logs", "any:read", "teams:me:logs")).toBe(200);
    }
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining("use protect in the outermost application"), "ScopegateWarning"],
    ]);
  });

  it("keeps the pattern of mounts behind a guard that is mounted itself", async () => {
    const inner = express.Router().get("/", handler);
    const app = express();
    app.use("/x", protect(serverFor({ "GET /x/list": [], "GET /{*path}": ["any:read"] })));
    app.use("/x", express.Router().use("/list", inner));
    const get = await start(app);
    expect(await get("/x/list")).toBe(200);
  });

  it("requires the rules of the paths of a route up to the first one that surely matches", async () => {
    const rules: ScopeMappings = {
      "GET /a/1": [],
      "GET /a/:y": ["a:read"],
      "GET /:x/1": ["x:read"],
      "GET /:x/:y": [],
    };
    const statusFor = async (paths: string[], ...scopes: string[]) => {
      const app = express().use(protect(serverFor(rules)));
      app.get(paths, handler);
      return (await start(app))("/a/1", ...scopes);
    };
    expect(await statusFor(["/a/:y", "/:x/1"], "a:read")).toBe(200);
    expect(await statusFor(["/:x/1", "/a/:y"], "a:read")).toBe(403);
    expect(await statusFor(["/:x/1", "/a/:y"], "x:read")).toBe(200);
    // A case-sensitive router skips the first path, whose rule would be satisfied.
    delete (rules as Record<string, unknown>)["GET /a/:y"];
    expect(await statusFor(["/A/:y", "/:x/1"])).toBe(403);
  });

  it("decides by the path alone where a route or a mount is a regular expression", async () => {
    const rules: ScopeMappings = { "GET /a/:id": ["a:read"], "GET /b/:id": [], "GET /:x/:y": ["any:read"] };
    const app = express().use(protect(serverFor(rules)));
    app.get(/^\/[ab]\/1$/i, handler).use(/^\/[ab]/i, express.Router().get(/./, handler));
    const get = await start(app);
    for (const id of ["1", "2"]) {
      expect(await get(`/a/${id}`, "a:read")).toBe(200);
      expect(await get(`/b/${id}`)).toBe(200);
      expect(await get(`/a/${id}`)).toBe(403);
      // Another spelling of a path is refused at a route that no rule covers.
      expect(await get(`/A/${id}`, "a:read", "any:read")).toBe(400);
    }
  });

  it("requires the rules of two guards at the route", async () => {
    const rules = (scope: string): ScopeMappings => ({ "GET /x": [], "GET /:page": [scope] });
    const app = express().use(protect(serverFor(rules("one:read"))), protect(serverFor(rules("two:read"))));
    app.get("/:page", handler);
    const get = await start(app);
    expect(await get("/x", "one:read")).toBe(403);
    expect(await get("/x", "two:read")).toBe(403);
    expect(await get("/x", "one:read", "two:read")).toBe(200);
  });
});

it("protect requires the rule of each alternative of a mount with an optional group at the root", async () => {
  const get = await start(
    express5()
      .use(protect(serverFor({ "GET /me/reports": [], "GET /:team/reports": ["reports:read"] })))
      .use("/{:team}", express5.Router().get("/reports", handler)),
  );
  expect(await get("/me/reports")).toBe(403);
  expect(await get("/me/reports", "reports:read")).toBe(200);
});

it("protect answers 500 at a route whose handler cannot be replaced, and does not run it", async () => {
  const app = express5()
    .use(protect(serverFor({ "GET /agents/me": [] })))
    .get("/agents/:id", (_request, response) => void response.end("ran"))
    .use(
      (
        _error: unknown,
        _request: unknown,
        response: { writeHead(status: number): { end(): void } },
        _next: unknown,
      ) => {
        response.writeHead(500).end();
      },
    );
  const [layer] = app.router.stack.at(1)?.route?.stack ?? [];
  const handle: unknown = layer?.handle;
  Object.defineProperty(layer, "handle", { get: () => handle, set: () => undefined });
  const get = await start(app);
  expect(await get("/agents/me")).toBe(500);
  expect(await get("/agents/me")).toBe(500);
});
