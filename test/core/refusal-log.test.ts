import { describe, expect, it, vi } from "vitest";
import type { Refused } from "scopegate";
import { allow, refuse } from "../../src/core/policy/decision.ts";
import { createRefusalLog, type RefusalLog } from "../../src/core/refusal-log.ts";
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

type Issuers = Parameters<typeof createRefusalLog>[0];

/** The lines that a log writes. */
function linesOf(write: (log: RefusalLog) => void, issuers: Issuers = [configuration]) {
  const log = vi.fn<(format: string, ...values: readonly unknown[]) => void>();
  write(createRefusalLog(issuers, log));
  return log.mock.calls.map(([format, line]) => {
    expect(format).toBe("%s");
    return String(line);
  });
}

const requestOf = (target: string) => ({ method: "GET", target });

/** The only line about a refusal. */
function lineFor(refused: Refused, issuers: Issuers = [configuration], target = "/a"): string {
  const [line = "", ...others] = linesOf((log) => log.logDecision(refused, requestOf(target)), issuers);
  expect(others).toEqual([]);
  return line;
}

describe("the log for development", () => {
  it("writes one line without terminal escapes, whatever the target is", () => {
    const target = "/\u009b31mred\u0085forged\n\u2028\u001b[2J";
    expect(lineFor(refuse("route_unmapped"), [configuration], target)).toMatch(/^"GET [ -~]*$/);
    const [line] = linesOf((log) => log.logResponse("413: The body is too large.", requestOf(target)));
    expect(line).toMatch(/^"GET [ -~]*" 413: The body is too large\.$/);
  });

  it("writes no token that a client sends in its path", () => {
    const target = "/agents/eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1In0.c2ln/runs";
    expect(lineFor(refuse("route_unmapped"), [configuration], target)).toBe(
      '"GET /agents/[token]/runs" route_unmapped',
    );
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

  it("names the route that was checked, if its pattern is known", () => {
    const request = { method: "GET", target: "/a", matchedPattern: "/api/admin/users" };
    expect(linesOf((log) => log.logDecision(refuse("credential_missing"), request))).toEqual([
      '"GET /a" credential_missing; route "/api/admin/users"',
    ]);
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
    expect(lineOf("key", issuers.slice(1))).toContain(
      "; expected kid: any, because no key has one; found kid: none",
    );
  });

  it("writes no token that a client sends as its kid", () => {
    const claimed = { alg: "RS256", kid: "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1In0.c2ln" };
    const line = lineFor(refuse("token_rejected", [], { rejection: "key", claimed }));
    expect(line).toContain("found kid: [token], alg: RS256");
  });

  it("writes nothing for an allowed request", () => {
    expect(linesOf((log) => log.logDecision(allow(), requestOf("/a")))).toEqual([]);
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
});
