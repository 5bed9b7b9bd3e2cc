import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GrantedScopes } from "../../../src/core/scopes/granted-scopes.ts";
import {
  isScopePart,
  isScopeToken,
  type SatisfiedBy,
  splitScope,
  type Covering,
  coveringOf,
} from "../../../src/core/scopes/scope.ts";
import { resolveScopeRules } from "../../../src/core/scopes/scope-rules.ts";
import { ADMIN_RULES, PROPERTY, reporting, scopeRulesOf } from "../../support/policy.ts";

const find = (granted: readonly string[], required: string, rules = ADMIN_RULES) =>
  new GrantedScopes(granted, rules).find(coveringOf(splitScope(required)), required);

const SOME_AGENTS = [
  ...coveringOf(["agents", "read"]),
  { text: "agents:read", by: "some-ids" },
] as const satisfies readonly Covering[];

const byOf = (granted: readonly string[], required: string, rules = ADMIN_RULES) =>
  find(granted, required, rules)?.by;

describe("isScopeToken and isScopePart", () => {
  it("accepts printable ASCII without space, quotation mark and backslash (RFC 6749 section 3.3)", () => {
    const accepted = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code)).filter(
      isScopeToken,
    );
    const expected = Array.from({ length: 0x5e }, (_, index) => String.fromCharCode(0x21 + index)).filter(
      (char) => char !== '"' && char !== "\\",
    );
    expect(accepted).toEqual(expected);
  });

  it.each(["", " ", "a b", "a\n", 'a"b', "a\\b", "café", "a\u2028", "a\ud83d"])("rejects %j", (text) => {
    expect(isScopeToken(text)).toBe(false);
    expect(isScopePart(text)).toBe(false);
  });

  it("allows a colon between the parts of a scope, not inside a part", () => {
    expect(isScopeToken("web:admin")).toBe(true);
    expect(isScopePart("web:admin")).toBe(false);
    expect(isScopePart("web")).toBe(true);
    expect(isScopePart("*")).toBe(true);
  });
});

describe("granted scopes", () => {
  const cases: readonly (readonly [string, SatisfiedBy | undefined, SatisfiedBy | undefined])[] = [
    ["agents:read", "exact", "resource-wide"],
    ["agents:*:read", "wildcard", "wildcard"],
    ["agents:web:read", undefined, "exact"],
    ["agents::read", undefined, undefined],
    ["Agents:read", undefined, undefined],
    ["agents", undefined, undefined],
    ["platform:admin", "admin", "admin"],
    // Only the id of a granted scope can be a wildcard, and only the whole id.
    ["*", undefined, undefined],
    ["*:read", undefined, undefined],
    ["agents:*", undefined, undefined],
    ["agents:*:*", undefined, undefined],
    ["agents:w*:read", undefined, undefined],
    // Every part is case-sensitive.
    ["agents:Read", undefined, undefined],
    ["agents:WEB:read", undefined, undefined],
    ["Platform:Admin", undefined, undefined],
    // No scope covers another by a common prefix.
    ["agent:read", undefined, undefined],
    ["agents:read:", undefined, undefined],
    ["agents:web:read:x", undefined, undefined],
    ["agents:run", undefined, undefined],
    ["teams:read", undefined, undefined],
    ["", undefined, undefined],
    // Resembles the admin scope.
    ["platform:*:admin", undefined, undefined],
  ];

  it.each(cases)(
    "satisfies by scope %j: agents:read by %s, agents:web:read by %s",
    (granted, wide, ofWeb) => {
      expect(byOf([granted], "agents:read")).toBe(wide);
      expect(byOf([granted], "agents:web:read")).toBe(ofWeb);
    },
  );

  it.each(["agents:run", "agents:web:run", "agents:read:web", "teams:web:read", "agents", "read"])(
    "does not cover %j when only reading agents is granted",
    (required) => {
      expect(find(["agents:read", "agents:*:read", "agents:web:read"], required)).toBeUndefined();
    },
  );

  it("reports which granted scope satisfied which required scope, and how", () => {
    expect(find(["teams:read", "agents:*:read"], "agents:web:read")).toEqual({
      required: "agents:web:read",
      granted: "agents:*:read",
      by: "wildcard",
    });
  });

  it("reports a grant for every id as a wildcard, also when every id is required", () => {
    expect(byOf(["agents:*:read"], "agents:*:read")).toBe("wildcard");
  });

  it("counts each granted scope once, and no malformed scope", () => {
    const scopes = ["agents:write", "agents:write", "agents::read", "a b"];
    expect(new GrantedScopes(scopes, scopeRulesOf({ "agents:write": ["agents:read"] })).count).toBe(2);
    expect(new GrantedScopes([], scopeRulesOf()).count).toBe(0);
  });

  it("reports an exact match whenever the required scope itself is granted", () => {
    const granted = ["platform:admin", "agents:read", "agents:*:read", "agents:web:read", "agents:api:read"];
    fc.assert(
      fc.property(fc.shuffledSubarray(granted, { minLength: granted.length }), (scopes) => {
        expect(byOf(scopes, "agents:web:read")).toBe("exact");
        expect(byOf(scopes, "agents:read")).toBe("exact");
        expect(byOf(scopes, "platform:admin")).toBe("exact");
        expect(byOf(scopes, "agents:other:read")).not.toBe("admin");
        expect(byOf(scopes, "teams:read")).toBe("admin");
      }),
      PROPERTY,
    );
  });

  it("does not cover a malformed scope, even if the token has the same string", () => {
    const malformed = [
      "agents:web read",
      'agents:"web":read',
      "agents:web\\x:read",
      "agents:wéb:read",
      "\u0000",
    ];
    for (const scope of malformed) expect(find([scope], scope), scope).toBeUndefined();
  });

  it("covers only itself by an opaque scope", () => {
    for (const token of ["openid", "a:b:c:d", "https://api.example/agents.read", "urn:acme:read", "*"]) {
      expect(byOf([token], token)).toBe("exact");
      expect(find([token.toUpperCase() + "x"], token)).toBeUndefined();
    }
    expect(find(["a:b:c"], "a:b:c:d")).toBeUndefined();
    expect(find(["urn:read", "urn:*:read", "https:*"], "urn:acme:read")).toBeUndefined();
    expect(find(["a:*:c:d"], "a:b:c:d")).toBeUndefined();
    expect(find(["a:*:d"], "a:b:c:d")).toBeUndefined();
    expect(find(["*"], "openid")).toBeUndefined();
    expect(find(["a", "b"], "a:b")).toBeUndefined();
  });

  it("compares parts, never joined strings", () => {
    const granted = new GrantedScopes(["agents:web:admin", "a:b:c:d", "agents:web:read"], scopeRulesOf());
    expect(granted.find(coveringOf(["agents", "web:admin"]), "")).toBeUndefined();
    expect(granted.find(coveringOf(["agents:web", "admin"]), "")).toBeUndefined();
    expect(granted.find(coveringOf(["agents:web:admin"]), "")).toBeUndefined();
    expect(granted.find(coveringOf(["a:b", "c", "d"]), "")).toBeUndefined();
    expect(granted.find(coveringOf(["a", "b:c", "d"]), "")).toBeUndefined();
    const opaque = new GrantedScopes(["a:b:c:d:e"], scopeRulesOf());
    expect(opaque.find(coveringOf(["a", "b:c", "d", "e"]), "")).toBeUndefined();
    expect(granted.find(coveringOf(["a:b:c:d"]), "")).toBeUndefined();
    expect(granted.find(coveringOf(["agents", "", "read"]), "")).toBeUndefined();
  });

  it("agrees with the documented table for every combination of parts", () => {
    const part = fc.constantFrom("agents", "teams", "read", "run", "web", "*");
    const scope = fc.array(fc.oneof({ weight: 9, arbitrary: part }, fc.constant("")), {
      minLength: 1,
      maxLength: 4,
    });
    const required = fc.array(part, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(scope, { maxLength: 5 }), required, (granted, parts) => {
        const texts = granted.map((one) => one.join(":"));
        const expected = granted.some((one) => coversByTheTable(one, parts));
        expect(find(texts, parts.join(":")) !== undefined).toBe(expected);
      }),
      { ...PROPERTY, numRuns: 2000 },
    );
  });

  it("ignores the order of the granted scopes", () => {
    const scope = fc.constantFrom(
      "agents:read",
      "agents:*:read",
      "agents:web:read",
      "openid",
      "platform:admin",
    );
    fc.assert(
      fc.property(
        fc.uniqueArray(scope),
        fc.constantFrom("agents:read", "agents:web:read", "x"),
        (scopes, asked) => {
          expect(byOf(scopes.toReversed(), asked)).toBe(byOf(scopes, asked));
        },
      ),
      PROPERTY,
    );
  });
});

/** The documented table of granted and required scopes, row by row, without the admin scope. */
function coversByTheTable(granted: readonly string[], required: readonly string[]): boolean {
  if (granted.includes("")) return false;
  const isStructured = (parts: readonly string[]) => parts.length === 2 || parts.length === 3;
  if (!isStructured(granted) || !isStructured(required)) return granted.join(":") === required.join(":");
  if (granted[0] !== required[0] || granted.at(-1) !== required.at(-1)) return false;
  return granted.length === 2 || granted[1] === "*" || (required.length === 3 && granted[1] === required[1]);
}

describe("the admin scope", () => {
  it.each(["agents:read", "agents:web:read", "openid", "a:b:c:d", "agents:*:read"])(
    "implies %s",
    (required) => {
      expect(find(["platform:admin"], required)).toEqual({
        required,
        granted: "platform:admin",
        by: "admin",
      });
    },
  );

  it("implies nothing if it is null", () => {
    const rules = scopeRulesOf();
    expect(find(["platform:admin"], "agents:read", rules)).toBeUndefined();
    expect(byOf(["platform:admin"], "platform:admin", rules)).toBe("exact");
    expect(new GrantedScopes(["platform:admin"], rules).resourceIds("agents", "read")).toEqual(new Set());
  });

  it.each([
    ["root", ["platform:admin", "Root", "root:x", "x:root", "*"]],
    ["ops:root", ["platform:admin", "ops:*:root", "ops:x:root", "ops", "root", "Ops:root"]],
    ["ops:all:root", ["ops:root", "ops:*:root", "ops:ALL:root"]],
  ])("accepts %s, and then no other scope implies every scope", (adminScope, others) => {
    const rules = scopeRulesOf({}, adminScope);
    expect(byOf([adminScope], "agents:read", rules)).toBe("admin");
    for (const other of others) expect(find([other], "agents:read", rules), other).toBeUndefined();
  });

  it("allows another scope to imply it", () => {
    expect(find(["owner"], "agents:read", scopeRulesOf({ owner: ["root"] }, "root"))).toEqual({
      required: "agents:read",
      granted: "owner",
      by: "admin",
    });
  });

  it("requires an own grant: no hierarchy that is applied to an id grants it", () => {
    const rules = scopeRulesOf({ "platform:own": ["platform:admin"] }, "platform:admin");
    expect(byOf(["platform:own"], "agents:read", rules)).toBe("admin");
    expect(find(["platform:x:own"], "agents:read", rules)).toBeUndefined();
    // `platform:*:own` is `platform:own`, but the admin scope is compared as text.
    expect(byOf(["platform:*:own"], "agents:read", rules)).toBe("admin");
    expect(find(["platform:*:admin"], "agents:read", rules)).toBeUndefined();
    const named = scopeRulesOf({ "ops:own": ["ops:root"] }, "ops:all:root");
    expect(byOf(["ops:all:own"], "ops:all:root", named)).toBe("implied");
    expect(find(["ops:all:own"], "agents:read", named)).toBeUndefined();
  });
});

describe("implied scopes", () => {
  const rules = scopeRulesOf({
    "agents:write": ["agents:read"],
    "agents:read": ["agents:list"],
    owner: ["agents:write", "teams:write"],
  });

  it.each([
    ["agents:write", ["agents:read", "agents:list", "agents:web:read", "agents:web:list"]],
    ["agents:read", ["agents:list", "agents:web:list"]],
    ["agents:*:write", ["agents:read", "agents:list", "agents:web:read", "agents:api:list"]],
    ["agents:web:write", ["agents:web:read", "agents:web:list"]],
    ["owner", ["agents:write", "agents:read", "agents:list", "agents:web:write", "teams:write"]],
  ])("grants by %s the scopes %j", (granted, covered) => {
    for (const required of covered) {
      expect(find([granted], required, rules)).toEqual({ required, granted, by: "implied" });
    }
  });

  it.each([
    ["agents:list", ["agents:read", "agents:write"]],
    ["agents:read", ["agents:write", "agents:web:write", "owner"]],
    [
      "agents:web:write",
      ["agents:read", "agents:list", "agents:api:read", "agents:api:list", "agents:write"],
    ],
    ["agents:web:write", ["teams:web:read", "teams:read", "owner"]],
    ["agents::write", ["agents:read", "agents::read", "agents:web:read"]],
    ["Agents:write", ["agents:read", "Agents:read"]],
    ["teams:write", ["teams:read", "agents:read"]],
    ["agents:web:write:x", ["agents:web:read", "agents:web:list", "agents:read"]],
  ])("does not grant by %s the scopes %j", (granted, uncovered) => {
    for (const required of uncovered) expect(find([granted], required, rules), required).toBeUndefined();
  });

  it("applies to the ids of the same resource, never to ids of another resource", () => {
    const across = scopeRulesOf({ "agents:write": ["teams:read", "openid", "agents:api:read"] });
    expect(byOf(["agents:write"], "teams:read", across)).toBe("implied");
    expect(byOf(["agents:write"], "openid", across)).toBe("implied");
    for (const required of ["teams:read", "teams:web:read", "openid", "agents:api:read", "agents:read"]) {
      expect(find(["agents:web:write"], required, across), required).toBeUndefined();
      expect(byOf(["agents:*:write"], required, across)).toBe(byOf(["agents:write"], required, across));
    }
  });

  it("reports an opaque scope of the token in preference to an implied scope", () => {
    expect(find(["openid", "profile"], "openid", scopeRulesOf({ profile: ["openid"] }))).toEqual({
      required: "openid",
      granted: "openid",
      by: "exact",
    });
  });

  it("accepts a hierarchy for one id", () => {
    const single = scopeRulesOf({ "agents:web:write": ["agents:web:read"] });
    expect(byOf(["agents:web:write"], "agents:web:read", single)).toBe("implied");
    expect(find(["agents:api:write"], "agents:api:read", single)).toBeUndefined();
    expect(find(["agents:write"], "agents:read", single)).toBeUndefined();
  });

  it("does not apply an implied scope without an action to an id", () => {
    const coarse = scopeRulesOf({ "agents:write": ["agents"] });
    expect(byOf(["agents:write"], "agents", coarse)).toBe("implied");
    for (const required of ["agents", "agents:web", "agents:web:undefined"])
      expect(find(["agents:web:write"], required, coarse), required).toBeUndefined();
  });

  it("does not apply an implied scope with an id of its own to another id", () => {
    const own = scopeRulesOf({ "agents:write": ["agents:read:own"] });
    expect(byOf(["agents:write"], "agents:read:own", own)).toBe("implied");
    for (const required of ["agents:web:read", "agents:web:own", "agents:read:own"]) {
      expect(find(["agents:web:write"], required, own), required).toBeUndefined();
    }
  });
});

describe("a chain of implied scopes", () => {
  const rules = scopeRulesOf({
    power: ["agents:web:write"],
    "agents:write": ["agents:read"],
    "agents:read": ["agents:list"],
  });

  it("continues beyond a step that was applied to an id", () => {
    for (const required of ["agents:web:write", "agents:web:read", "agents:web:list"])
      expect(find(["power"], required, rules)).toEqual({ required, granted: "power", by: "implied" });
  });

  it("keeps the id", () => {
    for (const required of ["agents:read", "agents:api:read", "agents:list", "agents:*:read", "agents:write"])
      expect(find(["power"], required, rules), required).toBeUndefined();
  });

  it("ends when a step that was applied to an id leads back", () => {
    const circle = scopeRulesOf({ "agents:a": ["agents:b"], "agents:x:b": ["agents:x:a"] });
    expect(byOf(["agents:x:a"], "agents:x:b", circle)).toBe("implied");
    expect(byOf(["agents:x:b"], "agents:x:a", circle)).toBe("implied");
    expect(find(["agents:y:b"], "agents:y:a", circle)).toBeUndefined();
  });

  it("reports a scope of the token in preference to an implied scope, in any order", () => {
    const granted = ["power", "agents:write", "agents:web:write", "agents:read", "agents:web:read"];
    fc.assert(
      fc.property(fc.shuffledSubarray(granted, { minLength: granted.length }), (scopes) => {
        for (const required of ["agents:read", "agents:web:read"]) {
          const direct = { required, granted: required, by: "exact" };
          expect(find(scopes, required, rules)).toEqual(direct);
        }
      }),
      PROPERTY,
    );
  });
});

describe("a satisfaction", () => {
  const rules = scopeRulesOf({ "agents:write": ["agents:read"] }, "root");

  it.each(["agents:read", "agents:*:read", "agents:write", "root"])(
    "stays frozen if it is granted by %s",
    (scope) => {
      const granted = new GrantedScopes([scope], rules);
      expect(Object.isFrozen(granted.find(coveringOf(["agents", "read"]), "agents:read"))).toBe(true);
    },
  );

  it("stays frozen if it is granted by one id", () => {
    const granted = new GrantedScopes(["agents:web:read"], rules);
    expect(Object.isFrozen(granted.find(SOME_AGENTS, "agents:read"))).toBe(true);
  });
});

describe("a scope that one id is enough for", () => {
  const some = (granted: readonly string[], rules = ADMIN_RULES) =>
    new GrantedScopes(granted, rules).find(SOME_AGENTS, "agents:read");

  it.each([
    [["agents:read"], "agents:read", "exact"],
    [["agents:*:read"], "agents:*:read", "wildcard"],
    [["platform:admin"], "platform:admin", "admin"],
    [["agents:web:read"], "agents:web:read", "some-ids"],
    [["agents:web:read", "agents:read"], "agents:read", "exact"],
    [["agents:web:read", "platform:admin"], "platform:admin", "admin"],
  ])("finds for %j the grant %s (%s)", (scopes, granted, by) => {
    expect(some(scopes)).toEqual({ required: "agents:read", granted, by });
  });

  it("finds an id that a hierarchy grants", () => {
    expect(some(["agents:web:write"], scopeRulesOf({ "agents:write": ["agents:read"] }))).toEqual({
      required: "agents:read",
      granted: "agents:web:write",
      by: "implied",
    });
  });

  it.each([[[]], [["agents:web:run"]], [["teams:web:read"]], [["agents::read"]], [["agents:web:x:read"]]])(
    "finds nothing for %j",
    (scopes) => {
      expect(some(scopes)).toBeUndefined();
    },
  );
});

describe("GrantedScopes.resourceIds", () => {
  const ids = (...granted: readonly string[]) =>
    new GrantedScopes(granted, scopeRulesOf({ "agents:write": ["agents:read"] }, "root")).resourceIds(
      "agents",
      "read",
    );

  it.each(["agents:read", "agents:*:read", "root", "agents:write", "agents:*:write"])(
    'returns "all" for %s, even if ids are granted too',
    (scope) => {
      expect(ids(scope)).toBe("all");
      expect(ids("agents:web:read", scope)).toBe("all");
    },
  );

  it("returns exactly the granted ids, implied ids included", () => {
    expect(ids("agents:web:read", "agents:api:write", "agents:web:read", "agents:a*:read")).toEqual(
      new Set(["web", "api", "a*"]),
    );
  });

  it("ignores grants for another action, resource or letter case", () => {
    expect(
      ids("agents:web:run", "teams:web:read", "Agents:x:read", "agents::read", "agents", "openid"),
    ).toEqual(new Set());
  });

  it("returns a copy, so that callers cannot change the grants", () => {
    const granted = new GrantedScopes(["agents:web:read"], scopeRulesOf());
    (granted.resourceIds("agents", "read") as Set<string>).add("api");
    expect(granted.resourceIds("agents", "read")).toEqual(new Set(["web"]));
    expect(granted.find(coveringOf(["agents", "api", "read"]), "")).toBeUndefined();
  });
});

describe("resolveScopeRules", () => {
  const resolve = (implied: Readonly<Record<string, readonly string[]>>) =>
    reporting((report) => resolveScopeRules(null, implied, report));

  it("follows a hierarchy transitively", () => {
    const { value, issues } = resolve({ a: ["b"], b: ["c", "d"], d: ["e"] });
    expect(issues).toEqual([]);
    expect(new Set(value.implied.get("a"))).toEqual(new Set(["b", "c", "d", "e"]));
    expect(new Set(value.implied.get("b"))).toEqual(new Set(["c", "d", "e"]));
    expect(value.implied.get("c")).toBeUndefined();
  });

  it("accepts two paths to the same scope", () => {
    expect(resolve({ a: ["b", "c"], b: ["d"], c: ["d"] }).issues).toEqual([]);
  });

  it.each([
    [{ a: ["a"] }, ["a"]],
    [{ a: ["b"], b: ["a"] }, ["a", "b"]],
    [{ a: ["b"], b: ["c"], c: ["a"] }, ["a", "b", "c"]],
    [{ top: ["a"], a: ["b"], b: ["a"] }, ["a", "b"]],
  ])("reports the cycle %j and each scope of it", (implied, members) => {
    const { issues } = resolve(implied);
    expect(issues.map(({ code, path }) => [code, ...path])).toEqual(
      members.map((scope) => ["implied_scopes_cycle", "impliedScopes", scope]),
    );
  });

  it.each([
    [{ "": ["a"] }],
    [{ "a b": ["c"] }],
    [{ a: ["b c"] }],
    [{ a: ["b", ""] }],
    [{ a: ['"b"'] }],
    [{ é: [] }],
  ])("reports the invalid scope in %j", (implied) => {
    const { issues } = resolve(implied);
    expect(issues.map(({ code, path }) => [code, ...path])).toEqual([
      ["scope_invalid", "impliedScopes", ...Object.keys(implied)],
    ]);
  });

  it("reports each kind of mistake with its fix", () => {
    const { issues } = resolve({ "a b": [], "a::b": [], c: ["c"] });
    expect(issues.map(({ message, hint }) => [message, hint])).toEqual([
      [
        '"a b" isn\'t a scope.',
        "Write a scope as printable ASCII without spaces, quotation marks and backslashes (RFC 6749 section 3.3).",
      ],
      [
        '"a::b" has an empty part: no token can have it.',
        "Write a scope without empty parts, such as `platform:admin`.",
      ],
      ["`c` implies itself.", "Remove one link of the cycle."],
    ]);
  });

  it.each(["", "not a scope", "a\\b", '"a"', "é", "a\n", "a::b", ":a", "a:"])(
    "rejects the admin scope %j",
    (adminScope) => {
      const { issues } = reporting((report) => resolveScopeRules(adminScope, {}, report));
      expect(issues.map(({ code, path }) => [code, ...path])).toEqual([["scope_invalid", "adminScope"]]);
    },
  );

  it.each([null, "root", "platform:admin", "a:b:c:d", "*"])("accepts the admin scope %j", (adminScope) => {
    const { value, issues } = reporting((report) => resolveScopeRules(adminScope, {}, report));
    expect(issues).toEqual([]);
    expect(value.adminScope).toBe(adminScope);
  });

  it("reports every mistake", () => {
    expect(resolve({ "a b": ["c"], d: ["d"], e: ["f g"] }).issues.map(({ code }) => code)).toEqual([
      "scope_invalid",
      "implied_scopes_cycle",
      "scope_invalid",
    ]);
  });

  it("ignores inherited properties of the hierarchy", () => {
    const { value, issues } = resolve({ a: ["constructor", "toString"] });
    expect(issues).toEqual([]);
    expect(new Set(value.implied.get("a"))).toEqual(new Set(["constructor", "toString"]));
    expect(find(["constructor"], "a", value)).toBeUndefined();
    expect(byOf(["a"], "toString", value)).toBe("implied");
  });
});
