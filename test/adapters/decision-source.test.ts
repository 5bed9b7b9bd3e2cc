/** `event.source` of `onDecision` is the object that the handlers of the framework get. */
import { createServer } from "node:http";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import { expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const sources: (object | undefined)[] = [];
const handled: object[] = [];
const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  scopeMappings: { "GET /open": "public" },
  onDecision: (_decision, _request, { source }) => void sources.push(source),
});

const koa = new Koa().use(forKoa.protect(server)).use((context) => {
  handled.push(context);
  context.body = "ran";
});
const callback = koa.callback();
const guard = forNode.protect(server);

it.each([
  [
    "Express",
    express()
      .use(forExpress.protect(server))
      .get("/open", (request, response) => {
        handled.push(request);
        response.end();
      }),
  ],
  ["Koa", (...given: Parameters<typeof callback>) => void callback(...given)],
  [
    "plain Node.js",
    (...[request, response]: Parameters<typeof callback>) =>
      void guard(request, response).then(() => {
        handled.push(request);
        response.end();
      }),
  ],
])("passes to onDecision the request object that handlers receive: %s", async (_, listener) => {
  const { port, close } = await listen(createServer(listener));
  expect((await ask(port, { path: "/open" })).status).toBe(200);
  await close();
  expect(sources).toHaveLength(handled.length);
  expect(sources.at(-1)).toBe(handled.at(-1));
});

it("passes to onDecision the request object that handlers receive: Fastify", async () => {
  const app = fastify();
  await app.register(forFastify.protect(server));
  app.get("/open", (request) => {
    handled.push(request);
    return "ran";
  });
  expect((await app.inject("/open")).statusCode).toBe(200);
  expect(sources.at(-1)).toBe(handled.at(-1));
});
