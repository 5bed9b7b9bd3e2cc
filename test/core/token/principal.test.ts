import { coveringOf } from "../../../src/core/scopes/scope.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameCaller } from "../../../src/adapters/shared/caller-key.ts";
import {
  createPrincipal,
  type Principal,
  type PrincipalRules,
  readPrincipal,
} from "../../../src/core/token/principal.ts";
import { grantedScopesOf } from "../../../src/core/scopes/scope-sets.ts";
import { changeable, PROPERTY, scopeRulesOf } from "../../support/policy.ts";

const RULES: PrincipalRules = {
  scopeSources: [{ claim: "scopes" }],
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  scopeRules: scopeRulesOf({ "agents:write": ["agents:read"] }),
  keyProofs: undefined,
};

const read = (claims: Readonly<Record<string, unknown>>, rules: Partial<PrincipalRules> = {}) =>
  readPrincipal(claims, { ...RULES, ...rules });

/** The claim for which the claims are rejected; `undefined` if they are accepted. */
function wrongClaim(claims: Readonly<Record<string, unknown>>, rules: Partial<PrincipalRules> = {}) {
  const answer = read(claims, rules);
  return answer.kind === "rejected" ? answer.claim : undefined;
}

function principalOf(
  claims: Readonly<Record<string, unknown>>,
  rules: Partial<PrincipalRules> = {},
): Principal {
  const answer = read(claims, rules);
  if (answer.kind === "rejected") throw new Error(`The claims were refused for ${answer.claim}.`);
  return answer.principal;
}

const granting = (...scopes: readonly string[]) => principalOf({ scopes });

const ADMIN = coveringOf(["platform", "admin"]);

describe("readPrincipal", () => {
  it("grants nothing by an element with several scopes, or by a separator other than the space", () => {
    const principal = principalOf({ scopes: ["agents:read teams:read", "a\tb"] });
    for (const scope of ["agents:read", "teams:read", "a", "b"])
      expect(principal.has(scope), scope).toBe(false);
    expect(principalOf({ scopes: "agents:read,teams:read\nopenid" }).has("openid")).toBe(false);
  });

  it.each(["exp", "nbf", "iat"])("rejects an %s that is not a finite number (RFC 7519 section 2)", (name) => {
    for (const value of [Infinity, -Infinity, NaN, "1700000000", null, [1], {}, true]) {
      expect(wrongClaim({ scopes: [], [name]: value }), typeof value).toBe(name);
    }
    expect(wrongClaim({ scopes: [], [name]: 0 })).toBeUndefined();
    expect(wrongClaim({ scopes: [], [name]: 1.5 })).toBeUndefined();
  });
});

describe("principal.has", () => {
  it("works as a callback, to filter an array", () => {
    const principal = granting("agents:web:read");
    const asked = ["agents:web:read", "agents:api:read"];
    // eslint-disable-next-line @typescript-eslint/unbound-method -- the test is that it needs no `this`
    expect(asked.filter(principal.has)).toEqual(["agents:web:read"]);
  });
});

describe("a principal", () => {
  /** Replaces random claims that must have a certain type. */
  const typed = {
    scopes: ["agents:web:read"],
    sub: undefined,
    session_id: undefined,
    aud: ["agents-prod"],
    iss: undefined,
    jti: undefined,
    exp: undefined,
    nbf: undefined,
    iat: undefined,
  };

  it("freezes all claims, whatever they are", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (claims) => {
        const principal = principalOf({ ...(JSON.parse(JSON.stringify(claims)) as object), ...typed });
        expect(changeable(principal)).toEqual([]);
      }),
      PROPERTY,
    );
  });

  it("freezes claims in an object that was frozen before", () => {
    const roles = ["dev"];
    createPrincipal(
      { scopes: [], audience: [], claims: { realm: Object.freeze({ roles }) } },
      RULES.scopeRules,
    );
    expect(Object.isFrozen(roles)).toBe(true);
  });

  it("keeps unchanged when the original arrays change", () => {
    const scopes = ["agents:web:read"];
    const audience = ["agents-prod"];
    const principal = createPrincipal({ scopes, audience, claims: {} }, RULES.scopeRules);
    scopes.push("platform:admin");
    audience.push("other");
    expect(principal.scopes).toEqual(["agents:web:read"]);
    expect(principal.audience).toEqual(["agents-prod"]);
    expect(principal.has("platform:admin")).toBe(false);
    expect(grantedScopesOf(principal, RULES.scopeRules).find(ADMIN, "platform:admin")).toBeUndefined();
  });

  it("shares its array of scopes with principals that have the same scopes, and with its claims", () => {
    const [one, other] = [1, 2].map((id) => principalOf({ scopes: ["agents:read"], sub: `user-${id}` }));
    expect(one?.scopes).toBe(other?.scopes);
    expect(one?.claims["scopes"]).toBe(other?.claims["scopes"]);
    expect(one?.claims).toEqual({ scopes: ["agents:read"], sub: "user-1" });
  });

  it("keeps a string of scopes in its claims", () => {
    const { scopes, claims } = principalOf({ scopes: "agents:read  sessions:read" });
    expect(scopes).toEqual(["agents:read", "sessions:read"]);
    expect(claims).toEqual({ scopes: "agents:read  sessions:read" });
  });

  it("freezes claims that are nested deeper than the call stack", () => {
    let nested: Record<string, unknown> = {};
    const innermost = nested;
    for (let depth = 0; depth < 50_000; depth += 1) nested = { nested };
    principalOf({ scopes: [], nested });
    expect(Object.isFrozen(innermost)).toBe(true);
  });
});

describe("the claims of a principal", () => {
  it.each<readonly [Readonly<Record<string, unknown>>, PrincipalRules["scopeSources"]]>([
    [{ scopes: "a:read b:read" }, [{ claim: "scopes" }]],
    [{ scopes: ["a:read"], scp: ["b:read"] }, [{ claim: "scopes" }, { claim: "scp" }]],
    [{ roles: ["Admin"] }, [{ claim: "roles", map: { Admin: ["a:read"] } }]],
    [{ realm: { roles: ["a:read"] } }, [{ claim: ["realm", "roles"] }]],
    [{ other: 1 }, [{ claim: "scp", required: false }]],
  ])("equal those of the token: %j", (claims, scopeSources) => {
    expect(principalOf(structuredClone(claims), { scopeSources }).claims).toEqual(claims);
  });
});

describe("isSameCaller", () => {
  const caller = (claims: Readonly<Record<string, unknown>>) => principalOf({ scopes: [], ...claims });
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
