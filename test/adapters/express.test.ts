/** `protect` of scopegate/express, on real servers. */
import type { ErrorRequestHandler, Express, RequestHandler, RequestParamHandler } from "express";
import express5 from "express";
import methodOverride from "method-override";
import { describe, expect, it } from "vitest";
import { protect } from "scopegate/express";
import { createTestIssuer } from "scopegate/testing";
import { EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";
import { createResourceServer } from "../support/server.ts";

const statusOf = async (app: Express, path: string, scopes: readonly string[]) =>
  statusWith(await serve(app), path, scopes);

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  it("allows a public mount path that is requested with and without a slash", async () => {
    const router = express.Router();
    router.use(protect(serverFor({ "GET /api": "public" })));
    router.get("/", (_request, response) => response.json("root"));
    const app = express().use("/api", router);
    expect(await statusOf(app, "/api", [])).toBe(200);
    expect(await statusOf(app, "/api?x=1", [])).toBe(200);
    expect(await statusOf(app, "/api/", [])).toBe(200);
  });

  it("finds the rule for a mount path in an application with strict routing", async () => {
    const router = express5.Router({ strict: true });
    router.get("/", (_request, response) => response.json("root"));
    const app = express();
    app.set("strict routing", true);
    router.use(protect(serverFor({ "GET /api": ["api:read"] })));
    app.use("/api", protect(serverFor({ "GET /api": ["api:read"] })), router);
    expect(await statusOf(app, "/api", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api", ["other:read"])).toBe(403);
  });

  it("writes nothing and runs no handler when a timeout has already sent a response", async () => {
    const app = express();
    let ran = 0;
    let answered: (() => void) | undefined;
    // Refuses the request after the timeout has answered it.
    const isRevoked = () => new Promise<boolean>((resolve) => (answered = () => resolve(true)));
    app.use((_request, response, next) => {
      next();
      const wait = (): void => {
        if (!answered) {
          setImmediate(wait);
          return;
        }
        response.status(503).end("timeout");
        answered();
      };
      wait();
    });
    app.use(protect(serverFor({ "GET /agents": [] }, { isRevoked })));
    app.use((_request, response) => {
      ran += 1;
      response.end();
    });
    const onFault: ErrorRequestHandler = (_error, _request, _response, _next) => {
      ran += 1;
    };
    app.use(onFault);
    expect(await statusOf(app, "/agents", ["agents:read"])).toBe(503);
    await new Promise(setImmediate);
    expect(ran).toBe(0);
  });

  describe.each([
    ["before the guard", { "DELETE /items/:id": [] }, ["override", "guard"]],
    [
      "after the guard of a public path",
      { "POST /items/:id": "public", "DELETE /items/:id": [] },
      ["guard", "override"],
    ],
    [
      "before the guard, for a route that isn't public",
      { "DELETE /{*path}": "public", "DELETE /items/:id": [] },
      ["override", "guard", "other path"],
    ],
    [
      "between two guards",
      { "POST /items/:id": [], "DELETE /items/:id": [] },
      ["guard", "override", "guard"],
    ],
  ] as const)(
    "compares a proof with the method on the wire if method-override runs %s",
    (_place, scopeMappings, order) => {
      const issuer = createTestIssuer();
      it.each([
        ["POST", 200],
        ["DELETE", 401],
      ])("htm: %s", async (method, status) => {
        const origin = "https://api.example";
        const server = createResourceServer({
          ...issuer.resourceServerOptions,
          scopeMappings,
          senderConstraint: { dpop: { origins: [origin] } },
        });
        const app = express();
        for (const part of order) {
          if (part === "guard") app.use(protect(server));
          if (part === "override") app.use(methodOverride("X-HTTP-Method-Override"));
          if (part === "other path")
            app.use((request, _response, next) => {
              request.url = request.url.replace("/alias", "/items");
              next();
            });
        }
        app.delete("/items/:id", (_request, response) => response.json("deleted"));
        const path = order.includes("other path" as never) ? "/alias/a" : "/items/a";
        const token = await issuer.token({ bound: "dpop" });
        const proof = await issuer.proofFor({ method, url: origin + path, token });
        const response = await fetch(`http://127.0.0.1:${await serve(app)}${path}`, {
          method: "POST",
          headers: { authorization: `DPoP ${token}`, dpop: proof, "x-http-method-override": "DELETE" },
        });
        expect(response.status).toBe(status);
      });
    },
  );

  describe("the parameters that a handler receives", () => {
    const server = serverFor({
      "* /orgs/:org{/*path}": ["orgs:<org>:use"],
      "GET /orgs/:org/users/:id": ["users:<id>:read"],
      "GET /free/:id": ["free:read"],
    });
    const run: RequestHandler = (_request, response) => void response.end("ran");
    const writeParams =
      (params: object): RequestHandler =>
      (request, _response, next) => {
        Object.assign(request.params, params);
        next();
      };
    const guarded = () => express().use(protect(server));

    it.each([
      ["12", 12, 200],
      ["12", { id: 13 }, 200],
      ["12", "13", 400],
      ["ACME", "acme", 400],
      ["007", 7, 400],
    ])(
      "refuses a request for %s only if app.param has written another value: %j",
      async (id, value, status) => {
        const app = guarded().get("/orgs/:org", run).get("/free/:org", run);
        app.param("org", (request, _response, next) => {
          Object.assign(request.params, { org: value });
          next();
        });
        expect(await statusOf(app, `/orgs/${id}`, [`orgs:${id}:use`])).toBe(status);
        expect(await statusOf(app, `/free/${id}`, ["free:read"])).toBe(200);
      },
    );

    it("compares parameters before the first handler of the route, and not again", async () => {
      const app = guarded();
      const route = app.route("/orgs/:org").post(run);
      route.get(writeParams({ org: "written by the first handler" })).get(run);
      expect(await statusOf(app, "/orgs/a", ["orgs:a:use"])).toBe(200);
    });

    it("compares parameters for HEAD before the first handler of HEAD, or else of GET", async () => {
      const change: RequestParamHandler = (request, _response, next) => {
        Object.assign(request.params, { org: "b" });
        next();
      };
      const app = guarded();
      app.param("org", change);
      const onError: ErrorRequestHandler = (_error, _request, _response, next) => {
        next();
      };
      app.route("/orgs/:org").get(run).head(onError, run);
      app.route("/orgs/:org/x").post(run).get(onError, run);
      const port = await serve(app);
      for (const path of ["/orgs/a", "/orgs/a/x"])
        expect(await statusWith(port, path, ["orgs:a:use"], { method: "HEAD" })).toBe(400);
    });

    it("compares parameters by their places, and those of a mount only if the router merges them", async () => {
      for (const mergeParams of [true, false]) {
        const inner = express.Router({ mergeParams }).get("/users/:id", run).get("/all/:name", run);
        const app = guarded().use("/orgs/:id", inner).get("/orgs/:org/users/:id/x", run);
        const scopes = ["orgs:a:use", "users:u+1:read"];
        expect(await statusOf(app, "/orgs/a/users/u+1", scopes)).toBe(200);
        expect(await statusOf(app, "/orgs/a/users/u+1/x", scopes)).toBe(200);
        inner.param("name", (request, _response, next) => {
          if (mergeParams) Object.assign(request.params, { id: "b" });
          next();
        });
        expect(await statusOf(app, "/orgs/a/all/x", scopes)).toBe(mergeParams ? 400 : 200);
      }
    });

    it("compares parameters for each path of a route", async () => {
      const app = guarded().get(["/orgs/:org", "/orgs/:org/:section", "/free/:id"], run);
      app.param("section", (request, _response, next) => {
        Object.assign(request.params, { org: "b" });
        next();
      });
      expect(await statusOf(app, "/orgs/a", ["orgs:a:use"])).toBe(200);
      expect(await statusOf(app, "/orgs/a/x", ["orgs:a:use"])).toBe(400);
    });
  });
});
