/** The digest of the policy, which `health()`, decision events and log records contain. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createResourceServer } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { issuersFrom } from "scopegate/issuers";
import { remoteKeys } from "scopegate/keys";
import { mcpOperations } from "scopegate/mcp";
import { inMemoryRevocation } from "scopegate/revocation";
import { senderConstraint } from "scopegate/sender-constraint";
import { memoryStore } from "scopegate/store";
import type { ResourceServerOptions } from "scopegate";

const SECRET = "a secret of at least thirty-two characters";
const OTHER_SECRET = "another secret of more than thirty-two characters";

// Weaker overrides are warnings.
beforeEach(() => void vi.spyOn(process, "emitWarning").mockReturnValue(undefined));

const BASE: ResourceServerOptions = {
  serviceId: "orders",
  verificationKeys: [SECRET],
  algorithm: "HS256",
  conditions: callerConditions(),
  mcp: mcpOperations(),
  scopeMappings: {
    "GET /orders": ["orders:read"],
    "* /orgs/:org{/*path}": { scopes: ["orgs:use", "orders:use"], where: { org: { claim: ["org", "id"] } } },
    "MCP tools/call search": { anyOf: ["search:use", "search:all"] },
    "GET /health": "public",
  },
};

const digestOf = (options: ResourceServerOptions): string => createResourceServer(options).health().policy;
const withRules = (rules: ResourceServerOptions["scopeMappings"]): ResourceServerOptions => ({
  ...BASE,
  scopeMappings: { ...BASE.scopeMappings, ...rules },
});

it("is the same in every process and version of Node.js", () =>
  expect(digestOf(BASE)).toBe("ec86f1719e98dae1ca283392e65b2dac"));

describe("the same digest", () => {
  const reversed = Object.fromEntries(Object.entries(BASE).reverse()) as unknown as ResourceServerOptions;
  const rulesReversed = Object.fromEntries(Object.entries(BASE.scopeMappings ?? {}).reverse());
  it.each<[string, ResourceServerOptions]>([
    ["options in another order", reversed],
    ["rules in another order", { ...BASE, scopeMappings: rulesReversed }],
    [
      "the scopes of a rule in another order",
      withRules({ "MCP tools/call search": { anyOf: ["search:all", "search:use"] } }),
    ],
    [
      "a rule in the base table",
      { ...BASE, scopeMappings: {}, defaultScopeMappings: BASE.scopeMappings ?? {} },
    ],
    ["a base rule that is overridden", { ...BASE, defaultScopeMappings: { "GET /orders": ["orders:list"] } }],
    ["a default that is written", { ...BASE, unmappedRoutes: "deny", adminScope: null }],
    ["another key", { ...BASE, verificationKeys: [OTHER_SECRET] }],
    ["functions", { ...BASE, onDecision: () => undefined, now: () => 0, isRevoked: () => false }],
  ])("%s", (_, options) => expect(digestOf(options)).toBe(digestOf(BASE)));

  it("other objects with functions", () => {
    const revocation = inMemoryRevocation();
    const other = { ...revocation, region: "eu", report: () => undefined };
    expect(digestOf({ ...BASE, revocation: other })).toBe(digestOf({ ...BASE, revocation }));
  });

  it("keys from another place, another store, and another secret of nonces", () => {
    const bound = (secret: string, jwksUri: string): string => {
      const { verificationKeys: _, algorithm: __, ...others } = BASE;
      return digestOf({
        ...others,
        keys: remoteKeys({ jwksUri }),
        senderConstraint: senderConstraint({
          dpop: { origins: ["https://api.example"], nonce: { secret }, replay: memoryStore() },
        }),
      });
    };
    expect(bound(SECRET, "https://login.example/keys")).toBe(
      bound(OTHER_SECRET, "https://other.example/keys"),
    );
  });
});

describe("another digest", () => {
  const { verificationKeys: _keys, algorithm: _algorithm, ...others } = BASE;
  const WITHOUT_KEYS = { ...others, scopeMappings: { "GET /health": "public" } } as const;
  const { "GET /health": _, ...withoutHealth } = BASE.scopeMappings ?? {};
  const where = (claim: readonly string[]) => ({
    scopes: ["orgs:use", "orders:use"],
    where: { org: { claim } },
  });
  const changes: [string, ResourceServerOptions][] = [
    ["a rule less", { ...BASE, scopeMappings: withoutHealth }],
    ["a rule more", withRules({ "GET /keys": [] })],
    ["another scope", withRules({ "GET /orders": ["orders:list"] })],
    ["another method", { ...BASE, scopeMappings: { ...withoutHealth, "HEAD /health": "public" } }],
    ["one of the scopes instead of all", withRules({ "GET /orders": { anyOf: ["orders:read"] } })],
    ["another condition", withRules({ "* /orgs/:org{/*path}": where(["id", "org"]) })],
    ["a role", { ...BASE, scopeSources: [{ claim: "roles", map: { keys: ["orders:read"] } }] }],
    ["another role", { ...BASE, scopeSources: [{ claim: "roles", map: { secret: ["orders:read"] } }] }],
    ["a claim", { ...BASE, requiredClaims: { keys: "any" } }],
    ["an implied scope", { ...BASE, impliedScopes: { "orders:all": ["orders:read"] } }],
    ["another audience", { ...BASE, serviceId: "stores" }],
    ["an admin scope", { ...BASE, adminScope: "platform:admin" }],
    ["unmapped routes", { ...BASE, unmappedRoutes: "not_found" }],
    ["a tolerance", { ...BASE, clockToleranceSeconds: 5 }],
    ["methods of MCP", { ...BASE, mcp: mcpOperations({ methods: { "acme/run": "name" } }) }],
    ["found issuers", { ...WITHOUT_KEYS, issuers: issuersFrom(() => undefined) }],
    [
      "found issuers for longer",
      { ...WITHOUT_KEYS, issuers: issuersFrom(() => undefined, { freshSeconds: 90 }) },
    ],
    [
      "key binding",
      { ...BASE, senderConstraint: senderConstraint({ dpop: { origins: ["https://a.example"] } }) },
    ],
    [
      "another origin",
      { ...BASE, senderConstraint: senderConstraint({ dpop: { origins: ["https://b.example"] } }) },
    ],
  ];
  it.each(changes)("%s", (_, options) => expect(digestOf(options)).not.toBe(digestOf(BASE)));

  it("no two of them are equal", () => {
    const digests = changes.map(([, options]) => digestOf(options));
    expect(new Set(digests).size).toBe(digests.length);
  });
});
