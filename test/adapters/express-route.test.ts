/** Requests that something in front of an Express route has bent: nobody gets past the check of the route. */
import { createServer, type RequestListener } from "node:http";
import express5, { type RequestHandler } from "express";
import express4 from "express4";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { protect } from "scopegate/express";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const serverFor = (scopeMappings: ScopeMappings) =>
  createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], scopeMappings });

async function statusOf(listener: RequestListener, path: string, scopes: readonly string[]): Promise<number> {
  const { port, close } = await listen(createServer(listener));
  closing.push(close);
  return (await ask(port, { path, token: await issuer.token({ scopes }) })).status;
}

const answer: RequestHandler = (_request, response) => void response.end();

/** Has the routers behind it serve another URL. */
const rewrite =
  (url: string): RequestHandler =>
  (request, _response, next) => {
    request.url = url;
    next();
  };

/** Mounts a router where no application can tell that it does. */
const hidden =
  (router: RequestHandler): RequestHandler =>
  (request, response, next) =>
    void router(request, response, next);

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("%s", (_, express) => {
  it("refuses a URL without a path that a mounted router was made to serve", async () => {
    const router = express.Router().use(rewrite("*"), protect(serverFor({ "GET /*path": "public" })), answer);
    expect(await statusOf(express().use("/api", router), "/api/x", [])).toBe(400);
  });

  it("finds the rule of the path that a request without one was given in front of a mount", async () => {
    const router = express.Router().use(protect(serverFor({ "GET /api": ["api:read"] })), answer);
    const app = express().use(rewrite("/api")).use("/api", router);
    expect(await statusOf(app, "*", [])).toBe(403);
    expect(await statusOf(app, "*", ["api:read"])).toBe(200);
  });

  it("asks the route of the root", async () => {
    const app = express()
      .use(protect(serverFor({ "GET /": ["root:read"] })))
      .get("/", answer);
    expect(await statusOf(app, "/", [])).toBe(403);
    expect(await statusOf(app, "/", ["root:read"])).toBe(200);
  });

  it.each(["*", "/a//b"])(
    "refuses %s, which a middleware behind the guard has a route serve",
    async (url) => {
      const app = express().use(protect(serverFor({ "GET /*path": "public" })), rewrite(url));
      expect(await statusOf(app.get(/.*/, answer), "/x", [])).toBe(400);
    },
  );

  it.each([[{}], [undefined]])(
    "takes no other value for a route, which middleware may assign: %j",
    async (route) => {
      const assign: RequestHandler = (request, _response, next) => {
        request.route = route;
        next();
      };
      const app = express().use(protect(serverFor({ "GET /x": [], "GET /:page": ["page:read"] })), assign);
      app.get("/:page", assign, answer);
      expect(await statusOf(app, "/x", [])).toBe(403);
      expect(await statusOf(app, "/x", ["page:read"])).toBe(200);
    },
  );

  const policy: ScopeMappings = { "GET /api/x": [], "GET /api/:page": ["page:read"] };

  it("asks the routes of a router that runs without an application", async () => {
    const router = express.Router().use(protect(serverFor(policy)));
    router.use("/api", express.Router().get("/:page", answer));
    const listener: RequestListener = (request, response) =>
      router(request as never, response as never, () => response.writeHead(404).end());
    expect(await statusOf(listener, "/api/x", [])).toBe(403);
    expect(await statusOf(listener, "/api/x", ["page:read"])).toBe(200);
  });

  it("asks the routes of a request whose application was replaced by something else", async () => {
    const app = express().use(protect(serverFor(policy)));
    app.use("/api", (request, _response, next) => {
      request.app = { enabled: () => false } as never;
      next();
    });
    app.use("/api", express.Router().get("/:page", answer));
    expect(await statusOf(app, "/api/x", [])).toBe(403);
    expect(await statusOf(app, "/api/x", ["page:read"])).toBe(200);
  });

  it("does not take a mount that is told for the one that a request came through", async () => {
    const guard = protect(serverFor({ "GET /v:number/x": [], "GET /:tenant/x": ["tenant:x"] }));
    const router = express.Router().get("/x", answer);
    const inner = express().get("/x", answer);
    for (const app of [
      express()
        .use(guard)
        .use(/^\/\w\d/, router)
        .use("/v1", router),
      // Of an application Express keeps the last mount alone.
      express().use(guard).use("/:tenant", inner).use("/v1", inner),
    ]) {
      expect(await statusOf(app, "/v2/x", [])).toBe(403);
      expect(await statusOf(app, "/v2/x", ["tenant:x"])).toBe(200);
    }
    expect(await statusOf(express().use(guard).use("/v1", router), "/v1/x", [])).toBe(200);
  });

  it("asks the rule of a route again for another path that it has as well", async () => {
    const app = express().use(
      protect(serverFor({ "GET /agents/:id": ["agents:<id>:read"] })),
      rewrite("/agents/you"),
    );
    app.get("/agents/:id", answer);
    expect(await statusOf(app, "/agents/me", ["agents:me:read"])).toBe(403);
    expect(await statusOf(app, "/agents/me", ["agents:me:read", "agents:you:read"])).toBe(200);
  });

  it("asks the rule of each guard, and of that path of a list which Express takes", async () => {
    const pages: ScopeMappings = { "GET /x": [], "GET /:page": ["page:read"] };
    const guard = protect(serverFor(pages));
    for (const app of [
      express().use(guard).get(["/:page", "/x"], answer),
      express()
        .use(guard, protect(serverFor({ "GET /:page": [] })))
        .get("/:page", answer),
      express()
        .use(protect(serverFor({ "GET /:page": [] })), guard)
        .get("/:page", answer),
    ]) {
      expect(await statusOf(app, "/x", [])).toBe(403);
      expect(await statusOf(app, "/x", ["page:read"])).toBe(200);
    }
    expect(await statusOf(express().use(guard).get(["/x", "/:page"], answer), "/x", [])).toBe(200);
  });

  it("keeps what it has read of a route for as many mounts as it may, and for those asked last", async () => {
    let reads = 0;
    const router = express.Router();
    const route = router.route("/x").get(answer);
    const { path } = route;
    Object.defineProperty(route, "path", { get: () => ((reads += 1), path) });
    const app = express().use(protect(serverFor({ "GET /{*path}": [] })));
    app.use("/:mount", hidden(router));
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    const token = await issuer.token({ scopes: [] });
    const askAll = async (count: number): Promise<number> => {
      reads = 0;
      for (let index = 0; index < count; index += 1)
        expect((await ask(port, { path: `/m${index}/x`, token })).status).toBe(200);
      return reads;
    };
    // One more is kept for all of them: the mount may be a parameter.
    const [first, again] = [await askAll(19), await askAll(19)];
    expect(first).toBeGreaterThanOrEqual(20);
    expect(again).toBe(0);
    expect(await askAll(40)).toBeGreaterThan(0);
  });
});
