/** A `WWW-Authenticate` that other middleware has set stays in a refusal, next to the challenge of the guard. */
import { createServer } from "node:http";
import { connect, createServer as createServer2 } from "node:http2";
import { type AddressInfo } from "node:net";
import express5 from "express";
import express4 from "express4";
import fastify5 from "fastify";
import fastify4 from "fastify4";
import Koa3 from "koa";
import Koa2 from "koa2";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  scopeMappings: { "GET /agents": ["agents:read"] },
});

/** Starts a server whose middleware sets these challenges, and then refuses. */
type Start = (challenges: string | string[]) => Promise<number>;

const startExpress =
  (express: typeof express5): Start =>
  async (challenges) => {
    const app = express();
    app.use((_request, response, next) => {
      response.setHeader("www-authenticate", challenges);
      next();
    });
    const { port, close } = await listen(createServer(app.use(forExpress.protect(server))));
    closing.push(close);
    return port;
  };

const startKoa =
  (Koa: typeof Koa3): Start =>
  async (challenges) => {
    const app = new Koa();
    app.use((context, next) => {
      context.set("www-authenticate", challenges);
      return next();
    });
    const callback = app.use(forKoa.protect(server)).callback();
    const { port, close } = await listen(
      createServer((request, response) => void callback(request, response)),
    );
    closing.push(close);
    return port;
  };

const startFastify =
  (fastify: typeof fastify5): Start =>
  async (challenges) => {
    const app = fastify();
    app.addHook("onRequest", (_request, reply, done) => {
      void reply.header("www-authenticate", challenges);
      done();
    });
    await app.register(forFastify.protect(server));
    await app.listen({ port: 0, host: "127.0.0.1" });
    closing.push(() => app.close());
    return (app.server.address() as AddressInfo).port;
  };

const startNode: Start = async (challenges) => {
  const guard = forNode.protect(server);
  const { port, close } = await listen(
    createServer((request, response) => {
      response.setHeader("www-authenticate", challenges);
      void guard(request, response);
    }),
  );
  closing.push(close);
  return port;
};

describe.each([
  ["Express 4", startExpress(express4 as unknown as typeof express5)],
  ["Express 5", startExpress(express5)],
  ["Koa 2", startKoa(Koa2 as unknown as typeof Koa3)],
  ["Koa 3", startKoa(Koa3)],
  ["Fastify 4", startFastify(fastify4 as unknown as typeof fastify5)],
  ["Fastify 5", startFastify(fastify5)],
  ["plain Node.js", startNode],
])("a refusal in %s", (_, start) => {
  it.each([
    ["one challenge", 'Basic realm="x"', 'Basic realm="x", Bearer'],
    ["several challenges", ["Negotiate", 'Basic realm="x"'], 'Negotiate, Basic realm="x", Bearer'],
  ])("keeps %s that other middleware has set", async (_kind, challenges, expected) => {
    const answer = await fetch(`http://127.0.0.1:${String(await start(challenges))}/agents`);
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, expected]);
  });
});

it("keeps a challenge in a refusal of HTTP/2", async () => {
  const guard = forNode.protect(server);
  const listening = createServer2((request, response) => {
    response.setHeader("www-authenticate", "Negotiate");
    void guard(request, response);
  }).listen(0, "127.0.0.1");
  await new Promise((ready) => listening.once("listening", ready));
  const client = connect(`http://127.0.0.1:${String((listening.address() as AddressInfo).port)}`);
  const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve) => {
    client.request({ ":path": "/agents" }).on("response", resolve);
  });
  client.close();
  listening.close();
  expect([headers[":status"], headers["www-authenticate"]]).toEqual([401, "Negotiate, Bearer"]);
});
