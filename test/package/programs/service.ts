/**
 * A user's program, compiled in every kind of project. It serves requests with each adapter and prints the
 * responses.
 */
import { createHmac, createSecretKey } from "node:crypto";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
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
} from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { check, createTestIssuer, type TestCaller } from "scopegate/testing";

const secret = "a secret of a user, at least 32 bytes long";
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function sign(claims: object): string {
  const content = `${base64url({ alg: "HS256", typ: "JWT" })}.${base64url(claims)}`;
  return `${content}.${createHmac("sha256", secret).update(content).digest("base64url")}`;
}

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

async function main(): Promise<void> {
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
  const reader = sign({ aud: "strangers", sub: "reader", scopes: ["agents:read"] });
  const other = sign({ aud: "strangers", sub: "other", scopes: ["agents:web:read"] });
  for (const serving of [serveExpress(), serveKoa(), await serveFastify(), serveNode()]) {
    if (!serving.listening) await new Promise((resolve) => serving.once("listening", resolve));
    const url = `http://localhost:${String((serving.address() as AddressInfo).port)}/agents/web`;
    const answers: string[] = [];
    for (const token of ["", reader, other]) {
      const answer = await fetch(url, token ? { headers: { authorization: `Bearer ${token}` } } : {});
      answers.push(`${String(answer.status)} ${answer.ok ? await answer.text() : ""}`.trim());
    }
    console.log(answers.join(", "));
    serving.close();
    serving.closeAllConnections();
  }
}

function findIssues(): readonly ConfigurationIssue[] {
  try {
    createResourceServer({});
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues;
  }
  return [];
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
