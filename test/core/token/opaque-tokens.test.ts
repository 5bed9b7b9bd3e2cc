import { describe, expect, it, type Mock, vi } from "vitest";
import type { Refused } from "scopegate";
import type { OpaqueVerification } from "scopegate/introspection";
import { opaqueTokens } from "../../../src/capabilities/opaque/index.ts";
import { compact } from "../../../src/core/runtime/compact.ts";
import type { OpaqueKind } from "../../../src/core/token/opaque-tokens.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

type Verify = OpaqueKind["verify"];

const verified = (claims: object): OpaqueVerification => ({
  kind: "verified",
  claims: Object.freeze({ aud: "agents-prod", scopes: ["agents:read"], ...claims }),
});

/** A kind of token that begins with a prefix. */
function kindOf(prefix: string, verify: (token: string, context: object) => unknown, more: object = {}) {
  const kind: Omit<OpaqueKind, "verify"> & { readonly verify: Mock<Verify> } = {
    tokenKind: "api_key",
    scopesClaim: "scopes",
    matches: (token) => token.startsWith(prefix),
    verify: vi.fn(verify as Verify),
    ...more,
  };
  return kind;
}

const serverWith = (kinds: readonly OpaqueKind[], options: Partial<ResourceServerOptions> = {}) =>
  createServer({ opaqueTokens: kinds.map(opaqueTokens), ...options });

const decisionOf = (kind: OpaqueKind, options?: Partial<ResourceServerOptions>) =>
  serverWith([kind], options).check({ method: "GET", target: "/agents", authorization: "Bearer key_1" });

describe("an opaque token", () => {
  it("becomes a principal with its claims, its scopes and its kind", async () => {
    const claims = { sub: "u1", session_id: "s1", jti: "k1", exp: NOW + 60, roles: ["agents:read"] };
    const kind = kindOf("key_", () => verified(claims), { scopesClaim: "roles", tokenKind: "introspected" });
    const principal = await serverWith([kind]).authenticate("key_1");
    expect(principal).toMatchObject({
      userId: "u1",
      sessionId: "s1",
      tokenId: "k1",
      expiresAt: NOW + 60,
      scopes: ["agents:read"],
      tokenKind: "introspected",
      claims,
    });
  });

  it.each([
    ["at once", (found: OpaqueVerification) => found],
    ["with a promise", (found: OpaqueVerification) => Promise.resolve(found)],
  ])("grants only its scopes if it is verified %s", async (_, answer) => {
    const withScopes = (scopes: readonly string[]) => kindOf("key_", () => answer(verified({ scopes })));
    expect(await decisionOf(withScopes(["agents:read"]))).toMatchObject({ allowed: true });
    expect(await decisionOf(withScopes(["teams:read"]))).toMatchObject({ reason: "scope_insufficient" });
  });

  it.each([
    [
      "the user and the session from the claims of the server",
      "introspected",
      { userId: "u9", sessionId: "s9" },
    ],
    ["the owner of an API key from `sub`", "api_key", { userId: "u1" }],
  ] as const)("takes %s", async (_, tokenKind, expected) => {
    const claims = { sub: "u1", uid: "u9", sid: "s9" };
    const kind = kindOf("key_", () => verified(claims), { tokenKind });
    const server = serverWith([kind], { userIdClaim: "uid", sessionIdClaim: "sid" });
    expect(await server.authenticate("key_1")).toMatchObject(expected);
  });

  it("uses the clock, the audience and the tolerance of the server", async () => {
    const kind = kindOf("key_", () => verified({}));
    await serverWith([kind], { clockToleranceSeconds: 7 }).authenticate("key_1");
    expect(kind.verify).toHaveBeenCalledExactlyOnceWith("key_1", {
      now: expect.any(Function) as unknown,
      audience: ["agents-prod"],
      clockToleranceSeconds: 7,
      userIdClaim: "sub",
      sessionIdClaim: "session_id",
    });
    expect(kind.verify.mock.lastCall?.[1].now()).toBe(NOW * 1000);
  });

  it("uses only the first kind that recognizes the token", async () => {
    const first = kindOf("key_", () => ({ kind: "rejected", rejection: "key" }));
    const second = kindOf("key_1", () => verified({}));
    const third = kindOf("at_", () => verified({}));
    const server = serverWith([first, second, third]);
    expect(await verdictOf(server, "key_1")).toBe("key");
    expect(second.verify).not.toHaveBeenCalled();
    expect(await verdictOf(server, "at_1")).toBe("accepted");
  });

  it("leaves other tokens to the verification of JWTs", async () => {
    const kind = kindOf("key_", () => verified({}));
    const server = serverWith([kind]);
    expect(await verdictOf(server, await issuer.token({}))).toBe("accepted");
    expect(await verdictOf(server, "a.b.c")).toBe("malformed");
    expect(kind.verify).not.toHaveBeenCalled();
  });

  it("causes a refusal without being read if it is larger than `maxTokenBytes`", async () => {
    const matches = vi.fn(() => true);
    const kind = kindOf("key_", () => verified({}), { matches });
    const server = serverWith([kind], { maxTokenBytes: 100 });
    expect(await verdictOf(server, "k".repeat(100))).toBe("accepted");
    matches.mockClear();
    expect(await verdictOf(server, "k".repeat(101))).toBe("too_large");
    expect(matches).not.toHaveBeenCalled();
  });

  it("causes a refusal if it is not a string", async () => {
    const kind = kindOf("key_", () => verified({}), { matches: () => true });
    for (const token of [undefined, null, 5, {}])
      expect(await verdictOf(serverWith([kind]), token as never)).toBe("malformed");
    expect(kind.verify).not.toHaveBeenCalled();
  });

  it.each<readonly [object, object]>([
    [
      { rejection: "claims", claim: "aud", cause: "Issued for another." },
      { rejection: "claims", claim: "aud", cause: "Issued for another." },
    ],
    [{ rejection: "revoked" }, { rejection: "revoked" }],
  ])("causes a refusal with what its kind reports: %j", async (reported, expected) => {
    const decision = await decisionOf(kindOf("key_", () => ({ kind: "rejected", ...reported })));
    const { rejection, claim, cause } = decision as Refused;
    expect(compact({ rejection, claim, cause })).toEqual(expected);
  });

  it.each([
    [{ scopes: 5 }, "scopes"],
    [{ scopes: undefined }, "scopes"],
    [{ exp: "tomorrow" }, "exp"],
    [{ cnf: { jkt: "x" } }, "cnf"],
  ])("causes a refusal for the invalid claims %j", async (claims, claim) => {
    const decision = await decisionOf(kindOf("key_", () => verified(claims)));
    expect(decision).toMatchObject({ reason: "token_rejected", rejection: "claims", claim });
  });

  const AWAY = new Error("The store is away.");
  it.each<readonly [string, () => unknown, object]>([
    [
      "throws",
      () => {
        throw AWAY;
      },
      { cause: AWAY },
    ],
    ["rejects", () => Promise.reject(AWAY), { cause: AWAY }],
    ["is unavailable", () => ({ kind: "unavailable", cause: AWAY }), { cause: AWAY }],
    [
      "is unavailable for some time",
      () => ({ kind: "unavailable", cause: AWAY, retryAfterSeconds: 17 }),
      { cause: AWAY, retryAfterSeconds: 17 },
    ],
    ["returns undefined", () => undefined, {}],
    ["returns null", () => null, {}],
    ["returns a promise of undefined", () => Promise.resolve(), {}],
  ])("causes 503 and no check for a revocation if its verification %s", async (_, verify, expected) => {
    const isRevoked = vi.fn(() => true);
    const decision = await decisionOf(kindOf("key_", verify), { isRevoked });
    expect(isRevoked).not.toHaveBeenCalled();
    expect(decision).toMatchObject({ reason: "keys_unavailable", granted: [], ...expected });
    expect("retryAfterSeconds" in decision).toBe("retryAfterSeconds" in expected);
  });

  it("causes 503 within a time limit if its verification never settles", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const decision = decisionOf(kindOf("key_", () => new Promise(() => undefined)));
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await decision).toMatchObject({
        reason: "keys_unavailable",
        cause: { message: "The check of the token timed out after 5000 ms." },
      });
    } finally {
      vi.useRealTimers();
    }
  });

  it("returns one principal for the same claims", async () => {
    const found = verified({ sub: "u1" });
    const kind = kindOf("key_", () => found);
    const server = serverWith([kind]);
    expect(await server.authenticate("key_1")).toBe(await server.authenticate("key_1"));
  });

  it("uses the scope hierarchy of the server that reads the token, if servers share a kind", async () => {
    const found = verified({ scopes: ["root"] });
    const kind = kindOf("key_", () => found);
    const [one, other] = [serverWith([kind], { adminScope: "root" }), serverWith([kind])];
    expect((await one.authenticate("key_1")).has("agents:read")).toBe(true);
    expect((await other.authenticate("key_1")).has("agents:read")).toBe(false);
  });

  it("checks whether the token is revoked", async () => {
    const kind = kindOf("key_", () => verified({ sub: "u1" }));
    expect(await verdictOf(serverWith([kind], { isRevoked: () => true }), "key_1")).toBe("revoked");
  });

  it.each([
    ["introspected", ["teams:read"]],
    ["api_key", []],
  ] as const)("receives for the kind %s the scopes %j of the role store", async (tokenKind, scopes) => {
    const kind = kindOf("key_", () => verified({ sub: "u1", scopes: [] }), { tokenKind });
    const granting = serverWith([kind], { grants: () => Promise.resolve(["teams:read"]) });
    expect((await granting.authenticate("key_1")).scopes).toEqual(scopes);
  });

  it("stops the background work of its kind when the server is closed", async () => {
    const close = vi.fn();
    await serverWith([
      kindOf("key_", () => verified({}), { close }),
      kindOf("at_", () => verified({})),
    ]).close();
    expect(close).toHaveBeenCalledTimes(1);
  });
});

describe("the option `opaqueTokens`", () => {
  it.each([[[]], [{}], [[{}]], [[{ matches: () => true }]], [["key"]], [null]])(
    "refuses %j",
    (opaqueTokens) => {
      expect(() => createServer({ opaqueTokens: opaqueTokens as never })).toThrow("apiKeys(...)");
    },
  );
});
