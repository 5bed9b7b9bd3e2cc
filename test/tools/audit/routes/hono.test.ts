/** `routesOf` for Hono. */
import { type Context, Hono, type MiddlewareHandler, type Next } from "hono";
import { describe, expect, it } from "vitest";
import { serveStatic } from "@hono/node-server/serve-static";
import { mount } from "hono/mount";
import type { ScopeMappings } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { protect, requireScopes } from "scopegate/hono";
import { findingsOf, server, serverFor, unguardedOf } from "./support.ts";

const pass: MiddlewareHandler = async (_context, next) => next();
const listed = (app: object) =>
  routesOf(app).map(({ method, pattern, unguarded }) => `${unguarded ? "! " : ""}${method} ${pattern}`);

/** Without the server that guards the routes. */
const listedAgain = (app: object) => routesOf(app).map((route) => ({ ...route }));

describe("routesOf for Hono", () => {
  it("lists the routes of nested applications and base paths with their whole patterns", () => {
    const inner = new Hono().get("/", (c) => c.text("")).on(["PUT", "POST"], "/:id?", (c) => c.text(""));
    const app = new Hono();
    app.use(protect(server)).route("/a", inner);
    app.basePath("/b").all("/:id{[0-9]+}", (c) => c.text(""));
    app.get("/files/*", (c) => c.text(""));
    expect(listed(app)).toEqual([
      "GET /a",
      ...["PUT /a/:id", "PUT /a", "POST /a/:id", "POST /a", "* /b/:id", "GET /files/*path", "GET /files"],
    ]);
  });

  it.each([
    ["/mcp/", "/mcp", "! "],
    ["/mcp", "/mcp/", "! "],
    ["/mcp/:a/", "/mcp/x", "! "],
    ["/api/:x{[0-9]+}", "/api/mcp", "! "],
    ["/:x{[A-Z]+}", "/mcp", "! "],
    ["/mcp", "/mcp", ""],
    ["/mcp/", "/mcp/", ""],
    ["/mcp/*", "/mcp", ""],
    ["/:a", "/mcp", ""],
    ["/a/:id", "/a/:name", ""],
  ])("marks a route unless a guard at %s runs for it: %s", (guard, path, mark) => {
    const app = new Hono().use(guard, protect(server)).all(path, (c) => c.text("ran"));
    expect(listed(app)).toEqual([expect.stringMatching(new RegExp(`^${mark}\\* /`))]);
    expect(findingsOf(routesOf(app))).toHaveLength(mark === "" ? 0 : 1);
  });

  it("lists no middleware, and lists a route with middleware only once", () => {
    const app = new Hono().use(protect(server)).use(pass).use("/a/*", pass);
    app.get("/a", pass, requireScopes("a:read"), (c) => c.text(""));
    expect(listed(app)).toEqual(["GET /a"]);
  });

  it("marks routes that are registered before protect, or outside its path or method", () => {
    const app = new Hono().get("/early", (c) => c.text(""));
    app.use("/a/*", protect(server));
    app.get("/a/in", (c) => c.text("")).get("/out", requireScopes("a:read"), (c) => c.text(""));
    app.get("/own", protect(server), (c) => c.text("")).post("/own", (c) => c.text(""));
    expect(listed(app)).toEqual(["! GET /early", "GET /a/in", "! GET /out", "GET /own", "! POST /own"]);
    expect(routesOf(app).map(({ unguarded }) => unguarded?.message)).toContain(
      "is outside the paths of protect: requireScopes finds no caller, and every request gets 500.",
    );
  });

  it("lists a path that no pattern can express unchanged, guarded only if all of its application is", () => {
    const inner = new Hono().use(protect(server)).get("/:x{.+}", (c) => c.text(""));
    inner.onError((_error, c) => c.text("fault", 500));
    const app = new Hono().route("/a", inner).get("/b/:x{.+}", (c) => c.text(""));
    expect(listed(app)).toEqual(["GET RegExp /a/:x{.+}", "! GET RegExp /b/:x{.+}"]);
    expect(audit(server, routesOf(app)).findings.map(({ kind }) => kind)).toContain("route_unreadable");
  });

  const legacy = () => new Response("legacy");

  /** Mounts an application, with the method of the application or with the middleware. */
  const MOUNTS: readonly [string, (app: Hono, path: string) => unknown][] = [
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- Hono before 4.13 has only this method.
    ["app.mount", (app, path) => app.mount(path, legacy)],
    ["mount", (app, path) => app.all(`${path}/*`, mount(legacy))],
  ];

  it.each(MOUNTS)("marks a mounted application that %s registers before protect", async (_, mountAt) => {
    const app = new Hono();
    mountAt(app, "/legacy");
    app.use(protect(server));
    app.get("/agents", (c) => c.text(""));
    expect((await app.request("/legacy/users")).status).toBe(200);
    expect(listed(app)).toEqual(["! * /legacy{/*path}", "GET /agents"]);
    expect(findingsOf(routesOf(app)).map(({ message, hint }) => `${message} ${hint}`)).toEqual([
      '`* /legacy{/*path}` (a mounted application) is registered before protect: its handler runs without any check. Move app.use(protect(server)) before it. If anyone may call it, write "* /legacy{/*path}": "public" in scopeMappings.',
    ]);
  });

  it.each(MOUNTS)(
    "accepts rules for parts of an application that %s registers after protect",
    (_, mountAt) => {
      const app = new Hono();
      app.use(protect(server));
      mountAt(app, "/legacy");
      const kindsFor = (table: ScopeMappings) => {
        const routes = routesOf(app).map((route) => ({ ...route }));
        return audit(serverFor(table), routes).findings.map(({ kind, severity }) => `${severity} ${kind}`);
      };
      expect(kindsFor({ "GET /legacy/users": ["users:read"] })).toEqual([]);
      expect(kindsFor({ "GET /legacy/users": ["users:read"], "GET /legcy/x": [] })).toEqual([
        "error rule_unreached",
      ]);
      expect(kindsFor({ "GET /other": "public" })).toEqual(["error route_unmapped", "error rule_unreached"]);
    },
  );

  it("marks the routes of an application that app.route adds before protect", () => {
    const inner = new Hono();
    inner.get("/", (c) => c.text("")).get("/:id", pass, (c) => c.text(""));
    inner.onError((_error, c) => c.text("fault", 500));
    const app = new Hono();
    app.route("/early", inner).use(protect(server)).route("/late", inner);
    expect(listed(app)).toEqual(["! GET /early", "! GET /early/:id", "GET /late", "GET /late/:id"]);
  });

  it("lists static files, and marks those before protect, which are public unless they have a rule", () => {
    const app = new Hono().use("/brand/*", serveStatic({ root: "docs" })).use(protect(server));
    app.use("/manuals/*", serveStatic({ root: "docs" }));
    expect(listed(app)).toEqual(["! GET /brand{/*path}", "GET /manuals{/*path}"]);
    const kindsFor = (table: ScopeMappings) =>
      audit(serverFor({ "GET /manuals{/*path}": [], ...table }), listedAgain(app)).findings.map(
        ({ kind }) => kind,
      );
    expect(kindsFor({})).toEqual([]);
    expect(kindsFor({ "GET /brand{/*path}": ["brand:read"] })).toEqual(["route_unguarded"]);
  });

  it("marks a handler before protect, which is reported if a rule is meant for it", () => {
    const app = new Hono().use(pass).use("/graphql/*", pass).use(protect(server)).use("/docs/*", pass);
    expect(listed(app)).toEqual(["! * /graphql{/*path}"]);
    expect(listed(new Hono().use("/docs/*", pass).use(protect(server)).use("/docs/*", pass))).toEqual([]);
    const { findings } = audit(serverFor({ "POST /graphql": ["graph:query"] }), listedAgain(app));
    expect(findings.map(({ kind }) => kind)).toEqual(["route_unguarded"]);
  });

  const open = async (context: Context, _next: Next) => Promise.resolve(context.text("OPEN"));

  it("marks a handler before protect that a later handler of the same path follows, unless it calls that one", async () => {
    const app = new Hono();
    app.get("/report", open);
    app.get("/early", open, protect(server), (context) => context.text("guarded"));
    app.use(protect(server));
    app.get("/report", (context) => context.text("guarded"));
    expect((await app.request("/report")).status).toBe(200);
    expect(unguardedOf(routesOf(app))).toEqual(["GET /report"]);
    expect(findingsOf(routesOf(app))).toHaveLength(1);
    const behind = new Hono().use(protect(server));
    behind.get("/report", open, (context) => context.text("guarded"));
    expect(unguardedOf(routesOf(behind))).toEqual([]);
  });
});
