/** `protect` of scopegate/express, on real servers. */
import { createServer } from "node:http";
import express5, { type ErrorRequestHandler, type Express } from "express";
import express4 from "express4";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { principalOf, protect, requireScopes } from "scopegate/express";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const serverFor = (scopeMappings: ScopeMappings) =>
  createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], scopeMappings });

async function statusOf(
  app: Express,
  path: string,
  scopes: readonly string[],
  method = "GET",
): Promise<number> {
  const { port, close } = await listen(createServer(app));
  closing.push(close);
  return (await ask(port, { path, method, token: await issuer.token({ scopes }) })).status;
}

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("protect in %s", (_, express) => {
  it("checks the URL that an earlier middleware has rewritten", async () => {
    const app = express();
    app.use((request, _response, next) => {
      request.url = request.url.replace("/public/", "/");
      next();
    });
    app.use(protect(serverFor({ "GET /public/*path": "public", "GET /secret": ["secret:read"] })));
    app.get("/secret", (_request, response) => response.json("secret"));
    expect(await statusOf(app, "/public/secret", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/public/secret", ["secret:read"])).toBe(200);
  });

  it("requires the rule of a method that a middleware has written in lower case", async () => {
    const app = express();
    app.use((request, _response, next) => {
      request.method = request.method.toLowerCase();
      next();
    });
    app.use(protect(serverFor({ "* /x": [], "DELETE /x": ["x:delete"] })));
    app.delete("/x", (_request, response) => response.json("ran"));
    expect(await statusOf(app, "/x", [], "DELETE")).toBe(403);
    expect(await statusOf(app, "/x", ["x:delete"], "DELETE")).toBe(200);
  });

  it("finds the rule of the whole path inside mounted routers", async () => {
    const router = express5.Router();
    const server = serverFor({ "GET /api/v1/things/:id": ["things:<id>:read"], "GET /api/v1": ["api:read"] });
    router.use(protect(server));
    router.get("/things/:id", (_request, response) => response.json("thing"));
    router.get("/", (_request, response) => response.json("root"));
    const inner = express();
    inner.use("/v1", router);
    const app = express();
    app.use("/api", inner);
    expect(await statusOf(app, "/api/v1/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1/things/8", ["things:7:read"])).toBe(403);
    expect(await statusOf(app, "/api/v1", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1?x=1", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1/", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/API/v1/things/8", ["things:7:read"])).toBe(403);
  });

  it("allows a public mount path that is requested with and without a slash", async () => {
    const router = express.Router();
    router.use(protect(serverFor({ "GET /api": "public" })));
    router.get("/", (_request, response) => response.json("root"));
    const app = express().use("/api", router);
    expect(await statusOf(app, "/api", [])).toBe(200);
    expect(await statusOf(app, "/api?x=1", [])).toBe(200);
    expect(await statusOf(app, "/api/", [])).toBe(200);
  });

  it("finds the rule of a mount path in an application with strict routing", async () => {
    const router = express5.Router({ strict: true });
    router.get("/", (_request, response) => response.json("root"));
    const app = express();
    app.set("strict routing", true);
    router.use(protect(serverFor({ "GET /api": ["api:read"] })));
    app.use("/api", protect(serverFor({ "GET /api": ["api:read"] })), router);
    expect(await statusOf(app, "/api", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api", ["other:read"])).toBe(403);
  });

  it.each([
    ["/agents/me", [], 200],
    ["/agents/ME", [], 403],
    ["/agents/m%65", [], 403],
    ["/agents/me/", [], 200],
    ["/agents/ME", ["agents:read"], 200],
    ["/agents/m%65", ["agents:read"], 200],
    ["/agents/me/", ["agents:read"], 200],
    ["/agents/web", [], 403],
  ])(
    "requires every rule that a router may apply to %s: with %j it answers %i",
    async (path, scopes, status) => {
      const app = express();
      app.use(protect(serverFor({ "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] })));
      app.get("/agents/me", (_request, response) => response.json("me"));
      app.get("/agents/:id", (_request, response) => response.json("id"));
      expect(await statusOf(app, path, scopes)).toBe(status);
    },
  );

  it.each(["/api/ME", "/API/ME", "/api/me/", "/API/me"])(
    "refuses %s, which a router inside reads differently from its application",
    async (path) => {
      const router = express.Router();
      router.get("/me", (_request, response) => response.json("me"));
      router.get("/:id", (_request, response) => response.json("id"));
      const app = express();
      app.set("case sensitive routing", true);
      app.set("strict routing", true);
      app.use(protect(serverFor({ "GET /api/me": ["api:admin"], "GET /api/:id": [] })));
      app.use("/api", router);
      expect(await statusOf(app, path, [])).toBe(403);
    },
  );

  it.each(["/api/ME", "/API/ME", "/Api/mE"])(
    "refuses %s, which a case-sensitive router inside reads as the path of another rule",
    async (path) => {
      const router = express.Router({ caseSensitive: true });
      router.get("/me", (_request, response) => response.json("me"));
      router.get("/:id", (_request, response) => response.json("id"));
      const app = express();
      app.use(protect(serverFor({ "GET /api/me": [], "GET /api/:id": ["api:admin"] })));
      app.use("/api", router);
      expect(await statusOf(app, path, [])).toBe(403);
    },
  );

  it.each(["/PUBLIC/x", "/HEALTH/", "/HEALTH", "/h%65alth"])(
    "refuses %s, which does not spell a public rule exactly",
    async (path) => {
      const app = express();
      app.use(protect(serverFor({ "GET /public/*path": "public", "GET /health": "public" })));
      app.use((_request, response) => {
        response.json("ran");
      });
      expect(await statusOf(app, path, [])).toBe(400);
    },
  );

  it("fails a request at requireScopes without protect", async () => {
    const app = express();
    app.get("/agents", requireScopes("agents:read"), (_request, response) => response.json("ran"));
    let fault: Error | undefined;
    const onFault: ErrorRequestHandler = (error: Error, _request, response, _next) => {
      fault = error;
      response.status(500).end();
    };
    app.use(onFault);
    expect(await statusOf(app, "/agents", ["agents:read"])).toBe(500);
    expect(fault?.message).toContain(
      "requireScopes needs protect(server) of the same adapter in front of it",
    );
  });

  it("checks the scopes of requireScopes with the parameters of the route", async () => {
    const app = express();
    app.use(protect(serverFor({ "GET /agents/:id": [] })));
    app.get("/agents/:agent", requireScopes("logs:<agent>:read"), (_request, response) =>
      response.json("ran"),
    );
    expect(await statusOf(app, "/agents/web", ["logs:web:read"])).toBe(200);
    expect(await statusOf(app, "/agents/web", ["logs:api:read"])).toBe(403);
  });

  it("passes an error of the check to the error handler once", async () => {
    const app = express();
    let faults = 0;
    app.use(
      protect(
        createResourceServer({
          serviceId: "agents-prod",
          verificationKeys: [issuer.publicPem],
          scopeMappings: { "GET /agents": ["agents:read"] },
          now: () => NaN,
        }),
      ),
    );
    app.get("/agents", (_request, response) => response.json("ran"));
    const onFault: ErrorRequestHandler = (_error, _request, response, _next) => {
      faults += 1;
      response.status(500).end();
    };
    app.use(onFault);
    expect(await statusOf(app, "/agents", ["agents:read"])).toBe(500);
    expect(faults).toBe(1);
  });

  it("writes nothing and runs no handler when a timeout has already answered the request", async () => {
    const app = express();
    let ran = 0;
    let answered: (() => void) | undefined;
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: { "GET /agents": ["agents:read"] },
      // Refuses the request after the timeout has answered it.
      isRevoked: () => new Promise((resolve) => (answered = () => resolve(true))),
    });
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
    app.use(protect(server));
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

  it("continues to the handler in the same tick when the token is remembered", async () => {
    const app = express();
    const order: string[] = [];
    app.use((_request, _response, next) => {
      order.length = 0;
      next();
      order.push("after next()");
    });
    app.use(protect(serverFor({ "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] })));
    app.get("/agents/:id", (_request, response) => {
      order.push("handler");
      response.end();
    });
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    const token = await issuer.token({ scopes: ["agents:read"] });
    await ask(port, { path: "/agents/me", token });
    expect(order).toEqual(["after next()", "handler"]);
    await ask(port, { path: "/agents/me", token });
    expect(order).toEqual(["handler", "after next()"]);
  });
});

describe("principalOf of scopegate/express", () => {
  it("returns undefined for a request that passed no guard", () => {
    expect(principalOf({ headers: {}, originalUrl: "/" })).toBeUndefined();
  });
});
