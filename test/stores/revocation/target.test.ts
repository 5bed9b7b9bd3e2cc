import { describe, expect, it } from "vitest";
import type { RevocationOptions, RevocationTarget } from "scopegate/revocation";
import { fingerprintOf, toRevokedEntry } from "../../../src/stores/revocation/target.ts";
import { createPrincipal, type Principal } from "../../../src/core/token/principal.ts";
import { SCOPE_RULES } from "../../support/policy.ts";

const NOW = 1_700_000_000;
const KEEP = 3600;
const ISSUER = "https://login.example/";
const USAGE =
  "Write one of { token }, { tokenId }, { sessionId }, { userId, before }, { clientId, before } or { issuer, before }.";

const entryOf = (
  target: unknown,
  options: RevocationOptions = {},
  principal?: Principal,
  nowMs = NOW * 1000,
) =>
  toRevokedEntry(target as RevocationTarget, options, {
    keepSeconds: KEEP,
    nowMs,
    toleranceSeconds: 0,
    ...(principal && { principal }),
  });

const principalWith = (claims: object, more: Partial<Principal> = {}): Principal => ({
  ...createPrincipal({ scopes: [], audience: [], claims: { ...claims } }, SCOPE_RULES),
  ...more,
});

const TOKEN = { token: "a.b.c" };

describe("toRevokedEntry", () => {
  it.each([
    [{ tokenId: "t1" }, { kind: "token", id: "t1" }],
    [
      { tokenId: "t1", issuer: ISSUER },
      { kind: "token", id: "t1", issuer: ISSUER },
    ],
    [{ sessionId: "s1" }, { kind: "session", id: "s1" }],
    [
      { sessionId: "s1", issuer: ISSUER },
      { kind: "session", id: "s1", issuer: ISSUER },
    ],
    [{ userId: "u1" }, { kind: "user", id: "u1", before: NOW }],
    [
      { userId: "u1", issuer: ISSUER },
      { kind: "user", id: "u1", issuer: ISSUER, before: NOW },
    ],
    [{ clientId: "c1" }, { kind: "client", id: "c1", before: NOW }],
    [{ issuer: ISSUER }, { kind: "issuer", id: ISSUER, before: NOW }],
    [
      { userId: "u1", before: new Date(5_000) },
      { kind: "user", id: "u1", before: 5 },
    ],
    [
      { issuer: ISSUER, before: new Date(5_000) },
      { kind: "issuer", id: ISSUER, before: 5 },
    ],
  ])("converts %j to %j, kept for as long as the store keeps entries", (target, entry) => {
    expect(entryOf(target)).toStrictEqual({ ...entry, until: NOW + KEEP });
  });

  it("keeps the reason, and no property for a missing one", () => {
    expect(entryOf({ tokenId: "t1" }, { reason: "The account was closed." })).toMatchObject({
      reason: "The account was closed.",
    });
    expect(entryOf({ tokenId: "t1" })).not.toHaveProperty("reason");
  });

  it("counts whole seconds, and never forgets an entry or spares a token too early", () => {
    expect(entryOf({ userId: "u1" }, {}, undefined, NOW * 1000 + 900)).toMatchObject({
      before: NOW + 0.9,
      until: NOW + KEEP,
    });
    expect(entryOf({ userId: "u1", before: new Date(5_900) })).toMatchObject({ before: 5.9 });
    expect(entryOf({ tokenId: "t1" }, { until: new Date(NOW * 1000 + 100) })).toMatchObject({
      until: NOW + 1,
    });
  });

  it("refuses an end after the time for which the store keeps entries, and not that time itself", () => {
    const at = (seconds: number) => ({ until: new Date((NOW + seconds) * 1000) });
    expect(entryOf({ tokenId: "t1" }, at(KEEP)).until).toBe(NOW + KEEP);
    expect(() => entryOf({ tokenId: "t1" }, at(KEEP + 1))).toThrow(RangeError);
    expect(() => entryOf({ tokenId: "t1" }, at(KEEP + 1))).toThrow(
      "The tokens can be valid for longer than revocations are kept (3600 s). Raise `keepSeconds`.",
    );
  });

  it("identifies a token by its id and its issuer, until it expires", () => {
    const principal = principalWith({}, { tokenId: "t1", issuer: ISSUER, expiresAt: NOW + 10.5 });
    expect(entryOf(TOKEN, { reason: "lost" }, principal)).toStrictEqual({
      kind: "token",
      id: "t1",
      issuer: ISSUER,
      until: NOW + 11,
      reason: "lost",
    });
  });

  it("identifies a token without an id by its claims, and one without an issuer for every issuer", () => {
    const principal = principalWith({ sub: "u1" }, { expiresAt: NOW + 10 });
    expect(entryOf(TOKEN, {}, principal)).toStrictEqual({
      kind: "claims",
      id: fingerprintOf(principal),
      until: NOW + 10,
    });
  });

  it("prefers the given end to that of the token, which may have none", () => {
    const until = new Date((NOW + 20) * 1000);
    for (const expiry of [{ expiresAt: NOW + 10 }, {}])
      expect(entryOf(TOKEN, { until }, principalWith({}, { tokenId: "t1", ...expiry })).until).toBe(NOW + 20);
    expect(() => entryOf(TOKEN, {}, principalWith({}, { tokenId: "t1" }))).toThrow(
      "The token has no `exp`, so it would be accepted again when the revocation is forgotten. " +
        "Pass `until`, or add `exp` to `requiredClaims`.",
    );
  });

  it.each([
    ["nothing", {}],
    ["two ids", { tokenId: "t1", sessionId: "s1" }],
    ["an unknown id", { deviceId: "d1" }],
    ["an undefined id", { userId: undefined }],
    ["an empty id", { sessionId: "" }],
    ["an id that is no string", { tokenId: 5 }],
    ["an empty issuer", { issuer: "" }],
    ["an empty issuer of an id", { tokenId: "t1", issuer: "" }],
    ["a limit in time for a token", { tokenId: "t1", before: new Date(0) }],
  ])("refuses %s", (_, target) => {
    expect(() => entryOf(target)).toThrow(new TypeError(USAGE));
  });

  it.each([
    ["before", { userId: "u1", before: new Date("never") }, {}],
    ["before", { issuer: ISSUER, before: NOW }, {}],
    ["until", { tokenId: "t1" }, { until: new Date("never") }],
    ["until", { tokenId: "t1" }, { until: NOW }],
    ["until", { tokenId: "t1" }, { until: 0 }],
    ["until", { tokenId: "t1" }, { until: null }],
  ])("refuses a `%s` that is not a valid date: %j", (name, target, options) => {
    expect(() => entryOf(target, options as RevocationOptions)).toThrow(
      new TypeError(`\`${name}\` must be a valid Date.`),
    );
  });
});

describe("fingerprintOf", () => {
  it("returns the same string for equal claims, and another for other claims", () => {
    const [one, equal, other] = [{ sub: "u1" }, { sub: "u1" }, { sub: "u2" }].map((claims) =>
      fingerprintOf(principalWith(claims)),
    );
    expect(one).toBe(equal);
    expect(one).not.toBe(other);
  });

  it("reveals no claim: it is the SHA-256 hash of the claims in base64url", () => {
    expect(fingerprintOf(principalWith({ sub: "u1" }))).toBe("ucdaPW5lUlCI2iAmyrs1Z1QKftDykGzPdDfUs9zymYA");
  });
});
