import { createServer } from "node:http";
import express, { type Express, Router } from "express";
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
  ["Express 4", express4 as unknown as typeof express],
  ["Express 5", express],
])("%s", (_, create) => {
  it("checks the URL that the router serves when a middleware rewrote it", async () => {
    const app = create();
    app.use((request, _response, next) => {
      request.url = request.url.replace("/public/", "/");
      next();
    });
    app.use(protect(serverFor({ "GET /public/*path": "public", "GET /secret": ["secret:read"] })));
    app.get("/secret", (_request, response) => response.json("secret"));
    expect(await statusOf(app, "/public/secret", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/public/secret", ["secret:read"])).toBe(200);
  });

  it("writes the rules of a mounted router with the whole path, wherever protect stands", async () => {
    const router = Router();
    const server = serverFor({ "GET /api/v1/things/:id": ["things:<id>:read"], "GET /api/v1": ["api:read"] });
    router.use(protect(server));
    router.get("/things/:id", (_request, response) => response.json("thing"));
    router.get("/", (_request, response) => response.json("root"));
    const inner = create();
    inner.use("/v1", router as never);
    const app = create();
    app.use("/api", inner);
    expect(await statusOf(app, "/api/v1/things/7", ["things:7:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1/things/8", ["things:7:read"])).toBe(403);
    expect(await statusOf(app, "/api/v1", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1?x=1", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api/v1/", ["other:read"])).toBe(403);
    expect(await statusOf(app, "/API/v1/things/8", ["things:7:read"])).toBe(403);
  });

  it("finds the rule of a mount path in a strict application too", async () => {
    const router = Router({ strict: true });
    router.get("/", (_request, response) => response.json("root"));
    const app = create();
    app.set("strict routing", true);
    router.use(protect(serverFor({ "GET /api": ["api:read"] })));
    app.use("/api", protect(serverFor({ "GET /api": ["api:read"] })), router);
    expect(await statusOf(app, "/api", ["api:read"])).toBe(200);
    expect(await statusOf(app, "/api", ["other:read"])).toBe(403);
  });

  const siblings = () => {
    const app = create();
    app.get("/agents/me", (_request, response) => response.json("me"));
    app.get("/agents/:id", (_request, response) => response.json("id"));
    return app;
  };
  const policy: ScopeMappings = { "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] };

  it.each([
    ["/agents/me", 200],
    ["/agents/ME", 400],
    ["/agents/m%65", 400],
    ["/agents/web", 403],
    ["/agents/me/", 200],
  ])(
    "reads a path as a lenient router does, and takes no spelling that another router reads otherwise: %s",
    async (path, status) => {
      const app = create();
      app.use(protect(serverFor(policy)));
      app.use(siblings());
      expect(await statusOf(app, path, [])).toBe(status);
    },
  );

  it.each([
    ["/agents/me", 200],
    ["/agents/ME", 403],
    ["/agents/me/", 403],
  ])("takes the options of protect for what the routers do: %s", async (path, status) => {
    const app = create();
    app.set("case sensitive routing", true);
    app.set("strict routing", true);
    app.use(protect(serverFor(policy), { caseSensitive: true, strict: true }));
    app.get("/agents/me", (_request, response) => response.json("me"));
    expect(await statusOf(app, path, [])).toBe(status);
  });

  it.each(["/api/ME", "/API/ME", "/api/me/", "/API/me"])(
    "does not take the settings of an application for those of its routers: %s",
    async (path) => {
      const router = create.Router();
      router.get("/me", (_request, response) => response.json("me"));
      router.get("/:id", (_request, response) => response.json("id"));
      const app = create();
      app.set("case sensitive routing", true);
      app.set("strict routing", true);
      app.use(protect(serverFor({ "GET /api/me": ["api:admin"], "GET /api/:id": [] })));
      app.use("/api", router as never);
      expect(await statusOf(app, path, [])).toBeGreaterThanOrEqual(400);
    },
  );

  it.each(["/api/ME", "/API/ME", "/Api/mE"])(
    "refuses a spelling that a stricter router inside reads as another rule's: %s",
    async (path) => {
      const router = create.Router({ caseSensitive: true });
      router.get("/me", (_request, response) => response.json("me"));
      router.get("/:id", (_request, response) => response.json("id"));
      const app = create();
      app.use(protect(serverFor({ "GET /api/me": [], "GET /api/:id": ["api:admin"] })));
      app.use("/api", router as never);
      expect(await statusOf(app, path, [])).toBe(400);
    },
  );

  it.each(["/PUBLIC/x", "/health/", "/HEALTH"])(
    "opens a public rule to its exact spelling only: %s",
    async (path) => {
      const app = create();
      app.use(protect(serverFor({ "GET /public/*path": "public", "GET /health": "public" })));
      app.use((_request, response) => {
        response.json("ran");
      });
      expect(await statusOf(app, path, [])).toBe(400);
    },
  );

  it.each([
    ["/files/report.pdf", ["files:report:read"], 200],
    ["/files/report.secret.pdf", ["files:report:read"], 400],
    ["/files/report.secret.pdf", ["files:read"], 400],
  ])(
    "refuses %s, whose parameters routers cut in different places, with %j by %i",
    async (path, scopes, status) => {
      const app = create();
      app.use(protect(serverFor({ "GET /files/:name.:ext": ["files:<name>:read"] })));
      app.get("/files/:name.:ext", (request, response) => response.json(request.params));
      expect(await statusOf(app, path, scopes)).toBe(status);
    },
  );

  it("tells a program that uses requireScopes without protect, and lets nobody in", async () => {
    const app = create();
    app.get("/agents", requireScopes("agents:read"), (_request, response) => response.json("ran"));
    let fault: Error | undefined;
    app.use(((error: Error, _request: unknown, response: express.Response, _next: unknown) => {
      fault = error;
      response.status(500).end();
    }) as express.ErrorRequestHandler);
    expect(await statusOf(app, "/agents", ["agents:read"])).toBe(500);
    expect(fault?.message).toContain("requireScopes needs protect(server) in front of it");
  });

  it("hands a rejected check to the error handler, once", async () => {
    const app = create();
    let faults = 0;
    app.use(
      protect(
        createResourceServer({
          serviceId: "agents-prod",
          verificationKeys: [issuer.publicPem],
          now: () => NaN,
        }),
      ),
    );
    app.get("/agents", (_request, response) => response.json("ran"));
    app.use(((_error: Error, _request: unknown, response: express.Response, _next: unknown) => {
      faults += 1;
      response.status(500).end();
    }) as express.ErrorRequestHandler);
    expect(await statusOf(app, "/agents", ["agents:read"])).toBe(500);
    expect(faults).toBe(1);
  });

  it("says nothing, and lets nobody in, where a timeout in front has answered already", async () => {
    const app = create();
    let ran = 0;
    let answered: (() => void) | undefined;
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      // The answer comes when somebody else has given one.
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
    expect(await statusOf(app, "/agents", ["agents:read"])).toBe(503);
    expect(ran).toBe(0);
  });

  it("knows no principal of a request that it never saw", () => {
    expect(principalOf({})).toBeUndefined();
  });
});
