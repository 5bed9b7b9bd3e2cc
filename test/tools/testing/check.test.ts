import { describe, expect, it, vi } from "vitest";
import { agentScopeMappings, type Decision, type ScopeMappings } from "scopegate";
import {
  check,
  createTestIssuer,
  type TestCaller,
  type TestIssuerOptions,
  type TestTokenOptions,
} from "scopegate/testing";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";

const scopeMappings: ScopeMappings = {
  ...agentScopeMappings,
  "GET /reports": ["reports:read"],
  "GET /signed-in": [],
  "GET /optional": "optional",
  "GET /health": "public",
};

const issuer = createTestIssuer({ audience: "agents-prod" });
const server = createResourceServer({
  ...issuer.resourceServerOptions,
  scopeMappings,
  adminScope: "platform:admin",
  impliedScopes: { "a:write": ["reports:read"] },
});

const verdict = (decision: Decision): string =>
  decision.allowed ? "allowed" : (decision.rejection ?? decision.reason);

const scoped = (...scopes: readonly string[]): TestCaller => ({ scopes });
const issued = (...scopes: readonly string[]): TestCaller => issuer.caller({ scopes });
const token = await issuer.token({ scopes: ["reports:read"] });

describe("check", () => {
  it.each<[route: string, scopes: readonly string[] | undefined, expected: string]>([
    ["GET /agents", undefined, "credential_missing"],
    ["GET /agents", [], "scope_insufficient"],
    ["GET /agents", ["agents:web:read"], "allowed"],
    ["GET /agents/web", ["agents:web:read"], "allowed"],
    ["GET /agents/web?full=1", ["agents:web:read"], "allowed"],
    ["HEAD /agents/web", ["agents:*:read"], "allowed"],
    ["GET /agents/web", ["agents:api:read"], "scope_insufficient"],
    ["POST /agents/web/runs", ["platform:admin"], "allowed"],
    ["GET /reports", ["a:write"], "allowed"],
    ["GET /signed-in", [], "allowed"],
    ["GET /signed-in", undefined, "credential_missing"],
    ["GET /optional", undefined, "allowed"],
    ["GET /optional", ["x:y"], "allowed"],
    ["GET /health", undefined, "allowed"],
    ["GET /health", ["x:y"], "allowed"],
    ["GET /nothing", undefined, "route_unmapped"],
    ["GET /nothing", [], "route_unmapped"],
    ["GET //agents", ["agents:read"], "request_ambiguous"],
    ["GET /AGENTS", ["agents:read"], "request_ambiguous"],
  ])("decides %s with scopes %j as %s, with and without a token", async (route, scopes, expected) => {
    if (!scopes) {
      expect(verdict(await check(server, route))).toBe(expected);
      return;
    }
    const byTable = await check(server, route, { scopes, userId: "user-7", sessionId: "s" });
    const byToken = await check(server, route, issuer.caller({ scopes, userId: "user-7", sessionId: "s" }));
    expect(verdict(byTable)).toBe(expected);
    const { principal: known, ...facts } = byTable;
    const { principal: read, ...others } = byToken;
    expect(facts).toEqual(others);
    for (const name of ["userId", "sessionId", "scopes"] as const)
      expect(known?.[name]).toEqual(read?.[name]);
    expect(known?.has("reports:read")).toBe(read?.has("reports:read"));
  });

  it("decides for a given token", async () => {
    const ofToken = async (sent: string | (() => Promise<string>)) =>
      verdict(await check(server, "GET /reports", { token: sent }));
    expect(await ofToken(token)).toBe("allowed");
    expect(await ofToken(() => Promise.resolve(token))).toBe("allowed");
    expect(await ofToken("a.b.c")).toBe("malformed");
    expect(await ofToken(await createTestIssuer().token())).toBe("signature");
  });

  it("sends the token in the configured cookie", async () => {
    const byCookie = createResourceServer({
      ...issuer.resourceServerOptions,
      scopeMappings,
      tokenSources: [{ cookie: "access_token" }],
    });
    expect(verdict(await check(byCookie, "GET /reports", { token, cookie: "access_token" }))).toBe("allowed");
    const caller = { ...issuer.caller({ scopes: ["reports:read"] }), cookie: "access_token" };
    expect(verdict(await check(byCookie, "GET /reports", caller))).toBe("allowed");
    await expect(check(byCookie, "GET /reports", issued("reports:read"))).rejects.toThrow(
      'cookie: "access_token"',
    );
  });

  it("decides for scopes on a server with any keys, without calling hooks", async () => {
    const [onDecision, isRevoked] = [vi.fn(), vi.fn(() => true)];
    const options: ResourceServerOptions = {
      serviceId: "agents-prod",
      issuer: "https://login.example/",
      keys: { discovery: true },
      scopeMappings,
      onDecision,
      isRevoked,
    };
    const production = createResourceServer(options);
    expect(verdict(await check(production, "GET /agents", scoped("agents:read")))).toBe("allowed");
    expect([onDecision, isRevoked].flatMap(({ mock }) => mock.calls)).toEqual([]);
    const trusting = createResourceServer({ ...options, ...issuer.resourceServerOptions });
    expect(verdict(await check(trusting, "GET /agents", issued("agents:read")))).toBe("revoked");
    expect(onDecision).toHaveBeenCalledOnce();
  });

  it("sets the user and the claims of a caller with scopes", async () => {
    const claims = { tenant: "t" };
    const { principal } = await check(server, "GET /agents", { scopes: ["agents:read"], claims });
    expect(principal).toMatchObject({ userId: "user-1", claims });
    expect(Object.isFrozen(principal)).toBe(true);
  });
});

describe("check, with a server that does not accept the issuer,", () => {
  it.each<[message: string, others: Partial<ResourceServerOptions>, own?: TestIssuerOptions]>([
    ['createTestIssuer({ audience: "billing" })', { audience: "billing" }],
    ['createTestIssuer({ audience: ["a","b"] })', { audience: ["a", "b"] }],
    ["...issuer.resourceServerOptions", { issuer: "https://login.example/" }],
    ["issuer.rotate()", { keys: createTestIssuer({ kid: "other" }).resourceServerOptions.keys }],
    ["claims scope. Give the issuer the same `scopesClaim`", { scopesClaim: "scope" }],
    ["Give the issuer a `tokenType`", { tokenTypes: ["at+jwt"] }],
    ["the same clock", { now: Date.now }, { now: () => 0 }],
  ])("throws, because every caller would be refused: %s", async (message, others, own = {}) => {
    const ownIssuer = createTestIssuer(own);
    const wired = createResourceServer({ ...ownIssuer.resourceServerOptions, scopeMappings, ...others });
    const failed = check(wired, "GET /agents", ownIssuer.caller({ scopes: ["agents:read"] }));
    await expect(failed).rejects.toThrow(message);
  });

  it.each<[message: string, others: Partial<ResourceServerOptions>, caller: TestTokenOptions]>([
    ['createTestIssuer({ audience: "billing"', { audience: "billing" }, { claims: { tenant: "t" } }],
    ['createTestIssuer({ audience: "billing"', { audience: "billing" }, { tokenId: "t", claims: {} }],
    ["claims jti. Give the caller a `tokenId`", { requiredClaims: ["jti"] }, {}],
    ["claims tenant. Give the issuer the same", { requiredClaims: ["tenant"] }, {}],
    ["add the claim to `claims` of the issuer", { scopeSources: [{ claim: "role", map: {} }] }, {}],
  ])("throws for a caller with other claims too: %s", async (message, others, caller) => {
    const wired = createResourceServer({ ...issuer.resourceServerOptions, scopeMappings, ...others });
    const failed = check(wired, "GET /agents", issuer.caller({ scopes: ["agents:read"], ...caller }));
    await expect(failed).rejects.toThrow(message);
  });

  it("returns the refusal of a token that is invalid on purpose, or given as a string", async () => {
    const others = { ...issuer.resourceServerOptions, scopeMappings, audience: "another" };
    const other = createResourceServer(others);
    const registered = [
      { aud: "a" },
      { iss: issuer.issuer },
      { exp: 9e9 },
      { nbf: 0 },
      { iat: 0 },
      { cnf: {} },
    ];
    const own = [{ scopes: [] }, { sub: "u" }, { session_id: "s" }, { tenant: undefined }];
    for (const caller of [
      issuer.caller({ rejectedAs: "audience" }),
      issuer.caller({ audience: "a" }),
      issuer.caller({ expiresIn: -1 }),
      ...[...registered, ...own].map((claims) => issuer.caller({ claims })),
      { token },
    ])
      expect(verdict(await check(other, "GET /agents", caller))).toBe("audience");
  });
});

describe("check, with a mistake in its arguments,", () => {
  it.each<[message: string, route: string, caller: unknown]>([
    ["Did you mean `GET /agents`?", "GET /agnets", scoped("agents:read")],
    ["check it without scopes", "GET /agnets", issued("agents:read")],
    ["No rule of the server covers `PUT /reports`", "PUT /reports", scoped("reports:read")],
    ["Write `METHOD /path`, such as `GET /agents/web`.", "/agents", "anonymous"],
    ["Write `METHOD /path`", "GET agents", "anonymous"],
    ["Write `GET`: methods are case-sensitive.", "get /agents", "anonymous"],
    ["Write one: `GET /agents`.", "* /agents", "anonymous"],
    ["Write a path: `GET /agents/1`.", "GET /agents/:agent_id", scoped("agents:read")],
    ["is a scope that grants nothing", "GET /agents", scoped("agents::read")],
    ["Did you mean `scopes`?", "GET /agents", { scope: ["agents:read"] }],
    ["check.scopes: must be an array.", "GET /agents", { userId: "user-7" }],
    ["Await a promise", "GET /agents", { token: Promise.resolve(token) }],
    ['Write "anonymous"', "GET /agents", "nobody"],
    ["isn't a caller. Write", "GET /agents", null],
  ])("throws an error with the fix: %s", async (message, route, caller) => {
    await expect(check(server, route, caller as TestCaller)).rejects.toThrow(message);
  });

  it("throws a ConfigurationError with a stable code", async () => {
    const issues = [{ code: "route_key_invalid", path: ["check", "route"] }];
    await expect(check(server, "get /agents")).rejects.toMatchObject({ name: "ConfigurationError", issues });
  });
});
