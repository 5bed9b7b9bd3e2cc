import { coveringOf } from "../../../src/core/scopes/scope.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameCaller } from "../../../src/core/token/caller-key.ts";
import {
  createPrincipal,
  type Principal,
  type PrincipalRules,
  principalWeight,
  readPrincipal,
} from "../../../src/core/token/principal.ts";
import { grantedScopesOf } from "../../../src/core/scopes/scope-sets.ts";
import { changeable, PROPERTY, scopeRulesOf } from "../../support/policy.ts";

const RULES: PrincipalRules = {
  scopeSources: [{ claim: "scopes" }],
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  scopeRules: scopeRulesOf({ "agents:write": ["agents:read"] }),
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
  it("reads the principal of a token", () => {
    const claims = {
      scopes: ["agents:read"],
      sub: "user-1",
      session_id: "session-1",
      aud: ["agents-prod", "other"],
      iss: "https://issuer.example",
      jti: "token-1",
      exp: 1_700_000_000,
      iat: 1_600_000_000,
      team: { name: "red" },
    };
    expect(principalOf(claims)).toMatchObject({
      scopes: ["agents:read"],
      userId: "user-1",
      sessionId: "session-1",
      audience: ["agents-prod", "other"],
      issuer: "https://issuer.example",
      tokenId: "token-1",
      expiresAt: 1_700_000_000,
      claims,
    });
  });

  it("requires only the scopes, and omits the properties whose claims are absent", () => {
    const principal = principalOf({ scopes: [] });
    expect(Object.keys(principal).sort()).toEqual(["audience", "claims", "has", "resourceIds", "scopes"]);
    expect(principal.audience).toEqual([]);
  });

  it.each([
    [
      ["agents:read", "openid"],
      ["agents:read", "openid"],
    ],
    [[], []],
    ["agents:read openid", ["agents:read", "openid"]],
    ["  agents:read   openid ", ["agents:read", "openid"]],
    ["", []],
    [" ", []],
    ["agents:read", ["agents:read"]],
  ])("reads the scopes %j as %j", (scopes, expected) => {
    expect(principalOf({ scopes }).scopes).toEqual(expected);
  });

  it("rejects claims without scopes", () => {
    expect(wrongClaim({})).toBe("scopes");
    expect(wrongClaim({ sub: "user-1", aud: "agents-prod", scope: "agents:read" })).toBe("scopes");
  });

  it.each([
    undefined,
    null,
    1,
    true,
    {},
    { 0: "agents:read", length: 1 },
    ["agents:read", 1],
    [["agents:read"]],
    [null],
  ])("rejects the scopes %j", (scopes) => {
    expect(wrongClaim({ sub: "user-1", scopes })).toBe("scopes");
  });

  it("grants nothing by an element with several scopes, or by a separator other than the space", () => {
    const principal = principalOf({ scopes: ["agents:read teams:read", "a\tb"] });
    for (const scope of ["agents:read", "teams:read", "a", "b"])
      expect(principal.has(scope), scope).toBe(false);
    expect(principalOf({ scopes: "agents:read,teams:read\nopenid" }).has("openid")).toBe(false);
  });

  it.each([
    ["agents-prod", ["agents-prod"]],
    [["agents-prod"], ["agents-prod"]],
    [[], []],
    [undefined, []],
  ])("reads the audience %j as %j", (aud, audience) => {
    expect(principalOf({ scopes: [], aud }).audience).toEqual(audience);
  });

  it.each([null, 1, {}, ["agents-prod", 1], [["agents-prod"]]])("rejects the audience %j", (aud) => {
    expect(wrongClaim({ scopes: [], aud })).toBe("aud");
  });

  it.each(["sub", "session_id", "iss", "jti"])("rejects a %s that is not a string", (name) => {
    for (const value of [null, 7.5, true, ["user-1"], { id: "user-1" }]) {
      expect(wrongClaim({ scopes: [], [name]: value }), JSON.stringify(value)).toBe(name);
    }
  });

  it.each(["exp", "nbf", "iat"])("rejects an %s that is not a finite number (RFC 7519 section 2)", (name) => {
    for (const value of [Infinity, -Infinity, NaN, "1700000000", null, [1], {}, true]) {
      expect(wrongClaim({ scopes: [], [name]: value }), typeof value).toBe(name);
    }
    expect(wrongClaim({ scopes: [], [name]: 0 })).toBeUndefined();
    expect(wrongClaim({ scopes: [], [name]: 1.5 })).toBeUndefined();
  });

  it("reads a claim by its path through nested objects", () => {
    const rules = {
      scopeSources: [{ claim: ["realm_access", "roles"] }],
      userIdClaim: ["user", "id"],
      sessionIdClaim: "sid",
    };
    const claims = {
      realm_access: { roles: ["agents:read"] },
      user: { id: "user-1" },
      sid: "s",
      sub: "other",
    };
    expect(principalOf(claims, rules)).toMatchObject({
      scopes: ["agents:read"],
      userId: "user-1",
      sessionId: "s",
    });
  });

  it.each([
    [{ scopes: ["agents:read"] }],
    [{ realm_access: ["agents:read"] }],
    [{ realm_access: "agents:read" }],
    [{ realm_access: null }],
    [{ realm_access: undefined }],
    [{ "realm_access.roles": ["agents:read"] }],
    [{ realm_access: { roles: null } }],
  ])("rejects %j, which has no scopes at realm_access, roles", (claims) => {
    expect(wrongClaim(claims, { scopeSources: [{ claim: ["realm_access", "roles"] }] })).toBe(
      "realm_access.roles",
    );
  });

  it("reads a claim name with a dot or a slash as one name", () => {
    const name = "https://example.com/scopes.v1";
    expect(principalOf({ [name]: "agents:read" }, { scopeSources: [{ claim: name }] }).scopes).toEqual([
      "agents:read",
    ]);
  });

  it("ignores inherited properties: a polluted prototype sets no scope and no user", () => {
    const polluted = (own: object, inherited: object) =>
      Object.assign(Object.create(inherited) as Record<string, unknown>, own);
    expect(wrongClaim(polluted({}, { scopes: ["platform:admin"] }))).toBe("scopes");
    expect(
      wrongClaim(
        { realm_access: polluted({}, { roles: ["platform:admin"] }) },
        { scopeSources: [{ claim: ["realm_access", "roles"] }] },
      ),
    ).toBe("realm_access.roles");
    const named = principalOf(polluted({ scopes: [] }, { sub: "root", session_id: "s", aud: "x", exp: 1 }));
    expect(named).not.toHaveProperty("userId");
    expect(named).not.toHaveProperty("sessionId");
    expect(named).not.toHaveProperty("expiresAt");
    expect(named.audience).toEqual([]);
    expect(principalOf({ scopes: [] }, { userIdClaim: "toString" })).not.toHaveProperty("userId");
  });
});

describe("principal.has", () => {
  it.each([
    [["agents:read"], "agents:read", true],
    [["agents:read"], "agents:web:read", true],
    [["agents:*:read"], "agents:web:read", true],
    [["agents:web:read"], "agents:web:read", true],
    [["agents:web:read"], "agents:read", false],
    [["agents:web:read"], "agents:api:read", false],
    [["agents:web:write"], "agents:web:read", true],
    [["agents:write"], "agents:read", true],
    [["agents:read"], "Agents:read", false],
    [["platform:admin"], "anything:at:all", true],
    [["openid"], "openid", true],
    [[], "openid", false],
  ])("returns for granted scopes %j: %s is %s", (scopes, asked, expected) => {
    expect(granting(...scopes).has(asked)).toBe(expected);
  });

  it.each([
    "",
    ":",
    "agents:",
    ":read",
    "agents::read",
    "a b",
    'agents:"web":read',
    "agents:wéb:read",
    "a\\b",
  ])("returns false for %j, even for an administrator, because no token can be granted it", (scope) => {
    expect(granting("platform:admin", scope).has(scope)).toBe(false);
  });

  it("works as a callback, to filter an array", () => {
    const principal = granting("agents:web:read");
    const asked = ["agents:web:read", "agents:api:read"];
    // eslint-disable-next-line @typescript-eslint/unbound-method -- the test is that it needs no `this`
    expect(asked.filter(principal.has)).toEqual(["agents:web:read"]);
  });
});

describe("principal.resourceIds", () => {
  it('returns "all", or exactly the granted ids', () => {
    expect(granting("agents:read").resourceIds("agents", "read")).toBe("all");
    expect(granting("agents:*:read").resourceIds("agents", "read")).toBe("all");
    expect(granting("platform:admin").resourceIds("agents", "read")).toBe("all");
    expect(granting("agents:web:read", "agents:api:write").resourceIds("agents", "read")).toEqual(
      new Set(["web", "api"]),
    );
    expect(granting("agents:web:run").resourceIds("agents", "read")).toEqual(new Set());
  });

  it("returns a new set to each caller", () => {
    const principal = granting("agents:web:read");
    (principal.resourceIds("agents", "read") as Set<string>).add("api");
    expect(principal.resourceIds("agents", "read")).toEqual(new Set(["web"]));
    expect(principal.has("agents:api:read")).toBe(false);
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

  it("throws if code tries to grant it more", () => {
    const principal = principalOf({ scopes: ["agents:web:read"], sub: "user-1", team: { roles: ["dev"] } });
    const attempts = [
      () => (principal.scopes as string[]).push("platform:admin"),
      () => Object.assign(principal, { scopes: ["platform:admin"] }),
      () => Object.assign(principal, { has: () => true }),
      () => Object.assign(principal, { userId: "root" }),
      () => Object.assign(principal.claims, { sub: "root" }),
      () => (principal.claims["scopes"] as string[]).push("platform:admin"),
      () => (principal.claims["team"] as { roles: string[] }).roles.push("root"),
      () => (principal.audience as string[]).push("other"),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(TypeError);
    expect(principal.has("platform:admin")).toBe(false);
    expect(principal.has("agents:web:read")).toBe(true);
    expect(principal.userId).toBe("user-1");
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

  it("grants only what its scopes cover, whatever its own methods return", () => {
    const find = (principal: Principal) =>
      grantedScopesOf(principal, RULES.scopeRules).find(ADMIN, "platform:admin");
    const made = granting("agents:read");
    expect(find({ ...made, has: () => true, resourceIds: () => "all" as const })).toBeUndefined();
    expect(
      find(createPrincipal({ scopes: ["root"], audience: [], claims: {} }, scopeRulesOf({}, "root"))),
    ).toBeUndefined();
    expect(find({ ...made, scopes: ["platform:admin"] })?.by).toBe("exact");
    expect(find(made)).toBeUndefined();
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

  it.each([[{}], [{ jkt: "a" }], [null], [false]])(
    "cause a rejection if they bind the token to a key: cnf %j",
    (cnf) => {
      expect(wrongClaim({ scopes: [], cnf })).toBe("cnf");
    },
  );
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

describe("principalWeight", () => {
  const ownOf = (claims: Readonly<Record<string, unknown>>) =>
    principalWeight(principalOf({ scopes: [], ...claims })).exclusive;

  it("counts the values of the claims and the audience", () => {
    expect(ownOf({ note: "x".repeat(1_000) }) - ownOf({ note: "" })).toBe(2_000);
    expect(ownOf({ aud: ["x".repeat(1_000)] }) - ownOf({ aud: [""] })).toBeGreaterThan(2_000);
    expect(ownOf({})).toBeGreaterThan(0);
  });

  it("counts the names of many claims, which the tokens of an issuer do not share", () => {
    const named = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${"n".repeat(100)}${index}`, 0]));
    const perName = ownOf(named(31)) - ownOf(named(30));
    expect(perName).toBeLessThan(100);
    expect(ownOf(named(32)) - ownOf(named(31))).toBeGreaterThan(32 * 100);
    expect(ownOf(named(33)) - ownOf(named(32))).toBeGreaterThan(200);
  });

  it("shares the scopes, and what they cover, with principals that have the same", () => {
    const [one, other] = [granting("a:read"), granting("a:read")].map(
      (principal) => principalWeight(principal).shared,
    );
    expect(one).toBe(other);
    const more = principalWeight(granting("a:read", "b:read")).shared;
    expect(more?.weight).toBeGreaterThan(one?.weight ?? Infinity);
  });
});
