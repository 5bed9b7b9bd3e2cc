/**
 * Routes behind the mounts of Express: the whole pattern of a route counts, with every mount that the request has
 * passed, and no nesting of routers and applications hides it.
 */
import express5, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import { describe, expect, it, vi } from "vitest";
import type { ScopeMappings } from "scopegate";
import { protect } from "scopegate/express";
import { EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";

async function start(app: Express) {
  const port = await serve(app);
  return (path: string, ...scopes: readonly string[]) => statusWith(port, path, scopes);
}

const server = serverFor({ "GET /x/:team": ["teams:read"], "GET /x/list": ["list:read"], "GET /y": [] });

const run: RequestHandler = (_request, response) => void response.end("ran");
const pass: RequestHandler = (_request, _response, next) => {
  next();
};
const byHand =
  (router: RequestHandler): RequestHandler =>
  (request, response, next) =>
    router(request, response, next);
/** As `byHand`, after other requests could have run. */
const later =
  (router: RequestHandler): RequestHandler =>
  (request, response, next) => {
    setImmediate(() => router(request, response, next));
  };

type Host = typeof express5;

/** Each adds `GET /x/:team` behind a guard in another way. `test/routing` has the usual ways. */
const NESTINGS: Readonly<Record<string, (app: Express, host: Host) => unknown>> = {
  "routers that are mounted after the guard ran": (app, host) => {
    const router = host.Router();
    app.use("/x", router).use("/:first", (_request, _response, next) => {
      if (router.stack.length === 0) router.use("/:team", home(host));
      next();
    });
    app.use("/x", router);
  },
  "an application that is mounted twice": (app, host) => {
    const inner = host().get("/", run);
    app.use("/x/:team", inner).use("/y", inner);
  },
  "an application that is mounted, and also called by hand": (app, host) => {
    const inner = host().get("/", run);
    app.use("/y", inner).use("/x/:team", byHand(inner));
  },
  "an application that is mounted again in another application": (app, host) => {
    const inner = host().get("/", run);
    app.use("/x", host().use("/:team", inner));
    host().use("/x/list", inner);
    app.use("/y", inner);
  },
  "a router that is mounted in two parents": (app, host) => {
    const inner = home(host);
    app.use("/x", host.Router().use("/:team", inner)).use("/x/list", inner);
  },
  "nested mounts with several paths": (app, host) =>
    app.use(["/q", "/x"], host.Router().use(["/other", "/:team"], home(host))),
  "an array of middleware": (app, host) =>
    app.use("/x/:team", [pass, [host.Router().use(pass), home(host)]] as unknown as RequestHandler),
  "a router in a function": (app, host) =>
    app.use("/x", byHand(host.Router().use("/:team", byHand(home(host))))),
  "a router in a function that runs later": (app, host) =>
    app.use("/x", later(host.Router().use("/:team", later(home(host))))),
  "an application in a function": (app, host) =>
    app.use("/x", byHand(host().use("/:team", host().get("/", run)))),
  "a regular expression": (app, host) => app.use(/^\/x\/[a-z]+/i, home(host)),
  "a regular expression in front of a mount": (app, host) =>
    app.use(/^\/x/i, host.Router().use("/:team", home(host))),
  "a parameter next to text": (app, host) => app.use("/x/l:team", home(host)),
  "an optional parameter": (app, host) => app.use(host === express5 ? "/x{/:team}" : "/x/:team?", home(host)),
  "a wildcard": (app, host) => app.use(host === express5 ? "/x/*team" : "/x/*", home(host)),
  "a mount that the request has left": (app, host) => {
    app.use("/x", host.Router().use("/list", host.Router().get("/other", run)));
    app.use("/x/list", host.Router().use(pass)).use("/x/:team", home(host));
  },
  "the handler of errors": (app, host) => {
    app.use("/x/list", (_request, _response, next) => next(new Error("continues")));
    const onFault: ErrorRequestHandler = (_error, request, response, next) => {
      home(host)(request, response, next);
    };
    app.use("/x/:team", onFault);
  },
  "parameters that are loaded": (app, host) => {
    const outer = host.Router();
    outer.param("team", (_request, _response, next) => void setImmediate(next));
    app.use("/x", outer.use("/:team", home(host)));
  },
};

const home = (host: Host) => host.Router().get("/", run);

describe.each(EXPRESS_VERSIONS)("%s", (_, host) => {
  it.each(Object.entries(NESTINGS))("requires the rule for the route behind %s", async (__, nest) => {
    const app = host().use(protect(server));
    nest(app, host);
    const get = await start(app);
    // More than once: the first request of a process must not be decided in another way.
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await get("/x/list", "list:read")).toBe(403);
      expect(await get("/x/list", "teams:read")).toBe(403);
      expect(await get("/x/list", "list:read", "teams:read")).toBe(200);
      expect(await get("/x/list?a=/y", "list:read")).toBe(403);
      expect(await get("/X/list/", "list:read")).toBe(403);
    }
  });

  it("requires the rule for the route behind a guard in a router that the request has left", async () => {
    const guarded = host.Router().use(protect(server)).use("/list", pass);
    const get = await start(host().use("/x", guarded).use("/x/:team", home(host)));
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await get("/x/list", "list:read")).toBe(403);
      expect(await get("/x/list", "list:read", "teams:read")).toBe(200);
    }
  });

  it("requires only the rule for its own path behind mounts without parameters", async () => {
    const guard = protect(
      serverFor({
        "GET /x/list": ["list:read"],
        "GET /x/:team": ["teams:read"],
        "* /{*path}": ["any:thing"],
      }),
    );
    const router = host.Router().use("/list", host.Router().get("/", run));
    for (const app of [host().use(guard).use("/x", router), host().use("/x", guard).use("/x", router)])
      expect(await (await start(app))("/x/list", "list:read")).toBe(200);
  });
});

/** A narrow path under a parameter: the literal mount has another rule than the mount that was written. */
const LOGS: ScopeMappings = {
  "GET /api/:team/logs": ["teams:<team>:logs"],
  "GET /api/me/logs": [],
};

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  const logs = () => express.Router().get("/logs", run);

  /** Only the rule of the mount as it was written gives these answers. */
  async function expectWritten(get: Awaited<ReturnType<typeof start>>) {
    expect(await get("/api/me/logs")).toBe(403);
    expect(await get("/api/me/logs", "teams:me:logs")).toBe(200);
    expect(await get("/api/web/logs", "teams:web:logs")).toBe(200);
    expect(await get("/api/web/logs", "teams:api:logs")).toBe(403);
  }

  it("requires the rule for the mount as it is written in a router that is mounted after the first request", async () => {
    const app = express().use(protect(serverFor(LOGS)));
    const router = logs();
    app.use("/other", router);
    const get = await start(app);
    expect(await get("/api/web/logs", "teams:web:logs")).toBe(404);
    app.use("/api/:team", router);
    await expectWritten(get);
  });

  it("requires the rule for the mount that a request passes, in a router that is mounted again later", async () => {
    const router = logs();
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

  it("requires the rule for the mount as it is written in a router that is called by hand", async () => {
    const router = express.Router().get("/:page", run);
    const rules: ScopeMappings = { "GET /b/:team/x": [], "GET /b/:team/:page": ["page:read"] };
    const app = express().use(protect(serverFor(rules)));
    app.use("/a", router);
    app.use("/b/:team", byHand(router));
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

  it("requires the rules for the paths of a route up to the first one that surely matches", async () => {
    const rules: ScopeMappings = {
      "GET /a/1": [],
      "GET /a/:y": ["a:read"],
      "GET /:x/1": ["x:read"],
      "GET /:x/:y": [],
    };
    const statusFor = async (paths: string[], ...scopes: string[]) => {
      const app = express().use(protect(serverFor(rules)));
      app.get(paths, run);
      return (await start(app))("/a/1", ...scopes);
    };
    expect(await statusFor(["/a/:y", "/:x/1"], "a:read")).toBe(200);
    expect(await statusFor(["/:x/1", "/a/:y"], "a:read")).toBe(403);
    expect(await statusFor(["/:x/1", "/a/:y"], "x:read")).toBe(200);
    // A case-sensitive router skips the first path, whose rule would be satisfied.
    delete (rules as Record<string, unknown>)["GET /a/:y"];
    expect(await statusFor(["/A/:y", "/:x/1"])).toBe(403);
  });

  it("decides by the path alone where a route or a mount is a regular expression, and no rule is for all paths", async () => {
    const rules: ScopeMappings = { "GET /a/:id": ["a:read"], "GET /b/:id": [], "GET /:x/:y": ["any:read"] };
    const app = express().use(protect(serverFor(rules)));
    app.get(/^\/[ab]\/1$/i, run).use(/^\/[ab]/i, express.Router().get(/./, run));
    const get = await start(app);
    for (const id of ["1", "2"]) {
      expect(await get(`/a/${id}`, "a:read")).toBe(200);
      expect(await get(`/b/${id}`)).toBe(200);
      expect(await get(`/a/${id}`)).toBe(403);
      // Another spelling of a path is refused at a route that no rule covers.
      expect(await get(`/A/${id}`, "a:read", "any:read")).toBe(400);
    }
  });
});

it("protect requires the rule for each alternative of a mount with an optional group at the root", async () => {
  const get = await start(
    express5()
      .use(protect(serverFor({ "GET /me/reports": [], "GET /:team/reports": ["reports:read"] })))
      .use("/{:team}", express5.Router().get("/reports", run)),
  );
  expect(await get("/me/reports")).toBe(403);
  expect(await get("/me/reports", "reports:read")).toBe(200);
});
