/** The mounts that a request has passed: no nesting of routers and applications hides the pattern of a route. */
import express5, { type RequestHandler } from "express";
import { describe, expect, it } from "vitest";
import { protect } from "scopegate/express";
import { EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";

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

/** Each mounts `GET /x/:team` in another way, behind `guard`. */
const NESTINGS: Readonly<Record<string, (host: Host, guard: RequestHandler) => express5.Express>> = {
  "routers in routers": (host, guard) => {
    const outer = host.Router().use("/:team", host.Router().get("/", run));
    return host().use(guard).use(host.Router().use("/x", outer));
  },
  "routers that are mounted after the guard ran": (host, guard) => {
    const router = host.Router();
    const app = host().use(guard).use("/x", router);
    app.use(
      "/:first",
      byHand((_request, _response, next) => {
        if (router.stack.length === 0) router.use("/:team", host.Router().get("/", run));
        next();
      }),
    );
    return app.use("/x", router);
  },
  "applications in a router": (host, guard) => {
    const outer = host().use("/:team", host().get("/", run));
    return host().use(guard).use(host.Router().use("/x", outer));
  },
  "an application that is mounted twice": (host, guard) => {
    const inner = host().get("/", run);
    return host().use(guard).use("/x/:team", inner).use("/y", inner);
  },
  "an application that is mounted again in another application": (host, guard) => {
    const inner = host().get("/", run);
    const app = host().use(guard).use("/x", host().use("/:team", inner));
    host().use("/x/list", inner);
    return app.use("/y", inner);
  },
  "a router that is mounted in two parents": (host, guard) => {
    const inner = host.Router().get("/", run);
    const outer = host.Router().use("/:team", inner);
    return host().use(guard).use("/x", outer).use("/x/list", inner);
  },
  "a mount with several paths": (host, guard) =>
    host().use(guard).use(["/q", "/x/:team"], host.Router().get("/", run)),
  "nested mounts with several paths": (host, guard) =>
    host()
      .use(guard)
      .use(["/q", "/x"], host.Router().use(["/other", "/:team"], host.Router().get("/", run))),
  "an array of middleware": (host, guard) =>
    host()
      .use(guard)
      .use("/x/:team", [
        pass,
        [host.Router().use(pass), host.Router().get("/", run)],
      ] as unknown as RequestHandler),
  "a router in a function": (host, guard) =>
    host()
      .use(guard)
      .use("/x", byHand(host.Router().use("/:team", byHand(host.Router().get("/", run))))),
  "a router in a function that runs later": (host, guard) =>
    host()
      .use(guard)
      .use("/x", later(host.Router().use("/:team", later(host.Router().get("/", run))))),
  "an application in a function": (host, guard) =>
    host()
      .use(guard)
      .use("/x", byHand(host().use("/:team", host().get("/", run)))),
  "a regular expression": (host, guard) =>
    host()
      .use(guard)
      .use(/^\/x\/[a-z]+/i, host.Router().get("/", run)),
  "a regular expression in front of a mount": (host, guard) =>
    host()
      .use(guard)
      .use(/^\/x/i, host.Router().use("/:team", host.Router().get("/", run))),
  "a parameter next to text": (host, guard) =>
    host().use(guard).use("/x/l:team", host.Router().get("/", run)),
  "an optional parameter": (host, guard) =>
    host()
      .use(guard)
      .use(host === express5 ? "/x{/:team}" : "/x/:team?", host.Router().get("/", run)),
  "a wildcard": (host, guard) =>
    host()
      .use(guard)
      .use(host === express5 ? "/x/*team" : "/x/*", host.Router().get("/", run)),
  "a mount that the request has left": (host, guard) => {
    const dead = host.Router().use("/list", host.Router().get("/other", run));
    return host()
      .use(guard)
      .use("/x", dead)
      .use("/x/list", host.Router().use(pass))
      .use("/x/:team", host.Router().get("/", run));
  },
  "the handler of errors": (host, guard) =>
    host()
      .use(guard)
      .use("/x/list", (_request, _response, next) => {
        next(new Error("continues"));
      })
      .use("/x/:team", ((_error, request, response, next) => {
        host.Router().get("/", run)(request, response, next);
      }) satisfies express5.ErrorRequestHandler),
  "parameters that are loaded": (host, guard) => {
    const outer = host.Router();
    outer.param("team", (_request, _response, next) => void setImmediate(next));
    outer.use("/:team", host.Router().get("/", run));
    return host().use(guard).use("/x", outer);
  },
  "a guard in the router": (host, guard) => host().use("/x/:team", host.Router().use(guard).get("/", run)),
  "a guard in an application": (host, guard) =>
    host().use("/x", host().use(guard).use("/:team", host.Router().get("/", run))),
  "a guard in a router that the request has left": (host, guard) =>
    host()
      .use("/x", host.Router().use(guard).use("/list", pass))
      .use("/x/:team", host.Router().get("/", run)),
};

describe.each(EXPRESS_VERSIONS)("%s", (_, host) => {
  it.each(Object.entries(NESTINGS))("requires the rule of the route behind %s", async (__, nest) => {
    const port = await serve(nest(host, protect(server)));
    const get = (path: string, ...scopes: readonly string[]) => statusWith(port, path, scopes);
    // More than once: the first request of a process must not be decided in another way.
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await get("/x/list", "list:read")).toBe(403);
      expect(await get("/x/list", "teams:read")).toBe(403);
      expect(await get("/x/list", "list:read", "teams:read")).toBe(200);
      expect(await get("/x/list?a=/y", "list:read")).toBe(403);
      expect(await get("/X/list/", "list:read")).toBe(403);
    }
  });

  it("requires only the rule of its own path behind mounts without parameters", async () => {
    const open = serverFor({
      "GET /x/list": ["list:read"],
      "GET /x/:team": ["teams:read"],
      "* /{*path}": ["any:thing"],
    });
    const list = host.Router().get("/", run);
    const app = host().use(protect(open)).use("/x", host.Router().use("/list", list));
    expect(await statusWith(await serve(app), "/x/list", ["list:read"])).toBe(200);
  });
});
