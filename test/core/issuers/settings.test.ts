/** The settings of an issuer apply to its own tokens only. The options of the server are its defaults. */
import { describe, expect, it } from "vitest";
import type { ResourceServer } from "scopegate";
import type { TrustedIssuer } from "scopegate/complete";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { BACKEND, CONTROL, ENTRIES, type Signer, signedBy } from "./signers.ts";

type Settings = Omit<TrustedIssuer, "issuer" | "keys" | "algorithms">;
type Claims = Readonly<Record<string, unknown>>;

/** The first issuer has its own settings, the second has none. */
const serverOf = (settings: Settings, options: Partial<ResourceServerOptions> = {}): ResourceServer =>
  createServer({ issuers: [{ ...ENTRIES.control, ...settings }, ENTRIES.backend], ...options });

const tokenOf = (signer: Signer, claims: Claims, header: Claims = {}): string =>
  signedBy(signer, { claims: { aud: "agents-prod", ...claims }, header });

const A_DAY = 86_400;

/** The settings of the first issuer, the options of the server, claims, and the verdicts for the first and second issuer. */
const verdicts: readonly (readonly [Settings, Partial<ResourceServerOptions>, Claims, string, string])[] = [
  [{ audience: "own" }, {}, { aud: "own" }, "accepted", "audience"],
  [{ audience: "own" }, {}, {}, "audience", "accepted"],
  [{ audience: ["own", "too"] }, {}, { aud: ["too"] }, "accepted", "audience"],
  [{ audience: "own" }, { audience: ["a", "b"] }, { aud: "b" }, "audience", "accepted"],
  [{ verifyAudience: false }, {}, { aud: "other" }, "accepted", "audience"],
  [{ verifyAudience: true }, { verifyAudience: false }, { aud: "other" }, "audience", "accepted"],
  [{}, { verifyAudience: false }, { aud: "other" }, "accepted", "accepted"],
  [{ audience: "own" }, { verifyAudience: false }, { aud: "other" }, "audience", "accepted"],
  [{ requiredClaims: ["tenant"] }, {}, {}, "claims", "accepted"],
  [{ requiredClaims: ["tenant"] }, { requiredClaims: ["exp"] }, { tenant: 1 }, "accepted", "claims"],
  [{ requiredClaims: ["tenant"] }, { requiredClaims: ["exp"] }, { exp: NOW + 1 }, "claims", "accepted"],
  [{ requiredClaims: [] }, { requiredClaims: ["exp"] }, {}, "accepted", "claims"],
  [{}, { requiredClaims: ["exp"] }, {}, "claims", "claims"],
  [{ clockToleranceSeconds: 60 }, {}, { exp: NOW - 30 }, "accepted", "expired"],
  [{ clockToleranceSeconds: 0 }, { clockToleranceSeconds: 60 }, { exp: NOW - 30 }, "expired", "accepted"],
  [{ maxTokenAgeSeconds: 60 }, {}, { iat: NOW - 90 }, "expired", "accepted"],
  [{ maxTokenAgeSeconds: A_DAY }, { maxTokenAgeSeconds: 60 }, { iat: NOW - 90 }, "accepted", "expired"],
  [{ scopesClaim: "permissions" }, {}, { permissions: [], scopes: undefined }, "accepted", "claims"],
  [{ scopesClaim: "permissions" }, {}, {}, "claims", "accepted"],
  [
    { scopesClaim: ["access", "roles"] },
    { scopesClaim: "permissions" },
    { permissions: [] },
    "claims",
    "accepted",
  ],
  [{ userIdClaim: "uid" }, {}, { uid: 7.5 }, "claims", "accepted"],
  [{ userIdClaim: "uid" }, {}, { sub: 7.5 }, "accepted", "claims"],
  [{ sessionIdClaim: "sid" }, { sessionIdClaim: "session" }, { sid: 7.5 }, "claims", "accepted"],
  [{ sessionIdClaim: "sid" }, { sessionIdClaim: "session" }, { session: 7.5 }, "accepted", "claims"],
];

/** The same for the `typ` of the header; `null` means no `typ`. */
const types: readonly (readonly [Settings, Partial<ResourceServerOptions>, string | null, string, string])[] =
  [
    [{ tokenTypes: ["a+jwt"] }, {}, "a+jwt", "accepted", "type"],
    [{ tokenTypes: ["a+jwt"] }, {}, "JWT", "type", "accepted"],
    [{ tokenTypes: ["a+jwt"] }, {}, null, "type", "accepted"],
    [{ tokenTypes: ["a+jwt", null] }, { tokenTypes: ["b+jwt"] }, null, "accepted", "type"],
    [{ tokenTypes: ["a+jwt"] }, { tokenTypes: ["b+jwt"] }, "b+jwt", "type", "accepted"],
    [{}, { tokenTypes: ["b+jwt"] }, "JWT", "type", "type"],
  ];

describe("the settings of one issuer", () => {
  it.each(verdicts)(
    "apply to its tokens only: %j with server options %j and claims %j: %s, other issuer: %s",
    async (settings, options, claims, ...expected) => {
      const server = serverOf(settings, options);
      const both = [CONTROL, BACKEND].map((signer) => verdictOf(server, tokenOf(signer, claims)));
      expect(await Promise.all(both)).toEqual(expected);
    },
  );

  it.each(types)(
    "apply to its tokens only: %j with server options %j and typ %j: %s, other issuer: %s",
    async (settings, options, type, ...expected) => {
      const server = serverOf(settings, options);
      const header = { typ: type ?? undefined };
      const both = [CONTROL, BACKEND].map((signer) => verdictOf(server, tokenOf(signer, {}, header)));
      expect(await Promise.all(both)).toEqual(expected);
    },
  );

  it("select its claims for scopes, user and session", async () => {
    const settings: Settings = {
      scopesClaim: ["access", "roles"],
      userIdClaim: "uid",
      sessionIdClaim: ["session", "id"],
    };
    const server = serverOf(settings, { scopesClaim: "scp", userIdClaim: "user", sessionIdClaim: "sid" });
    const claims = {
      ...{ access: { roles: ["a:own"] }, uid: "u-own", session: { id: "s-own" } },
      ...{ scp: "a:shared", user: "u-shared", sid: "s-shared" },
      ...{ scopes: ["platform:admin"], sub: "root", session_id: "s-default" },
    };
    const principal = await server.authenticate(tokenOf(CONTROL, claims));
    expect(principal).toMatchObject({
      scopes: ["a:own"],
      userId: "u-own",
      sessionId: "s-own",
      issuer: CONTROL.iss,
    });
    const shared = { scopes: ["a:shared"], userId: "u-shared", sessionId: "s-shared", issuer: BACKEND.iss };
    expect(await server.authenticate(tokenOf(BACKEND, claims))).toMatchObject(shared);
  });

  it("stay the same when the options are mutated after construction", async () => {
    const audience = ["agents-prod"];
    const requiredClaims: string[] = [];
    const tokenTypes: string[] = ["JWT"];
    const scopesClaim = ["scopes"];
    const userIdClaim = ["sub"];
    const algorithms: "RS256"[] = ["RS256"];
    const jwk = { ...createIssuer({ algorithm: "ES256" }).publicJwk };
    const jwks = { keys: [jwk] };
    const control = {
      ...ENTRIES.control,
      ...{ audience, requiredClaims, tokenTypes, scopesClaim, userIdClaim, algorithms },
    };
    const backend = { issuer: BACKEND.iss, keys: { jwks }, algorithms: ["ES256" as const] };
    const issuers: TrustedIssuer[] = [control, backend];
    const server = createServer({ issuers });

    audience.push("other");
    requiredClaims.push("tenant");
    tokenTypes.push("id+jwt");
    scopesClaim.push("own");
    userIdClaim[0] = "tenant";
    algorithms.splice(0, 1, "PS256" as never);
    jwks.keys.splice(0);
    Object.assign(jwk, { alg: "RS256", kid: "another" });
    Object.assign(control, { issuer: BACKEND.iss, verifyAudience: false, audience: "other" });
    issuers.push({ ...ENTRIES.partner });
    issuers.reverse();

    const judge = (signer: Signer, claims: Claims = {}, header: Claims = {}) =>
      verdictOf(server, tokenOf(signer, claims, header));
    expect(await judge(CONTROL)).toBe("accepted");
    expect(await judge(BACKEND)).toBe("accepted");
    expect(await judge(CONTROL, { aud: "other" })).toBe("audience");
    expect(await judge(CONTROL, {}, { typ: "id+jwt" })).toBe("type");
    expect(await judge(CONTROL, {}, { alg: "PS256" })).toBe("algorithm");
    expect(await judge(CONTROL, { iss: BACKEND.iss })).toBe("algorithm");
    expect(await judge(CONTROL, { iss: "partner" })).toBe("issuer");
    const principal = await server.authenticate(tokenOf(CONTROL, { scopes: ["a:b"], tenant: "x" }));
    expect([principal.scopes, principal.userId]).toEqual([["a:b"], "user-1"]);
  });
});
