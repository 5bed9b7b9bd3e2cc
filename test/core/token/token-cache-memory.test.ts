/** The memory of the token cache: the estimate, its bound, and when memory is given back. */
import { describe, expect, it } from "vitest";
import type { KeyResolver, VerificationKey } from "../../../src/core/keys/verification-key.ts";
import { principalWeight, readPrincipal, type Principal } from "../../../src/core/token/principal.ts";
import { resolveOptions } from "../../../src/core/options/resolve.ts";
import { TokenCache } from "../../../src/core/token/token-cache.ts";
import { heapBytes } from "../../support/heap.ts";
import { scopeRulesOf } from "../../support/policy.ts";
import { createServer, issuer } from "../../support/resource-servers.ts";

const RULES = {
  scopeSources: [{ claim: "scopes" }],
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  bindings: [],
  scopeRules: scopeRulesOf({ "agents:write": ["agents:read"] }),
} as const;

/** The payload of a token of 16,384 bytes has fewer. */
const MAX_PAYLOAD = 12_000;
let serial = 1_000_000;
const next = (): string => (serial += 1).toString(36);

/** Repeats parts of JSON up to the size of the largest payload. */
function fill(part: () => string, separator = ","): string {
  const parts: string[] = [];
  for (let length = 0; length < MAX_PAYLOAD - 40; length += (parts.at(-1)?.length ?? 0) + separator.length)
    parts.push(part());
  return parts.join(separator);
}

const PAYLOADS: readonly (readonly [string, () => string])[] = [
  ["empty objects", () => `{"scopes":[],"x":[${fill(() => "{}")}]}`],
  ["empty arrays", () => `{"scopes":[],"x":[${fill(() => "[]")}]}`],
  ["nested arrays", () => `{"scopes":[],"x":${"[".repeat(5_900)}${"]".repeat(5_900)}}`],
  ["objects with unique names", () => `{"scopes":[],"x":[${fill(() => `{"${next()}":0}`)}]}`],
  ["objects with numbers as names", () => `{"scopes":[],"x":[${fill(() => '{"31":0}')}]}`],
  ["one object with many names", () => `{"scopes":[],"x":{${fill(() => `"${next()}":0`)}}}`],
  ["numbers", () => `{"scopes":[],"x":[${fill(() => "1.5")}]}`],
  ["strings", () => `{"scopes":[],"x":[${fill(() => `"${next()}"`)}]}`],
  ["a long string", () => `{"scopes":[],"x":"${"\u6f22".repeat(MAX_PAYLOAD / 3)}"}`],
  ["scopes of one part", () => `{"scopes":"${fill(next, " ")}"}`],
  ["scopes of two parts", () => `{"scopes":"${fill(() => `${next()}:r`, " ")}"}`],
  ["scopes of three parts", () => `{"scopes":"${fill(() => `${next()}:${next()}:r`, " ")}"}`],
];

function read(payload: string): Principal {
  const result = readPrincipal(JSON.parse(payload) as Record<string, unknown>, RULES);
  if (result.kind === "rejected") throw new Error(result.claim);
  return result.principal;
}

/** The memory of a principal whose scopes no other principal has. */
function bytesOf(principal: Principal): number {
  const { exclusive, shared } = principalWeight(principal);
  return exclusive + (shared?.weight ?? 0);
}

const key: VerificationKey = { algorithms: new Set(), material: () => Promise.reject(new Error("unused")) };
const keys = { holds: () => true } as unknown as KeyResolver;
const acceptance = { keys, key, endsAt: Infinity };

/** A cache with a clock in milliseconds that the test sets. */
function createCache(maxBytes: number, maxEntries = 10_000) {
  const clock = { now: 0 };
  const rules = { maxEntries, maxBytes, maxAgeSeconds: 60 };
  return { cache: new TokenCache(rules, () => clock.now), clock };
}

describe("the estimate of an entry", () => {
  it.each(PAYLOADS)("exceeds or equals the memory that a principal keeps: %s", (_, payload) => {
    const excess = (): number => {
      const kept: Principal[] = [];
      read(payload());
      const before = heapBytes();
      for (let count = 0; count < 60; count += 1) kept.push(read(payload()));
      const growth = heapBytes() - before;
      return growth - kept.reduce((total, principal) => total + bytesOf(principal), 0);
    };
    // The test runner itself allocates meanwhile: the least of three measurements counts.
    expect(Math.min(excess(), excess(), excess())).toBeLessThan(65_536);
  });
});

describe("the token cache", () => {
  it("stays under maxBytes with the largest tokens", () => {
    const maxBytes = 8 * 1024 * 1024;
    const { cache } = createCache(maxBytes);
    const before = heapBytes();
    for (let token = 0; token < 300; token += 1) {
      const payload = PAYLOADS[token % PAYLOADS.length]?.[1]() ?? "";
      cache.set(`${token}`, read(payload), acceptance);
      expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
    }
    expect(heapBytes() - before).toBeLessThan(maxBytes + 5 * 1024 * 1024);
    expect(cache.entries).toBeGreaterThan(5);
  });

  it("does not keep a token that is larger than maxBytes, and keeps the others", () => {
    const { cache } = createCache(4_000);
    const small = read('{"scopes":[]}');
    cache.set("small", small, acceptance);
    cache.set("large", read(`{"scopes":[],"x":"${"x".repeat(4_000)}"}`), acceptance);
    expect([cache.get("small"), cache.get("large"), cache.entries]).toEqual([small, undefined, 1]);
  });

  it("deletes expired entries without a request for them", () => {
    const { cache, clock } = createCache(1e9);
    const principal = read('{"scopes":[]}');
    for (let token = 0; token < 5_000; token += 1) {
      cache.set(`${token}`, principal, acceptance);
      clock.now += 10;
    }
    expect(cache.entries).toBe(5_000);
    clock.now = 65_000;
    cache.set("another", principal, acceptance);
    expect(cache.entries).toBe(4_500);
    clock.now = 200_000;
    for (let request = 0; request < 5; request += 1) cache.set("another", principal, acceptance);
    expect([cache.entries, cache.bytes]).toEqual([1, bytesOf(principal)]);
    clock.now = 300_000;
    cache.get("another");
    expect([cache.entries, cache.bytes]).toEqual([0, 0]);
  });

  it("counts a token that is verified again as new", () => {
    const { cache, clock } = createCache(1e9);
    const principal = read('{"scopes":[]}');
    cache.set("first", principal, acceptance);
    cache.set("second", principal, acceptance);
    clock.now = 30_000;
    cache.set("first", principal, acceptance);
    expect(cache.bytes).toBe(bytesOf(principal) + principalWeight(principal).exclusive);
    clock.now = 70_000;
    expect([cache.get("first"), cache.entries]).toEqual([principal, 1]);
  });
});

describe("the default limits", () => {
  it.each([
    ["the same scopes", (): string => "agents:web:write"],
    ["scopes of their own", (user: number): string => `agents:a-${user}:write`],
  ])("remember `maxEntries` usual tokens with %s", (_, ownScope) => {
    const scopesOf = (user: number) => [
      ...["agents:read", "agents:run", "sessions:read", "sessions:write"],
      ...["traces:read", "evals:run", "workflows:read", ownScope(user)],
    ];
    const usual = (user: number) => ({
      iss: "https://login.example/realms/agents",
      sub: `0b4b1c1e-1f4e-4b6a-9a51-${user}`,
      aud: ["agents-prod", "account"],
      azp: "console-web",
      exp: 1_700_000_300,
      iat: 1_700_000_000,
      nbf: 1_700_000_000,
      auth_time: 1_700_000_000,
      jti: `5d2c0f0e-6c6e-4d0b-8d5b-${user}`,
      session_id: `f2a0f7d2-1111-2222-3333-${user}`,
      tenant: "tenant-europe-central-01-aa",
      scopes: scopesOf(user),
    });
    const options = { serviceId: "agents-prod", verificationKeys: [issuer.publicPem] };
    const rules = resolveOptions(options).tokenCache;
    const cache = rules && new TokenCache(rules, () => 0);
    const maxEntries = rules?.maxEntries ?? 0;
    for (let user = 0; user < maxEntries; user += 1)
      cache?.set(`${user}`, read(JSON.stringify(usual(user))), acceptance);
    expect([cache?.entries, maxEntries]).toEqual([10_000, 10_000]);
  });
});

describe("the option tokenCache.maxBytes", () => {
  it("bounds the cache of a server", async () => {
    const server = createServer({ tokenCache: { maxBytes: 1 } });
    const token = await issuer.token();
    expect(await server.authenticate(token)).not.toBe(await server.authenticate(token));
  });
});
