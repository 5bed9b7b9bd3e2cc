import { describe, expect, it, vi } from "vitest";
import type { RevocationTarget } from "scopegate/revocation";
import { inMemoryRevocation, sharedRevocation } from "scopegate/revocation";
import { memoryStore } from "scopegate/store";
import { revalidate } from "scopegate/connections";
import { compact } from "../../../src/core/runtime/compact.ts";
import { withPollution } from "../../support/polluted-prototype.ts";
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

/** The same, with a token. */
const start = async (...options: Parameters<typeof createRevoking>) => ({
  ...createRevoking(...options),
  token: await issuer.token(CLAIMS),
});

const BEFORE = "`before` must be a valid Date.";
const USAGE =
  "Write one of { token }, { tokenId }, { sessionId }, { userId, before }, { clientId, before } or { issuer, before }.";
const OTHER = "https://other.example/";
const at = (seconds: number) => new Date((NOW + seconds) * 1000);

describe.each([
  ["inMemoryRevocation", () => ({ revocation: inMemoryRevocation() })],
  ["sharedRevocation", () => ({})],
])("with a polluted prototype, %s", (_name, optionsOf) => {
  it.each([{ withdrawnAt: 1 }, { before: 1 }, { until: 1 }, { issuer: OTHER }, { userId: "u2" }])(
    "still rejects a revoked token: %j",
    async (properties) => {
      const { server } = createRevoking(optionsOf());
      const { iss, iat, ...claims } = CLAIMS;
      for (const target of [{ tokenId: "t1" }, { sessionId: "s1" }] as const) {
        const token = await issuer.token({ ...claims, iss: undefined, iat: undefined });
        await server.revoke(target);
        expect(await withPollution(properties, () => verdictOf(server, token))).toBe("revoked");
        expect(await verdictOf(server, token)).toBe("revoked");
        await server.unrevoke(target);
      }
    },
  );
});

describe("server.revoke", () => {
  it.each<readonly [RevocationTarget, "revoked" | "accepted"]>([
    [{ tokenId: "t1" }, "revoked"],
    [{ tokenId: "t1", issuer: CLAIMS.iss }, "revoked"],
    [{ sessionId: "s1" }, "revoked"],
    [{ sessionId: "s1", issuer: CLAIMS.iss }, "revoked"],
    [{ userId: "u1" }, "revoked"],
    [{ userId: "u1", issuer: CLAIMS.iss }, "revoked"],
    [{ userId: "u1", before: at(-10) }, "revoked"],
    [{ clientId: "c1" }, "revoked"],
    [{ issuer: CLAIMS.iss }, "revoked"],
    [{ issuer: CLAIMS.iss, before: at(-10) }, "revoked"],
    [{ tokenId: "t2" }, "accepted"],
    [{ tokenId: "t1", issuer: OTHER }, "accepted"],
    [{ sessionId: "t1" }, "accepted"],
    [{ sessionId: "s1", issuer: OTHER }, "accepted"],
    [{ userId: "s1" }, "accepted"],
    [{ userId: "u1", issuer: OTHER }, "accepted"],
    [{ userId: "u1", before: at(-10.1) }, "accepted"],
    [{ clientId: "c2" }, "accepted"],
    [{ clientId: "c1", before: at(-11) }, "accepted"],
    [{ issuer: OTHER }, "accepted"],
    [{ issuer: CLAIMS.iss, before: at(-11) }, "accepted"],
  ])("of %j leaves a remembered token %s", async (target, expected) => {
    const { server, verdict, token } = await start();
    expect(await verdict(token)).toBe("accepted");
    await server.revoke(target);
    expect(await verdict(token)).toBe(expected);
  });

  it("rejects the revoked token, and no other token of its user, nor one of another issuer with its id", async () => {
    const { server, verdict, token } = await start();
    await server.revoke({ token });
    expect(await verdict(token)).toBe("revoked");
    for (const other of [{ jti: "t2" }, { iss: OTHER }])
      expect(await verdict(await issuer.token({ ...CLAIMS, ...other }))).toBe("accepted");
  });

  it.each([undefined, ""])("revokes a token with the jti %j by its claims", async (jti) => {
    const { server, verdict } = createRevoking();
    const claims = { ...CLAIMS, jti };
    await server.revoke({ token: await issuer.token(claims) });
    // Another signature doesn't matter.
    expect(await verdict(await issuer.token(claims))).toBe("revoked");
    for (const other of [{ exp: NOW + 999 }, { sub: "u2" }])
      expect(await verdict(await issuer.token({ ...claims, ...other }))).toBe("accepted");
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

  it("includes younger tokens with a longer tolerance for clocks, and counts their `iat` in whole seconds", async () => {
    const { server, verdict, pass } = createRevoking({ clockToleranceSeconds: 60 });
    await server.revoke({ userId: "u1" });
    pass(100);
    expect(await verdict(await issuer.token({ ...CLAIMS, iat: NOW + 60.9 }))).toBe("revoked");
    expect(await verdict(await issuer.token({ ...CLAIMS, iat: NOW + 61 }))).toBe("accepted");
  });

  it("keeps the wider of two revocations of one user", async () => {
    const { server, verdict } = createRevoking();
    await server.revoke({ userId: "u1" });
    await server.revoke({ userId: "u1", before: new Date(0) }, { until: at(10) });
    expect(await verdict(await issuer.token(CLAIMS))).toBe("revoked");
  });

  it.each([
    ["a session", { until: at(99.1) }, 100],
    ["a session", {}, 3600],
    ["a session", { until: at(3600) }, 3600],
    ["a token", { until: at(20) }, 20],
    ["a token without exp", { until: at(20) }, 20],
  ])(
    "forgets a revocation of %s with %j after %i seconds, and not before",
    async (name, options, seconds) => {
      const { server, verdict, pass } = createRevoking();
      const exp = name === "a token without exp" ? undefined : NOW + 9000;
      const token = await issuer.token({ ...CLAIMS, exp });
      await server.revoke(name === "a session" ? { sessionId: "s1" } : { token }, options);
      pass(seconds - 0.1);
      expect(await verdict(token)).toBe("revoked");
      pass(0.1);
      expect(await verdict(token)).toBe("accepted");
    },
  );

  it.each<readonly [string, unknown, string]>([
    ["nothing", {}, USAGE],
    ["an undefined user of an issuer", { userId: undefined, issuer: CLAIMS.iss }, USAGE],
    ["an empty token id", { tokenId: "" }, USAGE],
    ["a number as token id", { tokenId: 5 }, USAGE],
    ["an empty issuer", { issuer: "" }, USAGE],
    ["a token id of an empty issuer", { tokenId: "t1", issuer: "" }, USAGE],
    ["a user of an undefined issuer", { userId: "u1", issuer: undefined }, USAGE],
    ["a token id and a user", { tokenId: "t1", userId: "u1" }, USAGE],
    ["a token and a user", { token: "a valid token", userId: "u2" }, USAGE],
    ["a device", { deviceId: "d1" }, USAGE],
    ["a session before a time", { sessionId: "s1", before: new Date(0) }, USAGE],
    ["a token id before a time", { tokenId: "t1", before: new Date(0) }, USAGE],
    ["a user before an invalid date", { userId: "u1", before: new Date("never") }, BEFORE],
    ["an issuer before a number", { issuer: CLAIMS.iss, before: NOW }, BEFORE],
  ])("refuses to revoke %s", async (_, target, message) => {
    const { server, verdict, token } = await start();
    const given = Object.hasOwn(target as object, "token") ? { ...(target as object), token } : target;
    await expect(server.revoke(given as RevocationTarget)).rejects.toThrow(new TypeError(message));
    expect(await verdict(token)).toBe("accepted");
  });

  it.each([
    ["an invalid date", new Date("never")],
    ["a number", NOW],
    ["zero", 0],
    ["null", null],
  ])("refuses an end that is %s", async (_, until) => {
    const revoking = createRevoking().server.revoke({ tokenId: "t1" }, { until: until as Date });
    await expect(revoking).rejects.toThrow(new TypeError("`until` must be a valid Date."));
  });

  it("refuses an end that has passed, and a revocation that would be forgotten before the token expires", async () => {
    const { server, verdict } = createRevoking();
    const [token, endless, long] = await Promise.all(
      [NOW + 1000, undefined, NOW + 3601].map((exp) => issuer.token({ ...CLAIMS, exp })),
    );
    const tooLong = new RangeError(
      "The tokens can be valid for longer than revocations are kept (3600 s). Raise `keepSeconds`.",
    );
    const withoutEnd = new RangeError(
      "The token has no `exp`, so it would be accepted again when the revocation is forgotten. " +
        "Pass `until`, or add `exp` to `requiredClaims`.",
    );
    await expect(server.revoke({ tokenId: "t1" }, { until: at(3601) })).rejects.toThrow(tooLong);
    await expect(server.revoke({ token: long ?? "" })).rejects.toThrow(tooLong);
    await expect(server.revoke({ token: endless ?? "" })).rejects.toThrow(withoutEnd);
    await expect(server.revoke({ userId: "u1" }, { until: at(-1) })).rejects.toThrow("`until` has passed");
    expect(await verdict(token ?? "")).toBe("accepted");
  });

  it("keeps the revocation of a token until it is not accepted any more, with the clock tolerance", async () => {
    const { server, verdict, pass } = createRevoking({ clockToleranceSeconds: 60 });
    const token = await issuer.token({ ...CLAIMS, exp: NOW + 1000.5 });
    await server.revoke({ token });
    pass(1000.5 + 59.9);
    expect(await verdict(token)).toBe("revoked");
    pass(10);
    expect(await verdict(token)).toBe("expired");
  });

  it("revokes a token that is already revoked, or whose revocation cannot be checked", async () => {
    const { server, revocation, verdict, token } = await start();
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
    { token: "" },
    { tokenId: "t1" },
    { sessionId: "s1" },
    { userId: "u1" },
    { clientId: "c1" },
    { issuer: CLAIMS.iss },
    { userId: "u1", issuer: CLAIMS.iss },
  ])("withdraws the revocation of %j at once", async (given) => {
    const { server, verdict, token } = await start();
    const target = "token" in given ? { token } : given;
    await server.revoke(target);
    expect(await verdict(token)).toBe("revoked");
    expect(await server.unrevoke(target)).toBe(true);
    expect(await verdict(token)).toBe("accepted");
    expect(await server.unrevoke(target)).toBe(false);
  });

  it("withdraws only the revocation of the same issuer, or of no issuer", async () => {
    const { server, verdict, token } = await start();
    await server.revoke({ userId: "u1", issuer: CLAIMS.iss });
    await server.revoke({ userId: "u1" });
    expect(await server.unrevoke({ userId: "u1", issuer: "https://other.example/" })).toBe(false);
    expect(await server.unrevoke({ userId: "u1" })).toBe(true);
    expect(await verdict(token)).toBe("revoked");
    expect(await server.unrevoke({ userId: "u1", issuer: CLAIMS.iss })).toBe(true);
    expect(await verdict(token)).toBe("accepted");
  });

  it("refuses a target that names nothing, and needs the option `revocation`", async () => {
    await expect(createRevoking().server.unrevoke({} as RevocationTarget)).rejects.toThrow(TypeError);
    await expect(createServer().unrevoke({ tokenId: "t1" })).rejects.toThrow("inMemoryRevocation()");
  });
});

describe("revocations in memory", () => {
  it("reject further entries when they are full, until some have ended", async () => {
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

  it("need no options", async () => {
    const server = createServer({ revocation: inMemoryRevocation(), now: Date.now });
    const token = await issuer.token({ ...CLAIMS, iat: undefined, exp: Math.floor(Date.now() / 1000) + 600 });
    expect(await verdictOf(server, token)).toBe("accepted");
    await server.revoke({ token });
    expect(await verdictOf(server, token)).toBe("revoked");
  });
});

describe("the option `revocation`", () => {
  it.each<readonly [string, unknown, string]>([
    ["an empty object", {}, "inMemoryRevocation()"],
    ["null", null, "inMemoryRevocation()"],
    ["a string", "redis", "inMemoryRevocation()"],
    ["an object that can't revoke", { isRevoked: () => false }, "inMemoryRevocation()"],
    ["a store", memoryStore(), "inMemoryRevocation()"],
    // A missing store would accept revoked tokens.
    ["undefined", undefined, "revocation: is undefined"],
  ])("can't be %s", (_, revocation, message) => {
    expect(() => createServer({ revocation: revocation as never })).toThrow(message);
  });

  it.each([
    ["no time", { keepSeconds: 0 }],
    ["a part of an entry", { maxEntries: 1.5 }],
    ["NaN seconds", { keepSeconds: Number.NaN }],
  ])("can't be limited to %s", (_, limits) => {
    expect(() => inMemoryRevocation(limits)).toThrow("whole number");
  });

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

  it("makes a token unavailable if the store fails, and otherwise asks `isRevoked` as well", async () => {
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
