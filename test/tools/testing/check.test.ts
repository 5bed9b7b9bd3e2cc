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
  it.each<[what: string, own: TestIssuerOptions, others: Partial<ResourceServerOptions>, message: string]>([
    ["audience", {}, { audience: "billing" }, 'createTestIssuer({ audience: "billing" })'],
    ["audience", {}, { audience: ["a", "b"] }, 'createTestIssuer({ audience: ["a","b"] })'],
    ["issuer", {}, { issuer: "https://login.example/" }, "...issuer.resourceServerOptions"],
    ["key", {}, { keys: createTestIssuer({ kid: "other" }).resourceServerOptions.keys }, "issuer.rotate()"],
    ["claims", {}, { scopesClaim: "scope" }, "claims scope. Give the issuer the same `scopesClaim`"],
    ["type", {}, { tokenTypes: ["at+jwt"] }, "Give the issuer a `tokenType`"],
    ["expired", { now: () => 0 }, { now: Date.now }, "the same clock"],
  ])("throws, because every caller would be refused: %s", async (_what, own, others, message) => {
    const ownIssuer = createTestIssuer(own);
    const wired = createResourceServer({ ...ownIssuer.resourceServerOptions, scopeMappings, ...others });
    const failed = check(wired, "GET /agents", ownIssuer.caller({ scopes: ["agents:read"] }));
    await expect(failed).rejects.toThrow(message);
  });

  it.each<[what: string, others: Partial<ResourceServerOptions>, caller: TestTokenOptions, message: string]>([
    [
      "audience",
      { audience: "billing" },
      { claims: { tenant: "t" } },
      'createTestIssuer({ audience: "billing"',
    ],
    [
      "audience",
      { audience: "billing" },
      { tokenId: "t", claims: {} },
      'createTestIssuer({ audience: "billing"',
    ],
    ["a required jti", { requiredClaims: ["jti"] }, {}, "claims jti. Give the caller a `tokenId`"],
    ["a required claim", { requiredClaims: ["tenant"] }, {}, "claims tenant. Give the issuer the same"],
    ["a role", { scopeSources: [{ claim: "role", map: {} }] }, {}, "add the claim to `claims` of the issuer"],
  ])("throws for a caller with other claims too: %s", async (_what, others, caller, message) => {
    const wired = createResourceServer({ ...issuer.resourceServerOptions, scopeMappings, ...others });
    const failed = check(wired, "GET /agents", issuer.caller({ scopes: ["agents:read"], ...caller }));
    await expect(failed).rejects.toThrow(message);
  });

  it("returns the refusal of a token that is invalid on purpose, or given as a string", async () => {
    const other = createResourceServer({
      ...issuer.resourceServerOptions,
      scopeMappings,
      audience: "another",
    });
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
      ...[...registered, ...own].map((claims) => issuer.caller({ claims })),
      { token },
    ])
      expect(verdict(await check(other, "GET /agents", caller))).toBe("audience");
    expect(verdict(await check(other, "GET /agents", issuer.caller({ expiresIn: -1 })))).toBe("audience");
  });
});

describe("check, with a mistake in its arguments,", () => {
  it.each<[what: string, route: string, caller: unknown, message: string]>([
    ["scopes for an unknown route", "GET /agnets", scoped("agents:read"), "Did you mean `GET /agents`?"],
    ["a token for an unknown route", "GET /agnets", issued("agents:read"), "check it without scopes"],
    [
      "scopes for another method",
      "PUT /reports",
      scoped("reports:read"),
      "No rule of the server covers `PUT /reports`",
    ],
    ["a route without a method", "/agents", "anonymous", "Write `METHOD /path`, such as `GET /agents/web`."],
    ["a route without a path", "GET agents", "anonymous", "Write `METHOD /path`"],
    ["a method in lower case", "get /agents", "anonymous", "Write `GET`: methods are case-sensitive."],
    ["the method *", "* /agents", "anonymous", "Write one: `GET /agents`."],
    [
      "a pattern as a route",
      "GET /agents/:agent_id",
      scoped("agents:read"),
      "Write a path: `GET /agents/1`.",
    ],
    ["a scope that grants nothing", "GET /agents", scoped("agents::read"), "is a scope that grants nothing"],
    ["an unknown option", "GET /agents", { scope: ["agents:read"] }, "Did you mean `scopes`?"],
    ["a caller without scopes", "GET /agents", { userId: "user-7" }, "check.scopes: must be an array."],
    ["a promise as a token", "GET /agents", { token: Promise.resolve(token) }, "Await a promise"],
    ["another string as a caller", "GET /agents", "nobody", 'Write "anonymous"'],
    ["null as a caller", "GET /agents", null, "isn't a caller. Write"],
  ])("throws an error with the fix for %s", async (_what, route, caller, message) => {
    await expect(check(server, route, caller as TestCaller)).rejects.toThrow(message);
  });

  it("throws a ConfigurationError with a stable code", async () => {
    const issues = [{ code: "route_key_invalid", path: ["check", "route"] }];
    await expect(check(server, "get /agents")).rejects.toMatchObject({ name: "ConfigurationError", issues });
  });
});
