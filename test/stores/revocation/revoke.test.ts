import { describe, expect, it, vi } from "vitest";
import type { RevocationTarget } from "scopegate/revocation";
import { inMemoryRevocation, sharedRevocation } from "scopegate/revocation";
import { memoryStore } from "scopegate/store";
import { revalidate } from "scopegate/connections";
import { compact } from "../../../src/core/runtime/compact.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

/** A server with revocation, and a clock that the test moves. */
function createRevoking(options: Partial<ResourceServerOptions> = {}, maxEntries = 1_000) {
  let now = NOW * 1000;
  const clock = () => now;
  // Answers are not used twice, so that a test can move the clock.
  const rules = { keepSeconds: 3600, freshMs: 0, now: clock };
  const revocation = sharedRevocation(memoryStore({ maxEntries, now: clock }), rules);
  const server = createServer({ now: clock, revocation, ...options });
  return {
    server,
    revocation,
    verdict: (token: string) => verdictOf(server, token),
    pass: (seconds: number) => void (now += seconds * 1000),
  };
}

const CLAIMS = {
  jti: "t1",
  sub: "u1",
  session_id: "s1",
  client_id: "c1",
  iss: "https://login.example/",
  iat: NOW - 10,
  exp: NOW + 1000,
};

describe("server.revoke", () => {
  it.each<readonly [string, RevocationTarget]>([
    ["a token by its id", { tokenId: "t1" }],
    ["a token by its id and issuer", { tokenId: "t1", issuer: "https://login.example/" }],
    ["a session", { sessionId: "s1" }],
    ["a user", { userId: "u1" }],
    ["a user of one issuer", { userId: "u1", issuer: "https://login.example/" }],
    ["a client", { clientId: "c1" }],
    ["an issuer", { issuer: "https://login.example/" }],
    ["a user up to iat", { userId: "u1", before: new Date((NOW - 10) * 1000) }],
  ])("rejects a remembered token after revoking %s", async (_, target) => {
    const { server, verdict } = createRevoking();
    const token = await issuer.token(CLAIMS);
    expect(await verdict(token)).toBe("accepted");
    await server.revoke(target);
    expect(await verdict(token)).toBe("revoked");
  });

  it.each<readonly [string, RevocationTarget]>([
    ["another token", { tokenId: "t2" }],
    ["another session", { sessionId: "t1" }],
    ["another user", { userId: "s1" }],
    ["the same user of another issuer", { userId: "u1", issuer: "https://other.example/" }],
    ["another issuer", { issuer: "https://other.example/" }],
    ["another client", { clientId: "c2" }],
    ["older tokens of the user", { userId: "u1", before: new Date((NOW - 11) * 1000) }],
    ["older tokens of the client", { clientId: "c1", before: new Date((NOW - 11) * 1000) }],
    ["older tokens of the issuer", { issuer: CLAIMS.iss, before: new Date((NOW - 11) * 1000) }],
  ])("accepts a token after revoking %s", async (_, target) => {
    const { server, verdict } = createRevoking();
    await server.revoke(target);
    expect(await verdict(await issuer.token(CLAIMS))).toBe("accepted");
  });

  it("rejects the revoked token, and no other token of its user", async () => {
    const { server, verdict } = createRevoking();
    const token = await issuer.token(CLAIMS);
    await server.revoke({ token });
    expect(await verdict(token)).toBe("revoked");
    expect(await verdict(await issuer.token({ ...CLAIMS, jti: "t2" }))).toBe("accepted");
  });

  it("revokes a token without jti by its claims, also with another signature", async () => {
    const { server, verdict } = createRevoking();
    const claims = { ...CLAIMS, jti: undefined };
    await server.revoke({ token: await issuer.token(claims) });
    expect(await verdict(await issuer.token(claims))).toBe("revoked");
    expect(await verdict(await issuer.token({ ...claims, exp: NOW + 999 }))).toBe("accepted");
  });

  it("revokes the tokens of a user that have no iat", async () => {
    const { server, verdict } = createRevoking();
    await server.revoke({ userId: "u1", before: new Date(0) });
    expect(await verdict(await issuer.token({ ...CLAIMS, iat: undefined }))).toBe("revoked");
  });

  it("revokes every token of a user that was accepted before, also of an issuer whose clock is ahead", async () => {
    const { server, verdict, pass } = createRevoking();
    const [latest, tooLate] = [NOW + 5, NOW + 6];
    const token = await issuer.token({ ...CLAIMS, iat: latest });
    expect(await verdict(token)).toBe("accepted");
    expect(await verdict(await issuer.token({ ...CLAIMS, iat: tooLate }))).toBe("not_yet_valid");
    await server.revoke({ userId: "u1" });
    expect(await verdict(token)).toBe("revoked");
    pass(400);
    expect(await verdict(token)).toBe("revoked");
    expect(await verdict(await issuer.token({ ...CLAIMS, iat: tooLate }))).toBe("accepted");
  });

  it("includes younger tokens with a longer tolerance for clocks", async () => {
    const { server, verdict, pass } = createRevoking({ clockToleranceSeconds: 60 });
    await server.revoke({ userId: "u1" });
    pass(100);
    expect(await verdict(await issuer.token({ ...CLAIMS, iat: NOW + 60 }))).toBe("revoked");
    expect(await verdict(await issuer.token({ ...CLAIMS, iat: NOW + 61 }))).toBe("accepted");
  });

  it("keeps the wider of two revocations of one user", async () => {
    const { server, verdict } = createRevoking();
    await server.revoke({ userId: "u1" });
    await server.revoke({ userId: "u1", before: new Date(0) }, { until: new Date((NOW + 10) * 1000) });
    expect(await verdict(await issuer.token(CLAIMS))).toBe("revoked");
  });

  it("forgets a revocation at `until`, and not before", async () => {
    const { server, verdict, pass } = createRevoking();
    await server.revoke({ sessionId: "s1" }, { until: new Date((NOW + 100) * 1000) });
    const token = await issuer.token(CLAIMS);
    pass(99);
    expect(await verdict(token)).toBe("revoked");
    pass(1);
    expect(await verdict(token)).toBe("accepted");
  });

  it.each<readonly [string, unknown]>([
    ["nothing", {}],
    ["an undefined user of an issuer", { userId: undefined, issuer: "https://login.example/" }],
    ["an empty id", { tokenId: "" }],
    ["two ids", { tokenId: "t1", userId: "u1" }],
    ["an unknown id", { deviceId: "d1" }],
    ["a limit in time for a session", { sessionId: "s1", before: new Date(0) }],
    ["an invalid date", { userId: "u1", before: new Date("never") }],
    ["a number as a date", { userId: "u1", before: NOW }],
    ["an undefined issuer", { userId: "u1", issuer: undefined }],
  ])("refuses a target with %s", async (_, target) => {
    const { server, verdict } = createRevoking();
    await expect(server.revoke(target as RevocationTarget)).rejects.toThrow(TypeError);
    expect(await verdict(await issuer.token(CLAIMS))).toBe("accepted");
  });

  it("refuses a revocation that would be forgotten before the token expires", async () => {
    const { server } = createRevoking();
    const late = { until: new Date((NOW + 3601) * 1000) };
    await expect(server.revoke({ tokenId: "t1" }, late)).rejects.toThrow(RangeError);
    const token = await issuer.token({ ...CLAIMS, exp: undefined });
    await expect(server.revoke({ token })).rejects.toThrow("has no `exp`");
    const long = await issuer.token({ ...CLAIMS, exp: NOW + 3601 });
    await expect(server.revoke({ token: long })).rejects.toThrow("keepSeconds");
  });

  it("keeps the revocation of a token until it is not accepted any more, with the clock tolerance", async () => {
    const { server, verdict, pass } = createRevoking({ clockToleranceSeconds: 60 });
    const token = await issuer.token(CLAIMS);
    await server.revoke({ token });
    pass(1000 + 30);
    expect(await verdict(token)).toBe("revoked");
    pass(40);
    expect(await verdict(token)).toBe("expired");
  });

  it("refuses a time that has passed, and a token together with another target", async () => {
    const { server, verdict } = createRevoking();
    const past = { until: new Date((NOW - 1) * 1000) };
    await expect(server.revoke({ userId: "u1" }, past)).rejects.toThrow("`until` has passed");
    const token = await issuer.token(CLAIMS);
    await expect(server.revoke({ token, userId: "u2" })).rejects.toThrow(TypeError);
    expect(await verdict(token)).toBe("accepted");
  });

  it("revokes a token that is already revoked, or whose revocation cannot be checked", async () => {
    const { server, revocation, verdict } = createRevoking();
    const token = await issuer.token(CLAIMS);
    await server.revoke({ token });
    await server.revoke({ token });
    const other = await issuer.token({ ...CLAIMS, jti: "t2" });
    const failing = vi.spyOn(revocation, "isRevoked").mockRejectedValue(new Error("out of reach"));
    await server.revoke({ token: other });
    failing.mockRestore();
    expect(await verdict(other)).toBe("revoked");
  });

  it("rejects a token that is not accepted, and any call without the option `revocation`", async () => {
    const { server } = createRevoking();
    await expect(server.revoke({ token: "a.b.c" })).rejects.toThrow("malformed");
    await expect(createServer().revoke({ tokenId: "t1" })).rejects.toThrow("inMemoryRevocation()");
  });
});

describe("an invalid `now`", () => {
  it("stops a revocation, which would otherwise have no time", async () => {
    const store = compact({ ...memoryStore(), now: undefined });
    const revocation = sharedRevocation(store, { keepSeconds: 3600 });
    const { server } = createRevoking({ revocation, now: () => Number.NaN });
    const message = "The `now` option must return milliseconds since the epoch.";
    for (const change of ["revoke", "unrevoke"] as const)
      await expect(server[change]({ userId: "u1" })).rejects.toThrow(message);
  });
});

describe("server.unrevoke", () => {
  it.each<RevocationTarget>([
    { tokenId: "t1" },
    { sessionId: "s1" },
    { userId: "u1" },
    { clientId: "c1" },
    { issuer: CLAIMS.iss },
    { userId: "u1", issuer: CLAIMS.iss },
  ])("withdraws the revocation of %j at once", async (target) => {
    const { server, verdict } = createRevoking();
    const token = await issuer.token(CLAIMS);
    await server.revoke(target);
    expect(await verdict(token)).toBe("revoked");
    expect(await server.unrevoke(target)).toBe(true);
    expect(await verdict(token)).toBe("accepted");
    expect(await server.unrevoke(target)).toBe(false);
  });

  it("withdraws only the revocation of the same issuer, or of no issuer", async () => {
    const { server, verdict } = createRevoking();
    const token = await issuer.token(CLAIMS);
    await server.revoke({ userId: "u1", issuer: CLAIMS.iss });
    await server.revoke({ userId: "u1" });
    expect(await server.unrevoke({ userId: "u1", issuer: "https://other.example/" })).toBe(false);
    expect(await server.unrevoke({ userId: "u1" })).toBe(true);
    expect(await verdict(token)).toBe("revoked");
    expect(await server.unrevoke({ userId: "u1", issuer: CLAIMS.iss })).toBe(true);
    expect(await verdict(token)).toBe("accepted");
  });

  it("withdraws the revocation of a token", async () => {
    const { server, verdict } = createRevoking();
    const token = await issuer.token(CLAIMS);
    await server.revoke({ token });
    await server.unrevoke({ token });
    expect(await verdict(token)).toBe("accepted");
  });

  it("refuses a target that names nothing, and needs the option `revocation`", async () => {
    await expect(createRevoking().server.unrevoke({} as RevocationTarget)).rejects.toThrow(TypeError);
    await expect(createServer().unrevoke({ tokenId: "t1" })).rejects.toThrow("inMemoryRevocation()");
  });
});

describe("inMemoryRevocation", () => {
  it("rejects further entries when it is full, until some have ended", async () => {
    const { server, verdict, pass } = createRevoking({}, 2);
    await server.revoke({ tokenId: "t1" }, { until: new Date((NOW + 10) * 1000) });
    await server.revoke({ tokenId: "t2" });
    const full = await server.revoke({ tokenId: "t3" }).catch((error: unknown) => error as Error);
    expect(full).toMatchObject({
      cause: {
        message: "The store is full (2 keys). Use memoryStore({ maxEntries }) with more, or a shared store.",
      },
    });
    expect(await verdict(await issuer.token(CLAIMS))).toBe("revoked");
    // The store keeps an entry for an hour longer, because clocks differ.
    pass(10 + 3600);
    await server.revoke({ tokenId: "t3" });
    expect(server.health().revocation).toMatchObject({ state: "ok" });
  });

  it("does not take tokens with an empty jti for one token", async () => {
    const { server, verdict } = createRevoking();
    await server.revoke({ token: await issuer.token({ ...CLAIMS, jti: "" }) });
    expect(await verdict(await issuer.token({ ...CLAIMS, jti: "" }))).toBe("revoked");
    expect(await verdict(await issuer.token({ ...CLAIMS, jti: "", sub: "u2" }))).toBe("accepted");
  });

  it("works for a server as it is", async () => {
    const server = createServer({ revocation: inMemoryRevocation(), now: Date.now });
    const token = await issuer.token({ ...CLAIMS, iat: undefined, exp: Math.floor(Date.now() / 1000) + 600 });
    expect(await verdictOf(server, token)).toBe("accepted");
    await server.revoke({ token });
    expect(await verdictOf(server, token)).toBe("revoked");
  });
});

describe("the option `revocation`", () => {
  it.each([[{}], [null], ["redis"], [{ isRevoked: () => false }], [memoryStore()]])(
    "throws for %j, which knows no revocations",
    (revocation) => {
      expect(() => createServer({ revocation: revocation as never })).toThrow("inMemoryRevocation()");
    },
  );

  it("refuses undefined, because a missing store would accept revoked tokens", () => {
    expect(() => createServer({ revocation: undefined as never })).toThrow("revocation: is undefined");
  });

  it.each([{ keepSeconds: 0 }, { maxEntries: 1.5 }, { keepSeconds: Number.NaN }])(
    "throws for the limits %j",
    (limits) => {
      expect(() => inMemoryRevocation(limits)).toThrow("whole number");
    },
  );

  it("becomes ready at once, and keeps its entries after its server is closed", async () => {
    const { server, verdict } = createRevoking();
    await server.revoke({ tokenId: "t1" });
    await server.ready();
    await server.close();
    expect(await verdict(await issuer.token(CLAIMS))).toBe("revoked");
  });

  it("decides a remembered token without a promise", async () => {
    const server = createServer({ revocation: inMemoryRevocation() });
    const token = await issuer.token(CLAIMS);
    await server.authenticate(token);
    const { pipelineOf } = await import("../../../src/core/port.ts");
    const verdict = pipelineOf(server).decide(
      { method: "GET", target: "/agents", authorization: `Bearer ${token}` },
      false,
    );
    expect(verdict).not.toHaveProperty("then");
  });

  it("reports the principal of an open connection as revoked", async () => {
    const { server } = createRevoking();
    const principal = await server.authenticate(await issuer.token(CLAIMS));
    expect(await revalidate(server, principal)).toMatchObject({ valid: true });
    await server.revoke({ sessionId: "s1" });
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "revoked" });
  });

  it("returns 503 if the store fails, and otherwise calls `isRevoked` as well", async () => {
    const revocation = inMemoryRevocation();
    const asked = vi.spyOn(revocation, "isRevoked").mockRejectedValueOnce(new Error("out of reach"));
    const token = await issuer.token(CLAIMS);
    const server = createServer({ revocation, isRevoked: ({ userId }) => userId === "u1" });
    expect(await verdictOf(server, token)).toBe("unavailable");
    for (const answer of [false, Promise.resolve(false)]) {
      asked.mockReturnValueOnce(answer);
      expect(await verdictOf(server, token)).toBe("revoked");
    }
  });
});
