/** What must hold where other code of the process is broken or hostile: polluted prototypes, changed lists, odd promises. */
import { createServer } from "node:http";
import express from "express";
import Koa from "koa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type AccessRequest, createResourceServer, type ResourceServerOptions } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { ask as askOverHttp, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const create = (options: Partial<ResourceServerOptions> = {}) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"], "GET /open": "public" },
    ...options,
  });
const bearer = async (...scopes: readonly string[]) => `Bearer ${await issuer.token({ scopes })}`;
const ask = (authorization?: string): AccessRequest => ({
  method: "GET",
  target: "/agents/web",
  authorization,
});

const pollution: Record<string, unknown> = {};
const pollute = (members: Record<string, unknown>) => {
  Object.assign(pollution, members);
  Object.assign(Object.prototype, members);
};
afterEach(() => {
  for (const name of Object.keys(pollution)) {
    Reflect.deleteProperty(Object.prototype, name);
    Reflect.deleteProperty(pollution, name);
  }
});

describe("a polluted prototype", () => {
  it.each<readonly [Record<string, unknown>]>([
    [{ refused: { allowed: true } }],
    [{ allowed: true }],
    [{ matchedPattern: "/open" }],
    [{ principal: { userId: "root", scopes: ["platform:admin"] } }],
    [{ refusal: undefined }],
    [{ scopes: ["platform:admin"] }],
    [{ kid: "other", typ: "JWT", alg: "none" }],
  ])("allows no caller with %j", async (members) => {
    const server = create();
    const few = await bearer("teams:read");
    pollute(members);
    expect(Object.hasOwn(await server.check(ask()), "reason")).toBe(true);
    expect((await server.check(ask(few))).allowed).toBe(false);
    expect((await server.check(ask("Bearer a.b.c"))).allowed).toBe(false);
    await expect(server.authenticate("a.b.c")).rejects.toThrow("malformed");
  });

  it("adds no credential", async () => {
    const server = create();
    pollute({ authorization: await bearer("agents:read"), cookie: "access_token=x" });
    expect(await server.check(ask())).toMatchObject({ allowed: false, reason: "credential_missing" });
  });
});

describe("a polluted prototype at construction", () => {
  it.each([
    { verifyAudience: false },
    { audience: "other" },
    { unmappedRoutes: "authenticated" },
    { authorization: false },
  ])("sets no option: %o", async (members) => {
    pollute(members);
    const server = create();
    const other = `Bearer ${await issuer.token({ aud: "other", scopes: ["agents:read"] })}`;
    expect(await server.check(ask(other))).toMatchObject({ allowed: false, rejection: "audience" });
    const request = { method: "GET", target: "/unknown", authorization: await bearer("agents:read") };
    expect(await server.check(request)).toMatchObject({ allowed: false, reason: "route_unmapped" });
  });
});

describe("a polluted prototype under an adapter", () => {
  const server = create();
  const guardNode = forNode.protect(server);
  const serveKoa = new Koa()
    .use(forKoa.protect(server) as never)
    .use((context) => void (context.body = "ran"))
    .callback();
  const listeners: Record<string, Parameters<typeof createServer>[1]> = {
    node: (request, response) =>
      void guardNode(request, response).then((isAllowed) => isAllowed && response.end("ran")),
    express: express()
      .use(forExpress.protect(server))
      .use((_request, response) => void response.end("ran")),
    koa: (request, response) => void serveKoa(request, response),
  };

  it.each(Object.keys(listeners))("adds neither a route nor a credential: %s", async (name) => {
    const { port, close } = await listen(createServer(listeners[name]));
    const token = await issuer.token({ scopes: ["agents:read"] });
    const statusOf = async () => (await askOverHttp(port, { path: "/agents/web" })).status;
    try {
      pollute({ matchedPattern: "/open" });
      expect(await statusOf()).toBe(401);
      pollute({ matchedPattern: undefined, authorization: `Bearer ${token}` });
      expect(await statusOf()).toBe(401);
    } finally {
      await close();
    }
  });
});

describe("a global Promise that the program replaced", () => {
  it.each<readonly [Partial<ResourceServerOptions>]>([
    [{ authorization: false }],
    [{ unmappedRoutes: "authenticated" }],
    [{ scopeMappings: { "GET /tasks": [] } }],
    [{ scopeMappings: { "GET /tasks": "optional" } }],
  ])("waits for the verification of a token with %j", async (options) => {
    const server = create(options);
    const good = await bearer();
    const forged = `${good.slice(0, good.lastIndexOf("."))}.AAAA`;
    const checkAs = (authorization: string) => {
      vi.stubGlobal("Promise", Map);
      try {
        return server.check({ ...ask(authorization), target: "/tasks" });
      } finally {
        vi.unstubAllGlobals();
      }
    };
    expect(await checkAs(forged)).toMatchObject({ allowed: false, reason: "token_rejected" });
    expect(await checkAs(good)).toMatchObject({ allowed: true, principal: {} });
  });
});
