/** What must hold where other code of the process is broken or hostile: polluted prototypes, changed lists, odd promises. */
import { createPublicKey } from "node:crypto";
import { createServer } from "node:http";
import express from "express";
import { jwtVerify } from "jose/jwt/verify";
import Koa from "koa";
import { describe, expect, it, vi, onTestFinished } from "vitest";
import type { AccessRequest, Decision } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import * as forExpress from "scopegate/express";
import { introspection } from "scopegate/introspection";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { createTestIssuer } from "scopegate/testing";
import { ask as askOverHttp, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { createResourceServer, type ResourceServerOptions } from "../support/server.ts";
import { pollute as polluteAll } from "../support/polluted-prototype.ts";

const issuer = createIssuer();
const create = (options: Partial<ResourceServerOptions> = {}) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    adminScope: "platform:admin",
    scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"], "GET /open": "public" },
    ...options,
  });
const bearer = async (...scopes: readonly string[]) => `Bearer ${await issuer.token({ scopes })}`;
const ask = (authorization?: string): AccessRequest => ({
  method: "GET",
  target: "/agents/web",
  authorization,
});

/** A server whose introspection endpoint returns these claims, and a route that needs a login of the last minute. */
function createIntrospecting(claims: object) {
  const endpoint = introspection({
    url: "https://login.example/introspect",
    issuer: "https://login.example",
    client: { id: "a", secret: "s" },
    prefix: "op_",
    fetch: () => Promise.resolve(Response.json(claims)),
  });
  const server = createResourceServer({
    audience: "agents-prod",
    conditions: callerConditions(),
    opaqueTokens: [endpoint],
    scopeMappings: { "GET /agents": { scopes: [], maxAuthAgeSeconds: 60 } },
  });
  const request = { method: "GET", target: "/agents", authorization: "Bearer op_abcdef" };
  return { server, login: () => server.check(request) };
}

/** Adds properties to `Object.prototype` until the end of the test. */
const pollute = (properties: Record<string, unknown>) => onTestFinished(polluteAll(properties));

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

  it("binds no token", async () => {
    const server = create({
      senderConstraint: { dpop: { origins: ["https://api.example"] } },
      scopeMappings: { "GET /agents": { scopes: [], senderConstrained: true } },
    });
    const principal = await server.authenticate((await bearer("agents:read")).slice(7));
    pollute({ binding: "dpop" });
    expect(server.authorize(principal, "GET", "/agents")).toMatchObject({ reason: "proof_missing" });
  });

  it("gives an opaque token no tolerance", async () => {
    const now = Math.floor(Date.now() / 1000);
    const active = { active: true, iss: "https://login.example", aud: "agents-prod", sub: "u", scope: "a:b" };
    const { server, login } = createIntrospecting({ ...active, exp: now + 300, auth_time: now - 120 });
    expect(await login()).toMatchObject({ reason: "authentication_insufficient" });
    pollute({ token: { clockToleranceSeconds: 1_000 } });
    expect(await login()).toMatchObject({ reason: "authentication_insufficient" });
    await server.close();
  });

  it("adds no credential", async () => {
    const server = create();
    pollute({ authorization: await bearer("agents:read"), cookie: "access_token=x" });
    expect(await server.check(ask())).toMatchObject({ allowed: false, reason: "credential_missing" });
  });
});

describe("a polluted prototype that has options of jose", () => {
  const PAST = 1_600_000_000;
  const FUTURE = 4_000_000_000;
  const proofs = createTestIssuer();
  const proving = createResourceServer({
    ...proofs.resourceServerOptions,
    senderConstraint: { dpop: { origins: ["https://api.example"] } },
    scopeMappings: { "GET /agents": [] },
  });

  /** What would change the decision if jose read it. */
  const OPTIONS: Readonly<Record<string, unknown>> = {
    algorithms: ["HS256"],
    audience: "another",
    clockTolerance: FUTURE,
    crit: { exp: true },
    currentDate: new Date(0),
    issuer: "another",
    maxTokenAge: 1,
    requiredClaims: ["another"],
    subject: "another",
    typ: "another",
  };

  /** Returns a verdict on each of the tokens and proofs, while the prototype has these properties. */
  async function verdictsWith(members: Record<string, unknown>) {
    const iat = Math.floor(Date.now() / 1000) - 10;
    const server = create();
    const tokens = await Promise.all(
      [{ iat }, { exp: PAST }, { nbf: FUTURE }].map((claims) =>
        issuer.token({ scopes: ["agents:read"], ...claims }),
      ),
    );
    const bound = await proofs.token({ bound: "dpop" });
    const request = { method: "GET", url: "https://api.example/agents", token: bound };
    const sent = await Promise.all(
      [{ iat }, { exp: PAST }, { nbf: FUTURE }].map((claims) => proofs.proofFor({ ...request, claims })),
    );
    pollute(members);
    const decisions: Decision[] = [];
    for (const token of tokens) decisions.push(await server.check(ask(`Bearer ${token}`)));
    for (const dpop of sent)
      decisions.push(
        await proving.check({
          method: "GET",
          target: "/agents",
          authorization: `DPoP ${bound}`,
          headers: { dpop },
        }),
      );
    return decisions.map((decision) =>
      decision.allowed ? "allowed" : (decision.rejection ?? decision.proofRejection),
    );
  }

  it("contains all of them in this test", async () => {
    const names = new Set<PropertyKey>();
    const options = new Proxy({}, { get: (_, name) => void names.add(name) });
    const key = createPublicKey(issuer.publicPem);
    await jwtVerify(await issuer.token({}), key, options);
    expect([...names].sort()).toEqual(Object.keys(OPTIONS));
  });

  it.each(Object.entries(OPTIONS))("accepts nothing that is refused without it: %s", async (name, value) => {
    const expected = ["allowed", "expired", "not_yet_valid", "allowed", "claims", "claims"];
    expect(await verdictsWith({})).toEqual(expected);
    const verdicts = await verdictsWith({ [name]: value });
    // jose also reads `crit` from the header, and refuses everything then.
    if (name === "crit") expect(verdicts).not.toContain("allowed");
    else expect(verdicts).toEqual(expected);
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
