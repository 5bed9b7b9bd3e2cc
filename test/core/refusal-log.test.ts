import { describe, expect, it, vi } from "vitest";
import type { Refused } from "scopegate";
import { refuse } from "../../src/core/policy/decision.ts";
import { createRefusalLog } from "../../src/core/refusal-log.ts";
import { createServer, issuer } from "../support/resource-servers.ts";

const token = {
  algorithms: ["RS256", "ES256"],
  issuer: "https://login.example/",
  audience: ["agents-prod"],
  requiredClaims: [],
  tokenTypes: ["at+jwt", null],
  clockToleranceSeconds: 0,
  maxTokenAgeSeconds: undefined,
  now: () => 1_790_000_000_000,
} as const;
const status = () => ({ source: "jwks", state: "fresh", keyIds: ["2026", "2027"] }) as const;
const configuration = { token, keys: { status } };

function lineFor(
  refused: Refused,
  issuers: Parameters<typeof createRefusalLog>[0] = [configuration],
): string {
  const log = Object.assign(vi.fn(), { enabled: true });
  createRefusalLog(issuers, log).logDecision(refused, () => ({ method: "GET", target: "/a" }));
  expect(log.mock.calls).toHaveLength(1);
  expect(log.mock.calls[0]?.[0]).toBe("%s");
  return String(log.mock.calls[0]?.[1]);
}

describe("the log for development", () => {
  it("writes one line without terminal escapes, whatever the target is", () => {
    const log = Object.assign(vi.fn(), { enabled: true });
    const target = "/\u009b31mred\u0085forged\n\u2028\u001b[2J";
    createRefusalLog([configuration], log).logDecision(refuse("route_unmapped"), () => ({
      method: "GET",
      target,
    }));
    expect(log.mock.calls[0]?.[1]).toMatch(/^[ -~]*$/);
  });

  it("writes no token that a client sends in its path", () => {
    const log = Object.assign(vi.fn(), { enabled: true });
    const target = "/agents/eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1In0.c2ln/runs";
    createRefusalLog([configuration], log).logDecision(refuse("route_unmapped"), () => ({
      method: "GET",
      target,
    }));
    expect(log.mock.calls[0]?.[1]).toBe('"GET /agents/[token]/runs" route_unmapped');
  });

  it.each<readonly [string, Partial<Refused>]>([
    ["expired", { rejection: "expired" }],
    ["claims, tenant", { rejection: "claims", claim: "tenant" }],
    ["audience; expected aud: agents-prod", { rejection: "audience" }],
    ["issuer; expected iss: https://login.example/", { rejection: "issuer" }],
    ["algorithm; expected alg: RS256, ES256", { rejection: "algorithm" }],
    ["type; expected typ: at+jwt, none", { rejection: "type" }],
    [
      "key; expected kid: 2026, 2027; found kid: 2025, alg: RS256",
      { rejection: "key", claimed: { alg: "RS256", kid: "2025" } },
    ],
    [
      "signature; expected kid: 2026, 2027; found kid: none, alg: RS256",
      { rejection: "signature", claimed: { alg: "RS256" } },
    ],
    ['key; cause: "unknown id"', { rejection: "key", cause: "unknown id" }],
    [
      "not_yet_valid; now: 2026-09-21T14:13:20.000Z, tolerance: 0 s",
      { rejection: "not_yet_valid", claimed: { alg: "RS256" } },
    ],
  ])("writes of a rejected token: %s", (text, facts) => {
    expect(lineFor(refuse("token_rejected", [], facts))).toBe(`"GET /a" token_rejected, ${text}`);
  });

  it("writes the cause of any other refusal", () => {
    const cause = new Error("line\nbreak");
    expect(lineFor(refuse("route_unmapped"))).toBe('"GET /a" route_unmapped');
    expect(lineFor(refuse("keys_unavailable", [], { cause }))).toBe(
      '"GET /a" keys_unavailable; cause: "line\\nbreak"',
    );
    expect(lineFor(refuse("request_ambiguous", undefined, { cause: "slash" }))).toBe(
      '"GET /a" request_ambiguous; cause: "slash"',
    );
  });

  it("writes the times of the issuer of a token, and that no key has an id", () => {
    const keys = { status: () => ({ ...status(), keyIds: [] }) };
    const iss = "https://other.example/";
    const now = () => Number.NaN;
    const other = { ...token, issuer: iss, clockToleranceSeconds: 5, maxTokenAgeSeconds: 300, now };
    const issuers = [configuration, { token: other, keys }];
    const lineOf = (rejection: "expired" | "key", configurations: typeof issuers) =>
      lineFor(refuse("token_rejected", [], { rejection, claimed: { iss } }), configurations);
    expect(lineOf("expired", issuers)).toContain("; now: unknown, tolerance: 5 s, maximum age: 300 s");
    expect(lineOf("key", issuers.slice(1))).toContain("; expected kid: none; found kid: none");
  });

  it("writes no token that a client sends as its kid", () => {
    const claimed = { alg: "RS256", kid: "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1In0.c2ln" };
    const line = lineFor(refuse("token_rejected", [], { rejection: "key", claimed }));
    expect(line).toContain("found kid: [token], alg: RS256");
  });

  it("writes that a refusal is only reported, and nothing for any other allowed request", () => {
    const log = Object.assign(vi.fn(), { enabled: true });
    const refusalLog = createRefusalLog([configuration], log);
    const request = () => ({ method: "GET", target: "/a" });
    const allowed = {
      allowed: true,
      rules: [],
      required: [],
      granted: [],
      missing: [],
      satisfied: [],
    } as const;
    refusalLog.logDecision(allowed, request);
    expect(log).not.toHaveBeenCalled();
    refusalLog.logDecision({ ...allowed, reported: refuse("route_unmapped") }, request);
    expect(log).toHaveBeenCalledExactlyOnceWith(
      "%s",
      '"GET /a" route_unmapped; allowed, because it is only reported',
    );
  });

  it("writes the expected values of several issuers, and omits values that an issuer does not check", () => {
    const other = { ...token, issuer: undefined, audience: undefined };
    const second = { ...token, issuer: "https://other.example/", audience: ["agents-prod", "b"] };
    const issuers = [token, other, second].map((rules) => ({ ...configuration, token: rules }));
    const lines = (["audience", "issuer"] as const).map((rejection) =>
      lineFor(refuse("token_rejected", [], { rejection }), issuers),
    );
    expect(lines).toEqual([
      '"GET /a" token_rejected, audience; expected aud: agents-prod, b',
      '"GET /a" token_rejected, issuer; expected iss: https://login.example/, https://other.example/',
    ]);
  });

  it("writes the rule, and the scopes that are expected and granted", async () => {
    const server = createServer({ scopeMappings: { "GET /a": ["a:read", "b:read"] } });
    for (const [scopes, granted] of [
      [["a:read"], "a:read"],
      [[], "none"],
    ] as const) {
      const authorization = `Bearer ${await issuer.token({ scopes })}`;
      const decision = await server.check({ method: "GET", target: "/a", authorization });
      expect(lineFor(decision as Refused)).toBe(
        `"GET /a" scope_insufficient; rule "GET /a"; expected scopes: a:read, b:read; granted: ${granted}`,
      );
    }
  });

  it("writes nothing without NODE_DEBUG=scopegate", () => {
    const log = Object.assign(vi.fn(), { enabled: false });
    const request = () => ({ method: "GET", target: "/a" });
    createRefusalLog([configuration], log).logDecision(refuse("route_unmapped"), request);
    createRefusalLog([configuration], log).logResponse("400: The body must be JSON.", request);
    expect(log).not.toHaveBeenCalled();
  });
});

describe("an answer that no rule decided", () => {
  it("logs one line, whatever the target contains", () => {
    const log = Object.assign(vi.fn(), { enabled: true });
    const refusalLog = createRefusalLog([configuration], log);
    refusalLog.logResponse("413: The body is too large.", () => ({
      method: "POST",
      target: "/mcp\n\u001b[2J",
    }));
    expect(refusalLog.isEnabled()).toBe(true);
    expect(log.mock.calls[0]?.[1]).toMatch(/^"POST [ -~]*" 413: The body is too large\.$/);
  });
});
