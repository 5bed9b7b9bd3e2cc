/** The memory of the token cache: the estimate, its bound, and when memory is given back. */
import { describe, expect, it } from "vitest";
import type { KeyResolver, VerificationKey } from "../../../src/core/keys/verification-key.ts";
import { readPrincipal, type Principal } from "../../../src/core/token/principal.ts";
import { resolveOptions } from "../../../src/core/options/resolve.ts";
import { TokenCache } from "../../../src/core/token/token-cache.ts";
import { heapBytes } from "../../support/heap.ts";
import { scopeRulesOf } from "../../support/policy.ts";
import { createServer, issuer } from "../../support/resource-servers.ts";

const RULES = {
  scopeSources: [{ claim: "scopes" }],
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  keyProofs: undefined,
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

/** Each payload, and how many times the estimate its principal needs: more than once only with odd claims. */
const PAYLOADS: readonly (readonly [string, number, () => string])[] = [
  ["empty objects", 4, () => `{"scopes":[],"x":[${fill(() => "{}")}]}`],
  ["empty arrays", 3, () => `{"scopes":[],"x":[${fill(() => "[]")}]}`],
  ["nested arrays", 6, () => `{"scopes":[],"x":${"[".repeat(5_900)}${"]".repeat(5_900)}}`],
  ["objects with unique names", 4, () => `{"scopes":[],"x":[${fill(() => `{"${next()}":0}`)}]}`],
  ["objects with numbers as names", 7, () => `{"scopes":[],"x":[${fill(() => '{"31":0}')}]}`],
  ["one object with many names", 2, () => `{"scopes":[],"x":{${fill(() => `"${next()}":0`)}}}`],
  ["numbers", 2, () => `{"scopes":[],"x":[${fill(() => "1.5")}]}`],
  ["strings", 1, () => `{"scopes":[],"x":[${fill(() => `"${next()}"`)}]}`],
  ["a long string", 1, () => `{"scopes":[],"x":"${"\u6f22".repeat(MAX_PAYLOAD / 3)}"}`],
  ["scopes of one part", 2, () => `{"scopes":"${fill(next, " ")}"}`],
  ["scopes of two parts", 2, () => `{"scopes":"${fill(() => `${next()}:r`, " ")}"}`],
  ["scopes of three parts", 1, () => `{"scopes":"${fill(() => `${next()}:${next()}:r`, " ")}"}`],
];

function read(payload: string): Principal {
  const result = readPrincipal(JSON.parse(payload) as Record<string, unknown>, RULES);
  if (result.kind === "rejected") throw new Error(result.claim);
  return result.principal;
}

/** The length of a token with a payload, and with the header and signature of RS256. */
const lengthOf = (payload: string): number => Math.ceil((Buffer.byteLength(payload) * 4) / 3) + 380;

const tokenOf = (length: number): string => next().padStart(length, "x");

const key: VerificationKey = { algorithms: new Set(), material: () => Promise.reject(new Error("unused")) };
const keys = { holds: () => true } as unknown as KeyResolver;
const acceptance = { keys, key, endsAt: Infinity };

/** A cache with a clock in milliseconds that the test sets. */
function createCache(maxBytes: number, maxEntries = 10_000) {
  const clock = { now: 0 };
  const rules = { maxEntries, maxBytes, maxAgeSeconds: 60 };
  return { cache: new TokenCache(rules, () => clock.now), clock };
}

const setIn = (cache: TokenCache, digest: string, payload: string, principal = read(payload)): void =>
  cache.set(digest, tokenOf(lengthOf(payload)), principal, acceptance);

describe("the estimate of an entry", () => {
  it.each(PAYLOADS)("for %s: the memory is at most %i times as much", (_, times, payload) => {
    const excess = (): number => {
      const { cache } = createCache(1e9);
      read(payload());
      const before = heapBytes();
      for (let count = 0; count < 60; count += 1) setIn(cache, `${count}`, payload());
      return heapBytes() - before - times * cache.bytes;
    };
    // The test runner itself allocates meanwhile: the least of three measurements counts.
    expect(Math.min(excess(), excess(), excess())).toBeLessThan(65_536);
  });
});

describe("the token cache", () => {
  it("stays under maxBytes with the largest tokens", () => {
    const maxBytes = 4 * 1024 * 1024;
    const { cache } = createCache(maxBytes);
    const before = heapBytes();
    for (let token = 0; token < 300; token += 1) {
      setIn(cache, `${token}`, PAYLOADS[token % PAYLOADS.length]?.[2]() ?? "");
      expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
    }
    // The mean of these payloads needs about three times the estimate.
    expect(heapBytes() - before).toBeLessThan(4 * maxBytes);
    expect(cache.entries).toBeGreaterThan(5);
  });

  it("does not keep a token that is larger than maxBytes, and keeps the others", () => {
    const { cache } = createCache(4_000);
    const small = read('{"scopes":[]}');
    setIn(cache, "small", '{"scopes":[]}', small);
    setIn(cache, "large", `{"scopes":[],"x":"${"x".repeat(4_000)}"}`);
    expect([cache.get("small")?.principal, cache.get("large"), cache.entries]).toEqual([small, undefined, 1]);
  });

  it("deletes expired entries without a request for them", () => {
    const { cache, clock } = createCache(1e9);
    const principal = read('{"scopes":[]}');
    for (let token = 0; token < 5_000; token += 1) {
      cache.set(`${token}`, tokenOf(500), principal, acceptance);
      clock.now += 10;
    }
    expect(cache.entries).toBe(5_000);
    clock.now = 65_000;
    cache.set("another", tokenOf(500), principal, acceptance);
    expect(cache.entries).toBe(4_500);
    clock.now = 200_000;
    for (let request = 0; request < 5; request += 1)
      cache.set("another", tokenOf(500), principal, acceptance);
    expect([cache.entries, cache.bytes]).toEqual([1, 800 + 4 * 500]);
    clock.now = 300_000;
    cache.get("another");
    expect([cache.entries, cache.bytes]).toEqual([0, 0]);
  });

  it("stores the newest tokens of usual length as a whole, until they are old", () => {
    const { cache, clock } = createCache(1e9);
    const principal = read('{"scopes":[]}');
    const before = heapBytes();
    const growth = () => heapBytes() - before;
    for (let count = 0; count < 300; count += 1) {
      cache.set(`${count}`, tokenOf(2_001), principal, acceptance);
      cache.set(`${count}`, tokenOf(2_000), principal, acceptance);
    }
    expect(growth()).toBeGreaterThan(200_000);
    expect(growth()).toBeLessThan(400_000);
    clock.now = 60_000;
    cache.get("0");
    expect([cache.entries, growth() < 100_000]).toEqual([0, true]);
  });

  it("counts a token that is verified again as new", () => {
    const { cache, clock } = createCache(1e9);
    const principal = read('{"scopes":[]}');
    cache.set("first", tokenOf(500), principal, acceptance);
    cache.set("second", tokenOf(500), principal, acceptance);
    clock.now = 30_000;
    cache.set("first", tokenOf(500), principal, acceptance);
    expect(cache.bytes).toBe(2 * (800 + 4 * 500));
    clock.now = 70_000;
    expect([cache.get("first")?.principal, cache.entries]).toEqual([principal, 1]);
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
      if (cache) setIn(cache, `${user}`, JSON.stringify(usual(user)));
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
