/** `protect` of scopegate/hono, on real servers. */
import { type Handler, Hono, type MiddlewareHandler } from "hono";
import { some } from "hono/combine";
import { mount } from "hono/mount";
import { describe, expect, it } from "vitest";
import { principalOf, protect, requireScopes } from "scopegate/hono";
import { askWith, serve, serverFor } from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";
import type { Answer, Asked } from "../support/http.ts";

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

  it("puts the headers of earlier middleware on refusals, and keeps its own", async () => {
    const app = new Hono();
    app.use(async (context, next) => {
      context.header("x-request-id", "7");
      context.header("cache-control", "public");
      await next();
    });
    app.use(protect(serverFor({ "GET /a": [] })));
    const { status, headers } = await askFor(app, { path: "/a" });
    expect(status).toBe(401);
    expect(headers).toMatchObject({
      "x-request-id": "7",
      "cache-control": "no-store",
      "content-type": "application/problem+json",
      "www-authenticate": "Bearer",
    });
  });

  it("replaces a response that earlier middleware has set", async () => {
    const app = new Hono();
    app.use(async (context, next) => {
      context.res = context.text("early");
      await next();
    });
    app.use(protect(serverFor({ "GET /a": [] })));
    app.get("/a", (context) => context.text("late"));
    const answer = await askFor(app, { path: "/a" });
    expect([answer.status, answer.text.includes("early")]).toEqual([401, false]);
  });

  it("runs no handler behind middleware that ignores the refusal", async () => {
    const app = new Hono();
    app.use(some(protect(serverFor({ "GET /a": [] })), async (_context, next) => next()));
    app.get("/a", (context) => context.text("ran"));
    expect(await statusOf(app, "/a")).toBe(401);
  });

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
