/**
 * A user's program, compiled in every kind of project. It serves requests with each adapter and prints the
 * responses.
 */
import { createSecretKey } from "node:crypto";
import { createServer, type Server } from "node:http";
import express from "express";
import { fastify } from "fastify";
import Koa from "koa";
import {
  ConfigurationError,
  type ConfigurationIssue,
  createResourceServer,
  type Decision,
  hasScopes,
  parseConfiguration,
  type Principal,
  type ResourceServerOptions,
} from "scopegate/complete";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { check, createTestIssuer, type TestCaller } from "scopegate/testing";
import { addressOf, printAnswers, read, secret, start } from "./callers.js";

const options: ResourceServerOptions = {
  ...parseConfiguration({ service_id: "strangers" }),
  verificationKeys: [secret, createSecretKey(Buffer.from(secret))],
  algorithm: "HS256",
  scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
};
const server = createResourceServer(options);
const nameOf = (principal: Principal | undefined): string => principal?.userId ?? "nobody";

function serveExpress(): Server {
  const app = express();
  app.use(forExpress.protect(server));
  app.get("/agents/:agent_id", forExpress.requireScopes("agents:read"), (request, response) => {
    const id: string = request.params.agent_id;
    response.send(`${id} for ${nameOf(forExpress.principalOf(request))}`);
  });
  return app.listen(0);
}

function serveKoa(): Server {
  const app = new Koa();
  app.use(forKoa.protect(server));
  app.use(forKoa.requireScopes("agents:read"));
  app.use((context) => {
    context.body = `web for ${nameOf(forKoa.principalOf(context))}`;
  });
  return app.listen(0);
}

async function serveFastify(): Promise<Server> {
  const app = fastify();
  await app.register(forFastify.protect(server));
  app.get("/agents/:agent_id", { onRequest: forFastify.requireScopes("agents:read") }, (request, reply) => {
    reply.send(`web for ${nameOf(forFastify.principalOf(request))}`);
  });
  await app.listen({ port: 0 });
  return app.server;
}

function serveNode(): Server {
  const guard = forNode.protect(server);
  const mayRead = forNode.requireScopes("agents:read");
  return createServer((request, response) => {
    void guard(request, response).then((isAllowed) => {
      if (isAllowed && mayRead(request, response))
        response.end(`web for ${nameOf(forNode.principalOf(request))}`);
    });
  }).listen(0);
}

start(async () => {
  const issues: readonly ConfigurationIssue[] = findIssues();
  const decision: Decision = await server.check({ method: "GET", target: "/agents/web" });
  if (decision.allowed) throw new Error("A request without a token was allowed.");
  console.log(decision.reason, server.refuse(decision).status, issues[0]?.code, hasScopes(["a:b"], "a:b"));
  const issuer = createTestIssuer({ algorithm: "EdDSA" });
  const tester: TestCaller = issuer.caller({ scopes: ["agents:read"] });
  const own: ResourceServerOptions = {
    serviceId: "strangers",
    ...issuer.resourceServerOptions,
    scopeMappings: { "GET /agents": ["agents:read"] },
  };
  console.log((await check(createResourceServer(own), "GET /agents", tester)).allowed);
  for (const serving of [serveExpress(), serveKoa(), await serveFastify(), serveNode()]) {
    const url = `${await addressOf(serving)}/agents/web`;
    await printAnswers(async (headers) => read(await fetch(url, { headers })));
    serving.close();
    serving.closeAllConnections();
  }
});

function findIssues(): readonly ConfigurationIssue[] {
  try {
    createResourceServer({});
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues;
  }
  return [];
}
