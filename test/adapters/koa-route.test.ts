/** Requests that something around a route of @koa/router has bent: nobody gets past the check of the route. */
import { createServer } from "node:http";
import Router, { type RouterMiddleware } from "@koa/router";
import Koa3 from "koa";
import Koa2 from "koa2";
import mount from "koa-mount";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { protect } from "scopegate/koa";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const policy: ScopeMappings = { "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] };

const guarded = (scopeMappings: ScopeMappings = policy) =>
  protect(
    createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], scopeMappings }),
  ) as RouterMiddleware;

const answer: RouterMiddleware = (context) => {
  context.body = "ran";
};

type Ask = (...scopes: string[]) => Promise<[status: number, text: string]>;

describe.each([
  ["Koa 2", Koa2 as unknown as typeof Koa3],
  ["Koa 3", Koa3],
])("%s", (_, Koa) => {
  async function start(app: Koa3, path = "/agents/me"): Promise<Ask> {
    app.silent = true;
    const listener = app.callback();
    const { port, close } = await listen(
      createServer((request, response) => void listener(request, response)),
    );
    closing.push(close);
    return async (...scopes) => {
      const answer = await ask(port, { path, token: await issuer.token({ scopes }) });
      return [answer.status, answer.text];
    };
  }

  it.each([["always"], ["from the second request on"]])(
    "asks the routes of a request whose router was replaced by something else %s",
    async (when) => {
      const router = new Router();
      let requests = 0;
      router.use((context, next) => {
        requests += 1;
        if (when === "always" || requests > 1) context.router = {} as never;
        return next();
      });
      router.use(guarded()).get("/agents/:id", answer);
      const ask = await start(new Koa().use(router.routes() as never));
      for (let turn = 0; turn < 2; turn += 1) {
        expect((await ask("agents:web:read"))[0]).toBe(403);
        expect(await ask("agents:me:read")).toEqual([200, "ran"]);
      }
    },
  );

  it("tells a handler behind an inner guard its path, as the router does", async () => {
    const router = new Router().use(guarded()).get("/agents/:id", (context) => {
      context.body = context.routerPath;
    });
    const ask = await start(new Koa().use(router.routes() as never));
    expect(await ask("agents:me:read")).toEqual([200, "/agents/:id"]);
    expect(await ask("agents:me:read")).toEqual([200, "/agents/:id"]);
  });

  it("asks a route whose own middleware the guard is, at the first request and at later ones", async () => {
    const ran: string[] = [];
    const router = new Router().get("/agents/:id", guarded(), (context) => {
      ran.push(context.path);
      context.body = "ran";
    });
    const ask = await start(new Koa().use(router.routes() as never));
    expect((await ask())[0]).toBe(403);
    expect((await ask())[0]).toBe(403);
    expect(ran).toEqual([]);
    expect(await ask("agents:me:read")).toEqual([200, "ran"]);
  });

  it("asks a route whose own middleware the guard is behind another guard as well", async () => {
    const router = new Router().get("/agents/:id", guarded(), answer);
    const open = guarded({ "GET /agents/me": "public" });
    const ask = await start(new Koa().use(open as never).use(router.routes() as never));
    for (let turn = 0; turn < 2; turn += 1) {
      expect((await ask())[0]).toBe(403);
      expect(await ask("agents:me:read")).toEqual([200, "ran"]);
    }
  });

  it("hands on what a handler behind an inner guard throws", async () => {
    const faults: unknown[] = [];
    const fault = new Error("from the handler");
    const router = new Router().use(guarded()).get("/agents/:id", () => {
      throw fault;
    });
    const app = new Koa().on("error", (error) => faults.push(error));
    const ask = await start(app.use(router.routes() as never));
    expect((await ask("agents:me:read"))[0]).toBe(500);
    expect((await ask("agents:me:read"))[0]).toBe(500);
    expect(faults).toEqual([fault, fault]);
  });

  it("refuses an unreadable path that a middleware behind the guard has a route serve", async () => {
    const app = new Koa().use(guarded({ "GET /agents/me": "public" }) as never);
    app.use((context, next) => {
      context.url = "/agents//me";
      return next();
    });
    const ask = await start(app.use(new Router().get(/.*/, answer).routes() as never));
    expect((await ask())[0]).toBe(400);
  });

  describe("a route that was matched by another path than the request has when it runs, be its rule the same", () => {
    const goes =
      (from: string, to: string): RouterMiddleware =>
      (context, next) => {
        context.url = context.url.replace(from, to);
        return next();
      };
    const rules: ScopeMappings = { "GET /agents/:id": ["agents:meet"] };
    const other = new Router().get("/other", answer).routes();
    const passOn: RouterMiddleware = (context, next) => other(context, next) as unknown;

    it("is refused", async () => {
      const app = new Koa().use(guarded(rules) as never).use(goes("/me", "/you") as never);
      const router = new Router().use(goes("/you", "/me")).get("/agents/you", answer);
      const ask = await start(app.use(router.routes() as never));
      expect((await ask("agents:meet"))[0]).toBe(400);
    });

    it("is refused behind another router that looked for routes in between", async () => {
      const app = new Koa().use(guarded(rules) as never).use(goes("/me", "/you") as never);
      const router = new Router().use(goes("/you", "/me"), passOn).get("/agents/you", answer);
      const ask = await start(app.use(router.routes() as never));
      expect((await ask("agents:meet"))[0]).toBe(400);
    });

    it("is refused where the guard stands inside of its router", async () => {
      const app = new Koa().use(goes("/me", "/you") as never);
      const router = new Router().use(goes("/you", "/me"), guarded(rules), passOn);
      const ask = await start(app.use(router.get("/agents/you", answer).routes() as never));
      expect((await ask("agents:meet"))[0]).toBe(400);
      expect((await ask("agents:meet"))[0]).toBe(400);
    });
  });

  it("refuses a route that was matched by another method than the request has when it runs, be its rule the same", async () => {
    const turns =
      (method: string): RouterMiddleware =>
      (context, next) => {
        context.method = method;
        return next();
      };
    const app = new Koa().use(guarded({ "GET /agents/:id": [] }) as never).use(turns("POST") as never);
    const router = new Router().use(turns("GET")).post("/agents/me", answer).get("/agents/:id", answer);
    const ask = await start(app.use(router.routes() as never));
    expect((await ask())[0]).toBe(400);
  });

  it("asks the rule of a route again for another path that it has as well", async () => {
    const app = new Koa().use(guarded({ "GET /agents/:id": ["agents:<id>:read"] }) as never);
    app.use((context, next) => {
      context.url = "/agents/you";
      return next();
    });
    const ask = await start(app.use(new Router().get("/agents/:id", answer).routes() as never));
    expect((await ask("agents:me:read"))[0]).toBe(403);
    expect((await ask("agents:me:read", "agents:you:read"))[0]).toBe(200);
  });

  it("asks the rule of a route with its mount, be the rule met that it would have without", async () => {
    const app = new Koa().use(guarded({ "GET /:page{/me}": [], "GET /:area/:page": ["area:read"] }) as never);
    app.use(mount("/area", new Koa().use(new Router().get("/:page", answer).routes() as never)));
    const ask = await start(app, "/area/me");
    expect((await ask())[0]).toBe(403);
    expect((await ask("area:read"))[0]).toBe(200);
  });

  it.each([
    ["takes every path below its pattern", { end: false }],
    ["has the text of an expression for a pattern", { pathAsRegExp: true }],
  ])("refuses a route that %s, which nobody tells", async (_what, options) => {
    const router = new Router();
    router.register("/pages", ["GET"], [answer], options);
    const app = new Koa().use(guarded({ "GET /{*all}": [] }) as never).use(router.routes() as never);
    const ask = await start(app, "/pages/me");
    expect((await ask())[0]).toBe(400);
  });
});
