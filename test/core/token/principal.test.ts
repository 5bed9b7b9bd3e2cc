import { coveringOf } from "../../../src/core/scopes/scope.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameCaller } from "../../../src/adapters/shared/caller-key.ts";
import type { ClaimPath } from "../../../src/core/token/claim-path.ts";
import {
  createPrincipal,
  type Principal,
  type PrincipalRules,
  readPrincipal,
} from "../../../src/core/token/principal.ts";
import { grantedScopesOf } from "../../../src/core/scopes/scope-sets.ts";
import { changeable, PROPERTY, scopeRulesOf } from "../../support/policy.ts";

type Claims = Readonly<Record<string, unknown>>;

const RULES: PrincipalRules = {
  scopeSources: [{ claim: "scopes" }],
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  scopeRules: scopeRulesOf({ "agents:write": ["agents:read"] }),
  keyProofs: undefined,
};

/** The principal of these claims, or the claim for which they are rejected. */
function read(claims: Claims, rules: Partial<PrincipalRules> = {}): Principal | string | undefined {
  const result = readPrincipal({ ...claims }, { ...RULES, ...rules });
  return result.kind === "rejected" ? result.claim : result.principal;
}

function principalOf(claims: Claims, rules: Partial<PrincipalRules> = {}): Principal {
  const principal = read({ scopes: [], ...claims }, rules);
  if (typeof principal !== "object") throw new Error(`The claims were refused for ${principal ?? ""}.`);
  return principal;
}

const ADMIN = coveringOf(["platform", "admin"]);

// `test/security/tokens/claims.ts` has the claims of a wrong type.

describe("the scopes of a principal", () => {
  const BOTH = ["agents:read", "teams:read"];
  const ROLES = ["realm_access", "roles"];
  it.each<readonly [ClaimPath, Claims, readonly string[] | string]>([
    ["scopes", { scopes: [] }, []],
    ["scopes", { scopes: BOTH }, BOTH],
    ["scopes", { scopes: "" }, []],
    ["scopes", { scopes: "agents:read teams:read" }, BOTH],
    ["scopes", { scopes: "  agents:read   teams:read " }, BOTH],
    ["scopes", { scopes: "agents:read,teams:read\nopenid" }, ["agents:read,teams:read\nopenid"]],
    ["scopes", { scope: BOTH, Scopes: BOTH, scp: BOTH, permissions: BOTH }, "scopes"],
    ["scp", { scp: BOTH, scopes: ["other"] }, BOTH],
    ["scp", { scopes: BOTH }, "scp"],
    ["https://service.example/scopes", { "https://service.example/scopes": BOTH }, BOTH],
    ["realm.roles", { "realm.roles": BOTH }, BOTH],
    [["scope"], { scope: "agents:read" }, ["agents:read"]],
    [ROLES, { realm_access: { roles: BOTH } }, BOTH],
    [["a", "b", "c"], { a: { b: { c: "agents:read" } } }, ["agents:read"]],
    [["list", "0", "0"], { list: [["agents:read"]] }, ["agents:read"]],
    [ROLES, { realm_access: BOTH }, "realm_access.roles"],
    [ROLES, { realm_access: "roles" }, "realm_access.roles"],
    [ROLES, { realm_access: null }, "realm_access.roles"],
    [ROLES, { realm_access: { roles: null } }, "realm_access.roles"],
    [ROLES, { "realm_access.roles": BOTH }, "realm_access.roles"],
    [ROLES, { realm_access: Object.create({ roles: BOTH }) as object }, "realm_access.roles"],
    ["length", { scopes: BOTH }, "length"],
    [["text", "length"], { text: "text" }, "text.length"],
    ["constructor", { scopes: BOTH }, "constructor"],
    ["__proto__", { scopes: BOTH }, "__proto__"],
    [["scopes", "constructor", "name"], { scopes: BOTH }, "scopes.constructor.name"],
  ])("are read from the claim %j of %j as %j (RFC 9068 section 2.2.3)", (claim, claims, expected) => {
    const principal = read(claims, { scopeSources: [{ claim }] });
    expect(typeof principal === "object" ? principal.scopes : principal).toEqual(expected);
  });

  it("grant nothing by an element with several scopes", () => {
    const principal = principalOf({ scopes: ["agents:read teams:read", "a\tb"] });
    for (const scope of ["agents:read", "teams:read", "a", "b"])
      expect(principal.has(scope), scope).toBe(false);
  });

  it("filter an array with `has` as a callback", () => {
    const principal = principalOf({ scopes: ["agents:web:read"] });
    // eslint-disable-next-line @typescript-eslint/unbound-method -- the test is that it needs no `this`
    expect(["agents:web:read", "agents:api:read"].filter(principal.has)).toEqual(["agents:web:read"]);
  });

  it("are one array for principals that have the same scopes, and for its claims", () => {
    const [one, other] = [1, 2].map((id) => principalOf({ scopes: ["agents:read"], sub: `user-${id}` }));
    expect(one?.scopes).toBe(other?.scopes);
    expect(one?.claims["scopes"]).toBe(other?.claims["scopes"]);
  });
});

describe("the properties of a principal", () => {
  const NESTED = { userIdClaim: ["user", "id"], sessionIdClaim: "sid" };
  const full = {
    sub: "u",
    session_id: "s",
    aud: "a",
    iss: "https://issuer.example",
    jti: "t",
    exp: 9,
    iat: 1,
  };
  const EMPTY = { scopes: [], audience: [] };
  it.each<readonly [string, Claims, Partial<PrincipalRules>, object]>([
    [
      "all claims of the interface",
      full,
      {},
      { userId: "u", sessionId: "s", audience: ["a"], issuer: full.iss, tokenId: "t", expiresAt: 9 },
    ],
    ["nothing for absent claims", {}, {}, {}],
    ["nothing for absent claims of the options", { sub: "u", session_id: "s" }, NESTED, {}],
    [
      "the claims of the options",
      { user: { id: "u7" }, sid: "s9", sub: "x" },
      NESTED,
      { userId: "u7", sessionId: "s9" },
    ],
    ["integers as decimal strings", { user: { id: 7 }, sid: 0 }, NESTED, { userId: "7", sessionId: "0" }],
    ["negative zero as 0", { sub: -0, session_id: -3 }, {}, { userId: "0", sessionId: "-3" }],
    ["the largest safe integer", { sub: Number.MAX_SAFE_INTEGER }, {}, { userId: "9007199254740991" }],
    ["an audience of several", { aud: ["a", "b"] }, {}, { audience: ["a", "b"] }],
    ["an empty audience", { aud: [] }, {}, {}],
  ])("contain %s", (_, claims, rules, expected) => {
    const { claims: _own, ...principal } = JSON.parse(JSON.stringify(principalOf(claims, rules))) as Claims;
    expect(principal).toEqual({ ...EMPTY, ...expected });
  });

  it.each<readonly [Claims, Partial<PrincipalRules>, string]>([
    [{ user: { id: true } }, NESTED, "user.id"],
    [{ sid: [] }, NESTED, "sid"],
    [{ aud: null }, {}, "aud"],
    [{ aud: ["a", 5] }, {}, "aud"],
    [{ aud: [["a"]] }, {}, "aud"],
    [{ cnf: { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } }, {}, "cnf"],
    [{ cnf: null }, {}, "cnf"],
    ...["exp", "nbf", "iat"].flatMap((name) =>
      [Infinity, -Infinity, NaN, "1700000000", null, [1], {}, true].map(
        (value) => [{ [name]: value }, {}, name] as const,
      ),
    ),
  ])("are not read from %j with %j, for the claim %s", (claims, rules, expected) => {
    expect(read({ scopes: [], ...claims }, rules)).toBe(expected);
  });

  it.each(["exp", "nbf", "iat"])("accept any finite number as %s (RFC 7519 section 2)", (name) => {
    for (const value of [0, 1.5, -1]) expect(principalOf({ [name]: value }).claims[name]).toBe(value);
  });
});

describe("the claims of a principal", () => {
  it("are frozen, whatever they are", () => {
    // Claims that must have a certain type.
    const { aud, iss, jti, exp, nbf, iat, sub, session_id }: Claims = {};
    const typed = { scopes: ["agents:web:read"], aud, iss, jti, exp, nbf, iat, sub, session_id };
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (claims) => {
        const principal = principalOf({ ...(JSON.parse(JSON.stringify(claims)) as object), ...typed });
        expect(changeable(principal)).toEqual([]);
      }),
      PROPERTY,
    );
  });

  it("are frozen in an object that was frozen before, and deeper than the call stack", () => {
    const roles = ["dev"];
    const innermost: Record<string, unknown> = {};
    let nested = innermost;
    for (let depth = 0; depth < 50_000; depth += 1) nested = { nested };
    principalOf({ nested, realm: Object.freeze({ roles }) });
    expect([Object.isFrozen(roles), Object.isFrozen(innermost)]).toEqual([true, true]);
  });

  it.each<readonly [Claims, PrincipalRules["scopeSources"]]>([
    [{ scopes: "a:read  b:read" }, [{ claim: "scopes" }]],
    [{ scopes: ["a:read"], scp: ["b:read"] }, [{ claim: "scopes" }, { claim: "scp" }]],
    [{ roles: ["Admin"] }, [{ claim: "roles", map: { Admin: ["a:read"] } }]],
    [{ realm: { roles: ["a:read"] } }, [{ claim: ["realm", "roles"] }]],
    [{ other: 1 }, [{ claim: "scp", required: false }]],
  ])("equal those of the token: %j", (claims, scopeSources) => {
    const principal = read(structuredClone(claims), { scopeSources });
    expect(principal).toMatchObject({ claims });
  });
});

it("keeps a principal unchanged when the arrays change that it was created from", () => {
  const scopes = ["agents:web:read"];
  const audience = ["agents-prod"];
  const principal = createPrincipal({ scopes, audience, claims: {} }, RULES.scopeRules);
  scopes.push("platform:admin");
  audience.push("other");
  expect(principal).toMatchObject({ scopes: ["agents:web:read"], audience: ["agents-prod"] });
  expect(principal.has("platform:admin")).toBe(false);
  expect(grantedScopesOf(principal, RULES.scopeRules).find(ADMIN, "platform:admin")).toBeUndefined();
});

describe("isSameCaller", () => {
  const caller = (claims: Readonly<Record<string, unknown>>) => principalOf(claims);
  const user = { iss: "https://a.example", sub: "user-1" };

  it("compares users by their issuer and user id, not by their tokens", () => {
    expect(isSameCaller(caller({ ...user, jti: "1" }), caller({ ...user, jti: "2" }))).toBe(true);
    expect(isSameCaller(caller(user), caller({ ...user, sub: "user-2" }))).toBe(false);
    expect(isSameCaller(caller(user), caller({ ...user, iss: "https://b.example" }))).toBe(false);
    expect(isSameCaller(caller(user), caller({ sub: "user-1" }))).toBe(false);
    expect(isSameCaller(caller(user), caller({ iss: "https://a.example" }))).toBe(false);
  });

  it("compares callers without a user id by all claims", () => {
    expect(isSameCaller(caller({ azp: "a" }), caller({ azp: "a" }))).toBe(true);
    expect(isSameCaller(caller({ azp: "a" }), caller({ azp: "b" }))).toBe(false);
  });

  it("keeps callers with and without a token apart", () => {
    expect(isSameCaller(undefined, undefined)).toBe(true);
    expect(isSameCaller(caller(user), undefined)).toBe(false);
    expect(isSameCaller(undefined, caller(user))).toBe(false);
  });
});
