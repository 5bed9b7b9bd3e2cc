/** `principalOf` of each adapter: the caller that the guard has verified and allowed, and nobody else. */
import { createServer, IncomingMessage, type RequestListener } from "node:http";
import { type AddressInfo } from "node:net";
import express5 from "express";
import express4 from "express4";
import fastify from "fastify";
import Koa from "koa";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type Principal } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const createResource = () =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    scopeMappings: { "GET /public": "public", "GET /optional": "optional", "GET /scoped": ["scoped:read"] },
  });

/** Passes on what `principalOf` returns before the guard, in the handler, and after the response. */
type See = (place: "before" | "handler" | "after", principal: Principal | undefined) => void;
type Start = (see: See) => Promise<number>;

async function serve(listener: RequestListener): Promise<number> {
  const { port, close } = await listen(createServer(listener));
  closing.push(close);
  return port;
}

const startExpress =
  (express: typeof express5): Start =>
  (see) => {
    const app = express();
    app.use((request, response, next) => {
      see("before", forExpress.principalOf(request));
      response.on("finish", () => see("after", forExpress.principalOf(request)));
      next();
    });
    app.use(forExpress.protect(createResource()));
    app.use((request, response) => {
      see("handler", forExpress.principalOf(request));
      response.end();
    });
    return serve(app);
  };

const startKoa: Start = (see) => {
  const app = new Koa();
  app.use(async (context, next) => {
    see("before", forKoa.principalOf(context));
    await next();
    see("after", forKoa.principalOf(context));
  });
  app.use(forKoa.protect(createResource()));
  app.use((context) => {
    see("handler", forKoa.principalOf(context));
    context.body = "ran";
  });
  const listener = app.callback();
  return serve((request, response) => void listener(request, response));
};

const startFastify: Start = async (see) => {
  const app = fastify();
  app.addHook("onRequest", (request, _reply, done) => {
    see("before", forFastify.principalOf(request));
    done();
  });
  app.addHook("onResponse", (request, _reply, done) => {
    see("after", forFastify.principalOf(request));
    done();
  });
  await app.register(forFastify.protect(createResource()));
  for (const path of ["/public", "/optional", "/scoped"]) {
    app.get(path, (request) => {
      see("handler", forFastify.principalOf(request));
      return "ran";
    });
  }
  await app.listen({ port: 0, host: "127.0.0.1" });
  closing.push(() => app.close());
  return (app.server.address() as AddressInfo).port;
};

const startNode: Start = (see) => {
  const guard = forNode.protect(createResource());
  return serve((request, response) => {
    see("before", forNode.principalOf(request));
    response.on("finish", () => see("after", forNode.principalOf(request)));
    void guard(request, response).then((isAllowed) => {
      if (!isAllowed) return;
      see("handler", forNode.principalOf(request));
      response.end();
    });
  });
};

describe.each([
  ["Express 4", startExpress(express4 as unknown as typeof express5)],
  ["Express 5", startExpress(express5)],
  ["Koa", startKoa],
  ["Fastify", startFastify],
  ["plain Node.js", startNode],
])("principalOf in %s", (_, start) => {
  it.each<[string, readonly string[] | undefined, number, string | undefined]>([
    ["/public", undefined, 200, undefined],
    ["/public", ["scoped:read"], 200, undefined],
    ["/optional", undefined, 200, undefined],
    ["/optional", ["other:read"], 200, "user-1"],
    ["/scoped", ["scoped:read"], 200, "user-1"],
    ["/scoped", ["other:read"], 403, undefined],
    ["/scoped", undefined, 401, undefined],
  ])(
    "returns the allowed caller only: %s with %j answers %i for %s",
    async (path, scopes, status, userId) => {
      const seen: [string, string | undefined][] = [];
      const port = await start((place, principal) => seen.push([place, principal?.userId]));
      const token = scopes && (await issuer.token({ scopes }));
      expect((await ask(port, { path, token })).status).toBe(status);
      await expect.poll(() => seen.length).toBe(status === 200 ? 3 : 2);
      expect(seen).toEqual([
        ["before", undefined],
        ...(status === 200 ? [["handler", userId]] : []),
        ["after", userId],
      ]);
    },
  );

  it("does not change the prototypes of Node.js", async () => {
    const port = await start(() => undefined);
    await ask(port, { path: "/public" });
    for (const name of ["route", "router", "matched", "app"])
      expect(name in IncomingMessage.prototype, name).toBe(false);
    expect(Object.getOwnPropertySymbols(IncomingMessage.prototype).map(String)).not.toContain(
      "Symbol(scopegate)",
    );
  });
});
