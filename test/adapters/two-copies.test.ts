/** Two installed copies of the package that guard one request, and handlers that use the copy that does not guard. */
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import Router from "@koa/router";
import express5 from "express";
import express4 from "express4";
import fastify from "fastify";
import Koa from "koa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createResourceServer, type Principal } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

vi.resetModules();
const other = {
  core: await import("scopegate"),
  forExpress: await import("scopegate/express"),
  forFastify: await import("scopegate/fastify"),
  forKoa: await import("scopegate/koa"),
};

const issuer = createIssuer();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const options = {
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  scopeMappings: { "GET /agents/list": ["agents:list"], "GET /agents/:id": ["agents:read"] },
};
const one = createResourceServer(options);
const two = other.core.createResourceServer(options);

/** Guards with one copy or with both, and answers with what each copy's `principalOf` returns or throws. */
type Start = (copies: "one" | "both") => Promise<number>;

function describeCallers(...find: readonly (() => Principal | undefined)[]): readonly unknown[] {
  return find.map((principalOf) => {
    try {
      return principalOf()?.userId;
    } catch (fault) {
      return String(fault);
    }
  });
}

const startExpress =
  (express: typeof express5): Start =>
  async (copies) => {
    const app = express();
    app.use(forExpress.protect(one));
    if (copies === "both") app.use(other.forExpress.protect(two));
    app.get("/agents/:id", (request, response) => {
      response.json(
        describeCallers(
          () => forExpress.principalOf(request),
          () => other.forExpress.principalOf(request),
        ),
      );
    });
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    return port;
  };

const startKoa: Start = async (copies) => {
  const app = new Koa().use(forKoa.protect(one));
  if (copies === "both") app.use(other.forKoa.protect(two));
  const router = new Router().get("/agents/:id", (context) => {
    context.body = describeCallers(
      () => forKoa.principalOf(context),
      () => other.forKoa.principalOf(context),
    );
  });
  const callback = app.use(router.routes()).callback();
  const { port, close } = await listen(createServer((request, response) => void callback(request, response)));
  closing.push(close);
  return port;
};

const startFastify: Start = async (copies) => {
  const app = fastify();
  await app.register(forFastify.protect(one));
  if (copies === "both") await app.register(other.forFastify.protect(two));
  app.get("/agents/:id", (request) =>
    describeCallers(
      () => forFastify.principalOf(request),
      () => other.forFastify.principalOf(request),
    ),
  );
  await app.listen({ port: 0, host: "127.0.0.1" });
  closing.push(() => app.close());
  return (app.server.address() as AddressInfo).port;
};

const TWO_COPIES =
  "Error: Another copy of scopegate guards this request, so this copy does not know its caller. Run `npm ls scopegate`, and install one version for the guard and the handlers.";

describe.each([
  ["Express 4", startExpress(express4 as unknown as typeof express5)],
  ["Express 5", startExpress(express5)],
  ["Koa", startKoa],
  ["Fastify", startFastify],
])("two copies of the package in %s", (_, start) => {
  it("guard one request, each with the rule of its path and of its route", async () => {
    const port = await start("both");
    const path = "/agents/web";
    for (let round = 0; round < 2; round++) {
      const [none, right] = [
        await issuer.token({ scopes: [] }),
        await issuer.token({ scopes: ["agents:read"] }),
      ];
      expect((await ask(port, { path })).status).toBe(401);
      expect((await ask(port, { path, token: none })).status).toBe(403);
      expect(await ask(port, { path, token: right })).toMatchObject({
        status: 200,
        body: ["user-1", "user-1"],
      });
      const listing = { path: "/agents/list", token: await issuer.token({ scopes: ["agents:list"] }) };
      expect((await ask(port, listing)).status).toBe(403);
    }
  });

  it("throw an error if a handler imports the copy that does not guard its request", async () => {
    const port = await start("one");
    const token = await issuer.token({ scopes: ["agents:read"] });
    const { body } = await ask(port, { path: "/agents/web", token });
    expect(body).toEqual(["user-1", TWO_COPIES]);
  });
});

it("reports another copy in requireScopes", async () => {
  const app = express5();
  app.use(forExpress.protect(one));
  const faults: string[] = [];
  const onFault: express5.ErrorRequestHandler = (fault, _request, response, _next) => {
    faults.push(String(fault));
    response.status(500).end();
  };
  app.get("/agents/:id", other.forExpress.requireScopes("agents:read"), () => undefined).use(onFault);
  const { port, close } = await listen(createServer(app));
  closing.push(close);
  const token = await issuer.token({ scopes: ["agents:read"] });
  expect((await ask(port, { path: "/agents/web", token })).status).toBe(500);
  expect(faults).toEqual([TWO_COPIES]);
});
