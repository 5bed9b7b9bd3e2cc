import { describe, expect, it } from "vitest";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

type Claims = Readonly<Record<string, unknown>>;
type Options = Partial<ResourceServerOptions>;

const verdictOn = async (claims: Claims, options: Options = {}) =>
  verdictOf(createServer(options), await issuer.token(claims));

const principalOf = async (claims: Claims, options: Options = {}) =>
  createServer(options).authenticate(await issuer.token(claims));

describe("the scopes claim", () => {
  it.each([
    [[], []],
    [["agents:read"], ["agents:read"]],
    [
      ["agents:read", "teams:read"],
      ["agents:read", "teams:read"],
    ],
    ["agents:read teams:read", ["agents:read", "teams:read"]],
    ["agents:read", ["agents:read"]],
    ["  agents:read   teams:read ", ["agents:read", "teams:read"]],
    ["", []],
  ])("reads %j as %j (RFC 9068 section 2.2.3)", async (scopes, expected) => {
    expect((await principalOf({ scopes })).scopes).toEqual(expected);
  });

  it("ignores claims with similar names", async () => {
    for (const name of ["scope", "Scopes", "scp", "permissions"])
      expect(await verdictOn({ scopes: undefined, [name]: ["agents:read"] })).toBe("claims");
  });

  it.each<readonly [ResourceServerOptions["scopesClaim"], Claims]>([
    ["scope", { scope: "agents:read" }],
    ["scp", { scp: ["agents:read"] }],
    ["https://service.example/scopes", { "https://service.example/scopes": ["agents:read"] }],
    ["realm.roles", { "realm.roles": ["agents:read"] }],
    [["scope"], { scope: "agents:read" }],
    [["realm_access", "roles"], { realm_access: { roles: ["agents:read"] } }],
    [["a", "b", "c"], { a: { b: { c: "agents:read" } } }],
  ])("reads another claim, or a path: %j", async (scopesClaim = [], claims) => {
    const options = { scopesClaim };
    expect((await principalOf({ scopes: ["other:read"], ...claims }, options)).scopes).toEqual([
      "agents:read",
    ]);
    expect(await verdictOn({ scopes: ["agents:read"] }, options)).toBe("claims");
  });

  it.each<readonly [Claims]>([
    [{}],
    [{ realm_access: ["agents:read"] }],
    [{ realm_access: "roles" }],
    [{ realm_access: { roles: null } }],
    [{ "realm_access.roles": ["agents:read"] }],
  ])("rejects a token in which the path leads to no scopes: %j", async (claims) => {
    expect(await verdictOn(claims, { scopesClaim: ["realm_access", "roles"] })).toBe("claims");
  });

  it.each([
    ["length"],
    [["scopes", "length"]],
    ["constructor"],
    ["__proto__"],
    [["scopes", "constructor", "name"]],
  ])("ignores inherited properties: %j", async (scopesClaim) => {
    expect(await verdictOn({ scopes: ["agents:read"] }, { scopesClaim })).toBe("claims");
  });
});

describe("the cnf claim", () => {
  it.each<readonly [string, unknown]>([
    ["RFC 8705", { "x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2" }],
    ["RFC 9449", { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" }],
    ["null", null],
  ])("rejects a token that is bound to a key, sent as a bearer token: %s", async (_, cnf) => {
    const server = createServer();
    const authorization = `Bearer ${await issuer.token({ cnf })}`;
    const decision = await server.check({ method: "GET", target: "/agents", authorization });
    expect(decision).toMatchObject({ reason: "token_rejected", rejection: "claims", claim: "cnf" });
  });
});

describe("the aud claim, with verifyAudience false", () => {
  it.each<readonly [unknown]>([[null], [["a", 5]], [[["a"]]]])(
    "rejects %j, which is neither a string nor an array of strings",
    async (aud) => {
      expect(await verdictOn({ aud }, { verifyAudience: false })).toBe("claims");
    },
  );

  it.each([
    [undefined, []],
    ["a", ["a"]],
    [[], []],
    [
      ["a", "b"],
      ["a", "b"],
    ],
  ])("reads %j as %j", async (aud, audience) => {
    expect((await principalOf({ aud }, { verifyAudience: false })).audience).toEqual(audience);
  });
});

describe("the principal of a token", () => {
  it("contains the claims of the interface", async () => {
    const claims = {
      scopes: ["agents:read"],
      sub: "user-7",
      session_id: "session-9",
      aud: "agents-prod",
      iss: "https://issuer.example",
      jti: "token-1",
      exp: NOW + 60,
      iat: NOW,
    };
    expect(await principalOf(claims)).toMatchObject({
      userId: "user-7",
      sessionId: "session-9",
      scopes: ["agents:read"],
      audience: ["agents-prod"],
      issuer: "https://issuer.example",
      tokenId: "token-1",
      expiresAt: NOW + 60,
      claims,
    });
  });

  it("omits the properties whose claims are absent", async () => {
    const principal = await principalOf({ sub: undefined });
    expect(principal).not.toHaveProperty("userId");
    expect(principal).not.toHaveProperty("sessionId");
    expect(principal).not.toHaveProperty("issuer");
    expect(principal).not.toHaveProperty("tokenId");
    expect(principal).not.toHaveProperty("expiresAt");
  });

  it("reads the user and the session from the claims of the options", async () => {
    const options = { userIdClaim: ["user", "id"], sessionIdClaim: "sid" };
    const claims = { sub: "client-1", session_id: "ignored", user: { id: "user-7" }, sid: "session-9" };
    expect(await principalOf(claims, options)).toMatchObject({ userId: "user-7", sessionId: "session-9" });
    expect(await principalOf({}, options)).not.toHaveProperty("userId");
    expect(await verdictOn({ user: { id: true } }, options)).toBe("claims");
    expect(await verdictOn({ sid: [] }, options)).toBe("claims");
  });

  it("reads ids that are safe integers as their decimal strings", async () => {
    const options = { userIdClaim: ["user", "id"], sessionIdClaim: "sid" };
    expect(await principalOf({ user: { id: 7 }, sid: 0 }, options)).toMatchObject({
      userId: "7",
      sessionId: "0",
      claims: { user: { id: 7 }, sid: 0 },
    });
    expect(await principalOf({ sub: -3, session_id: Number.MAX_SAFE_INTEGER })).toMatchObject({
      userId: "-3",
      sessionId: "9007199254740991",
    });
    expect((await principalOf({ sub: -0 })).userId).toBe("0");
  });

  it("freezes the principal deeply, claims included", async () => {
    const principal = await principalOf({ nested: { list: [{ a: 1 }] } });
    const nested = principal.claims["nested"] as { readonly list: readonly object[] };
    for (const part of [
      principal,
      principal.scopes,
      principal.audience,
      principal.claims,
      nested,
      nested.list,
    ])
      expect(Object.isFrozen(part)).toBe(true);
    expect(Object.isFrozen(nested.list[0])).toBe(true);
  });
});
