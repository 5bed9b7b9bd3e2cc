import express5 from "express";
import express4 from "express4";
import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { protect, routesOf } from "scopegate/express";
import { createIssuer } from "../support/issuer.ts";

const handler: express5.RequestHandler = (_request, response) => void response.end();

const listed = (...apps: Parameters<typeof routesOf>) =>
  routesOf(...apps).map(({ method, pattern }) => `${method} ${pattern}`);

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("routesOf of scopegate/express with %s", (_, express) => {
  it("lists routes in the order of registration", () => {
    const app = express();
    app.use(handler);
    app.get("/", handler);
    app.get("/agents/:id", handler, handler);
    app.route("/agents").get(handler).post(handler);
    app.all("/any", handler);
    app.head("/only-head", handler);
    app.route("/nothing");
    app.get(["/a/:x", "/b"], handler);
    expect(listed(app)).toEqual([
      "GET /",
      "GET /agents/:id",
      "GET /agents",
      "POST /agents",
      "* /any",
      "HEAD /only-head",
      "GET /a/:x",
      "GET /b",
    ]);
  });

  it("puts the mounts of the routers in front of a pattern", () => {
    const logs = express.Router().get("/logs/:line", handler).get("/", handler);
    const agents = express.Router().use("/:id-x.y/:part", logs).use("/me", logs);
    const app = express();
    app.use("/agents/", agents);
    app.use(["/v1", "/v2/:tenant"], express.Router().get("/deep", handler));
    app.use(express.Router().get("/shallow", handler));
    expect(listed(app)).toEqual([
      "GET /agents/:id-x.y/:part/logs/:line",
      "GET /agents/:id-x.y/:part",
      "GET /agents/me/logs/:line",
      "GET /agents/me",
      "GET /v1/deep",
      "GET /v2/:tenant/deep",
      "GET /shallow",
    ]);
  });

  it("lists the routes of mounted applications that are passed to it, and fails without them", () => {
    const [app, admin, inner] = [express(), express(), express()];
    admin.get("/users/:id", handler);
    inner.get("/", handler);
    app.get("/health", handler);
    app.use("/admin", admin);
    admin.use("/:area", inner);
    expect(() => routesOf(app)).toThrow("mounted at /admin: pass it as well: routesOf(app, mounted).");
    expect(() => routesOf(app, admin)).toThrow("mounted at /admin/:area: pass it as well");
    expect(() => routesOf(app, inner)).toThrow("mounted at /admin: pass it as well");
    expect(() => routesOf(app, express())).toThrow("mounted at /admin: pass it as well");
    expect(listed(app, admin, inner)).toEqual(["GET /health", "GET /admin/users/:id", "GET /admin/:area"]);
    expect(listed(express().use("/x", express.Router().use("/y", express().get("/z", handler))))).toEqual([
      "GET /x/y/z",
    ]);
  });

  it("fails for an application that is mounted twice, because Express keeps one of its mounts", () => {
    const [app, inner] = [express(), express()];
    app.use("/a", inner);
    app.use("/b", inner);
    expect(() => routesOf(app, inner, inner)).toThrow(
      "Replace an application that is mounted twice with a router.",
    );
  });

  it("lists a regular expression as its source", () => {
    const app = express();
    app.get(/^\/re/, handler);
    app.use(/^\/mount/, express.Router().get("/below", handler));
    expect(listed(app)).toEqual([String.raw`GET RegExp /^\/re/`, "GET unknown mount /below"]);
  });

  it("writes patterns in the syntax of the table, with optional groups written out", () => {
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [createIssuer().publicPem],
      scopeMappings: { "GET /posts": [], "GET /posts/:post": [], "GET /files/{*name}": [], "GET /both": [] },
    });
    const app = express().use(protect(server));
    const isFive = express === express5;
    app.get(isFive ? "/posts{/:id}" : "/posts/:id?", handler);
    app.get(isFive ? "/files/*path" : "/files/*", handler);
    app.route("/both").get(handler).head(handler);
    expect(listed(app)).toEqual([
      "GET /posts/:id",
      "GET /posts",
      "GET /files/*path",
      ...(isFive ? [] : ["GET /files/"]),
      "GET /both",
    ]);
    expect(server.audit(routesOf(app)).ok).toBe(true);
  });

  it("lists a mount that Express 4 keeps only as a regular expression as unknown", () => {
    const app = express();
    app.use("/of-:name", express.Router().get("/below", handler));
    expect(listed(app)).toEqual([express === express5 ? "GET /of-:name/below" : "GET unknown mount /below"]);
  });

  it("lists a mount with several paths as unknown when one of them is a regular expression", () => {
    const app = express();
    app.use(["/a", /^\/b/], express.Router().get("/below", handler));
    expect(listed(app)).toEqual(["GET unknown mount /below"]);
  });

  it("fails for an application that is mounted at a regular expression and not passed to it", () => {
    const app = express();
    app.use(/^\/area/, express().get("/x", handler));
    expect(() => routesOf(app)).toThrow("mounted at an unknown path: pass it as well");
  });

  it("stops where a router is mounted in itself", () => {
    const router = express.Router().get("/x", handler);
    router.use("/again", router);
    expect(listed(router)).toEqual(["GET /x"]);
  });

  it.each([[undefined], [{}], ["app"], [handler]])("throws for %j, which is not an application", (value) => {
    expect(() => routesOf(value as never)).toThrow(
      "routesOf takes Express applications: write routesOf(app).",
    );
  });
});

it("lists a mount as unknown when the router keeps no path, as Express 5 did before 5.3", () => {
  const app = express5();
  app.use("/mount", express5.Router().get("/below", handler));
  for (const layer of app.router.stack) Object.assign(layer, { rawPath: undefined });
  expect(listed(app)).toEqual(["GET unknown mount /below"]);
});

it("reads the mounts of Express 4.17, which compiled parameters to another regular expression", () => {
  const app = express4();
  app.use("/teams/:team", express4.Router().get("/logs", handler as never));
  const stack = (app as unknown as { _router: { stack: { regexp: RegExp }[] } })._router.stack;
  Object.assign(stack.at(-1) ?? {}, { regexp: /^\/teams\/(?:([^/]+?))\/?(?=\/|$)/i });
  expect(listed(app as never)).toEqual(["GET /teams/:team/logs"]);
});

it("recognizes protect at the root of an application when the router keeps no paths", () => {
  const server = createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [createIssuer().publicPem],
  });
  const app = express5().use(protect(server)).get("/agents", handler);
  for (const layer of app.router.stack) Object.assign(layer, { rawPath: undefined });
  expect([...routesOf(app)]).toEqual([{ method: "GET", pattern: "/agents" }]);
});
