import express5 from "express";
import express4 from "express4";
import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { routesOf } from "scopegate/express";
import { createIssuer } from "../support/issuer.ts";

const handler: express5.RequestHandler = (_request, response) => void response.end();

const listed = (...apps: Parameters<typeof routesOf>) =>
  routesOf(...apps).map(({ method, pattern }) => `${method} ${pattern}`);

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("the routes of an application of %s", (_, express) => {
  it("are listed in the order of registration, whoever registered them", () => {
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

  it("carry the mounts of the routers above them", () => {
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

  it("are listed for mounted applications as well, which must be named", () => {
    const [app, admin, inner] = [express(), express(), express()];
    admin.get("/users/:id", handler);
    inner.get("/", handler);
    app.get("/health", handler);
    app.use("/admin", admin);
    admin.use("/:area", inner);
    expect(() => routesOf(app)).toThrow("mounted at /admin: name each of them once as well");
    expect(() => routesOf(app, admin)).toThrow("mounted at /:area: name each");
    expect(() => routesOf(app, inner)).toThrow("mounted at /admin: name each");
    expect(() => routesOf(app, express())).toThrow("mounted at /admin: name each");
    expect(listed(app, admin, inner)).toEqual(["GET /health", "GET /admin/users/:id", "GET /admin/:area"]);
    expect(listed(express().use("/x", express.Router().use("/y", express().get("/z", handler))))).toEqual([
      "GET /x/y/z",
    ]);
  });

  it("are not listed for an application that is mounted twice, of which Express keeps one place", () => {
    const [app, inner] = [express(), express()];
    app.use("/a", inner);
    app.use("/b", inner);
    expect(() => routesOf(app, inner, inner)).toThrow("One that is mounted twice must be a router.");
  });

  it("show what is no pattern as it is", () => {
    const app = express();
    app.get(/^\/re/, handler);
    app.use(/^\/mount/, express.Router().get("/below", handler));
    expect(listed(app)).toEqual([String.raw`GET RegExp /^\/re/`, "GET unknown mount /below"]);
  });

  it("are written as the table writes them, optional groups and older syntax included", () => {
    const app = express();
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
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [createIssuer().publicPem],
      scopeMappings: { "GET /posts": [], "GET /posts/:post": [], "GET /files/{*name}": [], "GET /both": [] },
    });
    expect(server.audit(routesOf(app)).ok).toBe(true);
  });

  it("show a mount that Express 4 keeps as an expression only as unknown", () => {
    const app = express();
    app.use("/of-:name", express.Router().get("/below", handler));
    expect(listed(app)).toEqual([express === express5 ? "GET /of-:name/below" : "GET unknown mount /below"]);
  });

  it("show a mount of which one path is an expression as unknown", () => {
    const app = express();
    app.use(["/a", /^\/b/], express.Router().get("/below", handler));
    expect(listed(app)).toEqual(["GET unknown mount /below"]);
  });

  it("are not listed without an application that is mounted at an expression", () => {
    const app = express();
    app.use(/^\/area/, express().get("/x", handler));
    expect(() => routesOf(app)).toThrow("mounted at an unknown path: name each");
  });

  it("end where a router is mounted in itself", () => {
    const router = express.Router().get("/x", handler);
    router.use("/again", router);
    expect(listed(router)).toEqual(["GET /x"]);
  });

  it.each([[undefined], [{}], ["app"], [handler]])("are not listed for %j", (value) => {
    expect(() => routesOf(value as never)).toThrow(
      "routesOf takes Express applications: write routesOf(app).",
    );
  });
});

it("shows a mount as unknown that the router keeps no path of, as Express 5 did before 5.3", () => {
  const app = express5();
  app.use("/mount", express5.Router().get("/below", handler));
  for (const layer of app.router.stack) Object.assign(layer, { rawPath: undefined });
  expect(listed(app)).toEqual(["GET unknown mount /below"]);
});
