/** `protect` of scopegate/hono, on real servers. */
import { type Handler, Hono, type MiddlewareHandler } from "hono";
import { mount } from "hono/mount";
import type { Router } from "hono/router";
import { LinearRouter } from "hono/router/linear-router";
import { PatternRouter } from "hono/router/pattern-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import { getPath } from "hono/utils/url";
import { describe, expect, it } from "vitest";
import { principalOf, protect, requireScopes } from "scopegate/hono";
import { toPattern } from "../../src/adapters/hono/pattern.ts";
import { parseRoutePattern } from "../../src/core/policy/route-comparison.ts";
import { readPath } from "../../src/core/request.ts";
import { askWith, serve, serverFor } from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";
import type { Answer, Asked } from "../support/http.ts";
import { compareWithRoute } from "../support/policy.ts";

type Application = Pick<Hono, "fetch">;

const askFor = async (app: Application, asked: Asked, scopes?: readonly string[]): Promise<Answer> =>
  askWith(await serve(listenerOf(app.fetch)), asked.path, scopes, asked);

const statusOf = async (app: Application, path: string, scopes?: readonly string[], method = "GET") =>
  (await askFor(app, { path, method }, scopes)).status;

describe("protect in Hono", () => {
  // `test/routing` checks the order of routes, nested and mounted applications. These are other cases.
  it("requires the rule for app.all in a nested application with an error handler of its own", async () => {
    const inner = new Hono().all("/*", (context) => context.text("all"));
    inner.onError((_error, context) => context.text("fault", 500));
    const app = new Hono().use(protect(serverFor({ "* /a/*path": ["a:any"], "GET /a/open": "public" })));
    app.route("/a", inner);
    expect(await statusOf(app, "/a/open")).toBe(401);
    expect(await statusOf(app, "/a/open", ["a:any"])).toBe(200);
  });

  it("requires the rule for a handler with a rest parameter, which may call next", async () => {
    const app = new Hono().use(protect(serverFor({ "GET /a/me": "public", "GET /a/:id": ["a:read"] })));
    const pass: MiddlewareHandler = async (...given) => given[1]();
    app.get("/a/me", pass);
    app.get("/a/:id", (context) => context.text("any"));
    expect(await statusOf(app, "/a/me")).toBe(401);
  });

  it("compares the parameters of a rule with those of the handler, by their places", async () => {
    const rules = { "GET /orgs/:org/users/:id": ["users:<org>:read"], "GET /open/:id": [] };
    const app = new Hono().use(async (context, next) => {
      const written = context.req.header("x-params");
      if (written !== undefined)
        Object.assign(context.req, {
          param: (name: string) => (JSON.parse(written) as Record<string, unknown>)[name],
        });
      await next();
    });
    app.use(protect(serverFor(rules)));
    app.get("/orgs/:id/users/:id", (context) => context.text(context.req.param("id")));
    app.get("/open/:id", (context) => context.text("open"));
    const ask = async (path: string, params?: object) => {
      const headers = params ? [["x-params", JSON.stringify(params)] as const] : [];
      const { status, text } = await askFor(app, { path, headers }, ["users:a+b:read"]);
      return status === 200 ? text : status;
    };
    // Hono keeps the first value of a name.
    expect(await ask("/orgs/a+b/users/7")).toBe("a+b");
    expect(await ask("/orgs/a+b/users/7", { id: "7" })).toBe(400);
    expect(await ask("/open/a", { id: "b" })).toBe("open");
  });

  it("checks a handler that is registered in two applications", async () => {
    const inner = new Hono().get("/:id", (context) => context.text("ran"));
    const server = serverFor({ "GET /a/:id": ["a:read"], "GET /b/:id": ["b:read"] });
    const app = new Hono().use(protect(server)).route("/a", inner).route("/b", inner);
    for (const path of ["/a/1", "/b/1", "/a/1"])
      expect(await statusOf(app, path, [`${path.slice(1, 2)}:read`])).toBe(200);
    expect(await statusOf(app, "/b/1", ["a:read"])).toBe(403);
  });

  it("runs unguarded routes for requests that passed the guard of another path", async () => {
    const app = new Hono().use("/a/*", protect(serverFor({ "GET /a/:id": ["a:read"] })));
    app.get("/:all/:id", (context) => context.text("ran"));
    expect(await statusOf(app, "/a/1")).toBe(401);
    expect(await statusOf(app, "/b/1")).toBe(200);
  });

  it("keeps the caller when middleware replaces the request and its credential", async () => {
    const app = new Hono().use(protect(serverFor({ "GET /a": [] })));
    app.use(async (context, next) => {
      context.req.raw = new Request(context.req.url, { headers: { authorization: "Bearer forged" } });
      await next();
    });
    app.get("/a", (context) => context.json({ caller: principalOf(context)?.scopes }));
    expect((await askFor(app, { path: "/a" }, ["own:scope"])).body).toEqual({ caller: ["own:scope"] });
  });

  it("refuses a route that no longer matches after middleware changed the method or the path", async () => {
    const app = new Hono().use(protect(serverFor({ "* /:page": "public", "GET /b": "public" })));
    app.use(async (context, next) => {
      const { method, path } = context.req.query() as { method?: string; path?: string };
      if (method) context.req.raw = new Request(context.req.url, { method });
      if (path) context.req.path = path;
      await next();
    });
    app.get("/a", (context) => context.text("ran"));
    expect(await statusOf(app, "/a")).toBe(200);
    expect(await statusOf(app, "/a", undefined, "HEAD")).toBe(200);
    expect(await statusOf(app, "/a?method=DELETE")).toBe(400);
    expect(await statusOf(app, "/a?path=/b")).toBe(400);
  });

  it("checks the rule for every name in a batch, also if the application has its own getPath", async () => {
    const app = new Hono({ getPath: ({ url }) => `/red${new URL(url).pathname}` });
    app.use(protect(serverFor({ "GET /red/trpc/:name": [], "GET /red/trpc/remove": ["admin:run"] })));
    app.get("/red/trpc/:names", (context) => context.text("ran"));
    expect(await statusOf(app, "/trpc/list,add?batch=1", [])).toBe(200);
    expect(await statusOf(app, "/trpc/list,remove?batch=1", [])).toBe(403);
  });

  it("refuses a fragment, which Hono cuts off", async () => {
    const app = new Hono().use(protect(serverFor({ "GET /a": "public" })));
    app.get("/a", (context) => context.text("ran"));
    expect((await app.request("http://127.0.0.1/a#b")).status).toBe(400);
    expect((await app.request("http://127.0.0.1/a")).status).toBe(200);
  });

  it.each([false, true])(
    "puts the headers of earlier middleware on refusals, and keeps its own; after a response: %s",
    async (isEarly) => {
      const app = new Hono();
      app.use(async (context, next) => {
        context.header("x-request-id", "7");
        context.header("cache-control", "public");
        if (isEarly) context.res = context.text("early");
        await next();
      });
      app.use(protect(serverFor({ "GET /a": [] })));
      const { status, headers, text } = await askFor(app, { path: "/a" });
      expect([status, text.includes("early")]).toEqual([401, false]);
      expect(headers).toMatchObject({
        "x-request-id": "7",
        "cache-control": "no-store",
        "content-type": "application/problem+json",
        "www-authenticate": "Bearer",
      });
    },
  );

  it("fails every request in a version of Hono whose routes it cannot read", () => {
    const guard = protect(serverFor({ "GET /a": "public" }));
    const context = {
      req: { raw: new Request("http://127.0.0.1/a"), path: "/a" },
      newResponse: () => undefined,
    };
    expect(() => guard(context as never, () => Promise.resolve())).toThrow("install Hono 4.8 or later");
  });
});

describe("requireScopes in Hono", () => {
  const app = new Hono().use(protect(serverFor({ "GET /a/:id": [] })));
  app.get("/a/:id", requireScopes("a:<id>:read"), (context) => context.text(context.req.param("id")));

  it("reads the parameters of its route, decoded as the handler sees them", async () => {
    expect((await askFor(app, { path: "/a/x%2Cy" }, ["a:x,y:read"])).text).toBe("x,y");
    expect(await statusOf(app, "/a/x", ["a:x,y:read"])).toBe(403);
  });
});

describe("principalOf in Hono", () => {
  it("returns no caller on a public route, without a guard, and in a mounted application", async () => {
    const answer: Handler = (context) => context.text(principalOf(context)?.userId ?? "nobody");
    const inner = new Hono().get("/b", answer);
    const app = new Hono().get("/open", answer);
    app.use(protect(serverFor({ "GET /a": "public", "GET /m/b": [] }))).all("/m/*", mount(inner.fetch));
    app.get("/a", answer);
    for (const path of ["/open", "/a", "/m/b"])
      expect((await askFor(app, { path }, ["a:read"])).text).toBe("nobody");
  });
});

/** The patterns of routes: each matches at least the paths that Hono's routers match. */
const ROUTERS = { LinearRouter, PatternRouter, RegExpRouter, TrieRouter };

const SEGMENTS = ["", "a", "b", "web", "7", "a.png", "x-y", "caf%C3%A9", "a%20b", "%61", "a:b", "100%25"];
const PATHS = SEGMENTS.flatMap((first) => [
  `/${first}`,
  `/a/${first}/c`,
  ...SEGMENTS.flatMap((second) => [
    `/${first}/${second}`,
    `/a/${first}/${second}`,
    `/${first}/a/${second}/c`,
  ]),
]);

/** The paths as Hono's routers receive them. */
const ROUTED = PATHS.map((path) => getPath(new Request(`http://127.0.0.1${path}`)));

/** The paths that a router serves. */
function servedBy(Router: new () => Router<string>, route: string): readonly string[] {
  const router = new Router();
  router.add("GET", route, "served");
  return PATHS.filter((_, index) => {
    try {
      return router.match("GET", ROUTED[index] ?? "")[0].length > 0;
    } catch {
      // LinearRouter and RegExpRouter do not support every route.
      return false;
    }
  });
}

const matches = (pattern: string, text: string): boolean => {
  const path = readPath(text);
  const alternatives = parseRoutePattern(pattern)?.alternatives ?? [];
  return (
    path !== undefined && alternatives.some(({ segments }) => compareWithRoute(path, segments) !== undefined)
  );
};

const READABLE = [
  ...["/", "/*", "/a", "/a/", "/a/*", "/a/*/c", "/a/*/*", "/:x", "/:x?", "/a/:x", "/a/:x?", "/a/:x/*"],
  ...["/a/:x?/:y?", "/:x?/a/:y?", "/a/:x/c", "/a/:x-y", "/a/:x.png", "/a/:x{[0-9]+}", "/a/:x{[0-9]+}?"],
  ...["/a/:x{[a-z]{1,3}}/c", "/:x{\\d+}/*", "/café", "/a b/:x", "/a.png"],
];

describe.each(Object.entries(ROUTERS))("%s", (_, Router) => {
  it.each(READABLE)("matches with its pattern every path of %s that a router serves", (route) => {
    const served = servedBy(Router, route).filter((path) => readPath(path) !== undefined);
    expect(served.filter((path) => !matches(toPattern(route), path))).toEqual([]);
  });
});

it("tests only routes that some router serves", () => {
  for (const route of READABLE) {
    const served = [TrieRouter, PatternRouter].flatMap((Router) => servedBy(Router, route));
    expect(served, route).not.toEqual([]);
  }
});

it("returns no pattern that a rule could cover for a path that no pattern can express", () => {
  const texts = ["/a*", "/a*/b", "/a/v:x", "/a/:x{", "a"];
  const expressions = [".+", ".+\\.png", "[^/]+", "a/b"].map((expression) => `/a/:x{${expression}}`);
  for (const route of [...texts, ...expressions, "/a/:x-y{[0-9]+}", "/a/:x{[0-9]+}b"])
    expect(parseRoutePattern(toPattern(route)), route).toBeUndefined();
});
