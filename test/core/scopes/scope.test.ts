import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GrantedScopes, type ScopeRules } from "../../../src/core/scopes/granted-scopes.ts";
import {
  isScopePart,
  isScopeToken,
  type SatisfiedBy,
  splitScope,
  type Covering,
  coveringOf,
} from "../../../src/core/scopes/scope.ts";
import { resolveScopeRules } from "../../../src/core/scopes/scope-rules.ts";
import { ADMIN_RULES, changeable, PROPERTY, reporting, scopeRulesOf } from "../../support/policy.ts";

// `test/model` has which scope covers which. These are how one covers another, and hierarchies of scopes.

const find = (granted: readonly string[], required: string, rules = ADMIN_RULES) =>
  new GrantedScopes(granted, rules).find(coveringOf(splitScope(required)), required);

const byOf = (granted: readonly string[], required: string, rules = ADMIN_RULES) =>
  find(granted, required, rules)?.by;

describe("isScopeToken and isScopePart", () => {
  it("accepts printable ASCII without space, quotation mark and backslash (RFC 6749 section 3.3)", () => {
    const characters = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code));
    const printable = characters.slice(0x21, 0x7f);
    expect(characters.filter(isScopeToken)).toEqual(printable.filter((char) => !/["\\]/.test(char)));
  });

  it.each(["", "a b", "a\n", "café", "a\u2028", "a\ud83d"])("rejects %j", (text) => {
    expect(isScopeToken(text)).toBe(false);
    expect(isScopePart(text)).toBe(false);
  });

  it("allows a colon between the parts of a scope, not inside a part", () => {
    expect(isScopeToken("web:admin")).toBe(true);
    expect(isScopePart("web:admin")).toBe(false);
    expect(isScopePart("*")).toBe(true);
  });
});

describe("a granted scope", () => {
  it.each<[string, SatisfiedBy | undefined, SatisfiedBy | undefined]>([
    ["agents:read", "exact", "resource-wide"],
    ["agents:*:read", "wildcard", "wildcard"],
    ["agents:web:read", undefined, "exact"],
    ["platform:admin", "admin", "admin"],
    // Only the id can be a wildcard, only the whole id, and not that of the admin scope.
    ["agents:w*:read", undefined, undefined],
    ["platform:*:admin", undefined, undefined],
    ["Platform:Admin", undefined, undefined],
  ])("satisfies, if it is %s, agents:read by %s and agents:web:read by %s", (granted, wide, ofWeb) => {
    expect(byOf([granted], "agents:read")).toBe(wide);
    expect(byOf([granted], "agents:web:read")).toBe(ofWeb);
  });

  it("is reported with the required scope", () => {
    const [required, granted] = ["agents:web:read", "agents:*:read"];
    expect(find(["teams:read", granted], required)).toEqual({ required, granted, by: "wildcard" });
    expect(byOf([granted], granted)).toBe("wildcard");
  });

  it("counts once, and not if it is malformed", () => {
    const scopes = ["agents:write", "agents:write", "agents::read", "a b"];
    expect(new GrantedScopes(scopes, scopeRulesOf({ "agents:write": ["agents:read"] })).count).toBe(2);
  });

  it.each(["agents:web read", 'agents:"web":read', "agents:wéb:read", "\u0000"])(
    "does not cover itself if it is malformed: %j",
    (scope) => {
      expect(find([scope], scope)).toBeUndefined();
    },
  );

  it("covers only itself if it is opaque", () => {
    for (const scope of ["openid", "a:b:c:d", "https://api.example/agents.read", "urn:acme:read", "*"])
      expect(byOf([scope], scope)).toBe("exact");
    expect(find(["urn:read", "urn:*:read", "https:*"], "urn:acme:read")).toBeUndefined();
    expect(find(["a:*:c:d", "a:b:c", "a:*:d", "*"], "a:b:c:d")).toBeUndefined();
  });

  it.each([
    [["agents", "web:admin"]],
    [["agents:web", "admin"]],
    [["agents:web:admin"]],
    [["a:b", "c", "d"]],
    [["a", "b:c", "d"]],
    [["a:b", "c", "d", "e"]],
  ])("is compared with parts, never with joined strings: %j", (parts) => {
    const granted = new GrantedScopes(["agents:web:admin", "a:b:c:d", "a:b:c:d:e"], scopeRulesOf());
    expect(granted.find(coveringOf(parts), "")).toBeUndefined();
  });

  it("is reported as exact if it is the required one, in any order", () => {
    const rules = scopeRulesOf({ power: ["agents:web:read"], "agents:write": ["agents:read"] }, "root");
    const granted = ["root", "power", "agents:write", "agents:read", "agents:*:read", "agents:web:read"];
    fc.assert(
      fc.property(fc.shuffledSubarray(granted, { minLength: granted.length }), (scopes) => {
        for (const required of ["agents:web:read", "agents:read", "root"])
          expect(find(scopes, required, rules)).toEqual({ required, granted: required, by: "exact" });
        expect(byOf(scopes, "teams:read", rules)).toBe("admin");
        expect(byOf(scopes, "agents:other:read", rules)).not.toBe("admin");
      }),
      PROPERTY,
    );
  });

  it.each(["agents:read", "agents:*:read", "agents:write", "root"])("causes a frozen result: %s", (scope) => {
    const rules = scopeRulesOf({ "agents:write": ["agents:read"] }, "root");
    expect(changeable(find([scope], "agents:read", rules))).toEqual([]);
  });
});

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
    expect(find(["platform:admin"], "agents:read", scopeRulesOf())).toBeUndefined();
    expect(byOf(["platform:admin"], "platform:admin", scopeRulesOf())).toBe("exact");
  });

  it.each([
    ["root", ["platform:admin", "Root", "root:x", "x:root", "*"]],
    ["ops:root", ["platform:admin", "ops:*:root", "ops:x:root", "ops", "root", "Ops:root"]],
    ["ops:all:root", ["ops:root", "ops:*:root", "ops:ALL:root"]],
  ])("is %s only, and no scope that is like it", (adminScope, others) => {
    const rules = scopeRulesOf({}, adminScope);
    expect(byOf([adminScope], "agents:read", rules)).toBe("admin");
    expect(find(others, "agents:read", rules)).toBeUndefined();
  });

  const own = scopeRulesOf({ "platform:own": ["platform:admin"] }, "platform:admin");
  const named = scopeRulesOf({ "ops:own": ["ops:root"] }, "ops:all:root");

  it.each<[string, ScopeRules, SatisfiedBy | undefined]>([
    ["platform:own", own, "admin"],
    // `platform:*:own` is `platform:own`, but the admin scope is compared as text.
    ["platform:*:own", own, "admin"],
    ["platform:*:admin", own, undefined],
    // A hierarchy that is applied to an id grants no admin scope.
    ["platform:x:own", own, undefined],
    ["ops:all:own", named, undefined],
  ])("can be implied by another scope, but not for an id: %s", (granted, rules, by) => {
    expect(byOf([granted], "agents:read", rules)).toBe(by);
  });
});

describe("implied scopes", () => {
  const rules = scopeRulesOf({
    "agents:write": ["agents:read", "teams:list", "profile", "agents:read:own"],
    "agents:read": ["agents:list"],
    "agents:api:run": ["agents:api:stop"],
    "agents:coarse": ["agents"],
    owner: ["agents:write", "teams:write"],
    power: ["agents:web:write"],
  });

  it.each([
    [
      "agents:write",
      ["agents:read", "agents:list", "agents:web:read", "teams:list", "profile", "agents:read:own"],
    ],
    ["agents:read", ["agents:list", "agents:web:list"]],
    ["agents:*:write", ["agents:read", "agents:list", "agents:web:read", "teams:list", "profile"]],
    ["agents:web:write", ["agents:web:read", "agents:web:list"]],
    ["agents:api:run", ["agents:api:stop"]],
    ["agents:coarse", ["agents"]],
    ["owner", ["agents:write", "agents:read", "agents:list", "agents:web:write", "teams:write"]],
    // A chain continues beyond a step that was applied to an id.
    ["power", ["agents:web:write", "agents:web:read", "agents:web:list"]],
  ])("grant by %s the scopes %j", (granted, covered) => {
    for (const required of covered)
      expect(find([granted], required, rules)).toEqual({ required, granted, by: "implied" });
  });

  it.each([
    ["agents:list", ["agents:read", "agents:write"]],
    ["agents:read", ["agents:write", "agents:web:write", "owner"]],
    // Only the same id of the same resource.
    ["agents:web:write", ["agents:read", "agents:list", "agents:api:read", "agents:write", "owner"]],
    ["agents:web:write", ["teams:list", "teams:web:list", "profile", "agents:web:own", "agents:read:own"]],
    ["agents:web:run", ["agents:web:stop", "agents:api:stop"]],
    ["agents:web:coarse", ["agents", "agents:web", "agents:web:undefined"]],
    ["power", ["agents:read", "agents:api:read", "agents:list", "agents:*:read", "agents:write"]],
    ["agents::write", ["agents:read", "agents::read", "agents:web:read"]],
    ["Agents:write", ["agents:read", "Agents:read"]],
    ["agents:web:write:x", ["agents:web:read", "agents:web:list", "agents:read"]],
  ])("do not grant by %s the scopes %j", (granted, uncovered) => {
    for (const required of uncovered) expect(find([granted], required, rules), required).toBeUndefined();
  });

  it("end when a step that was applied to an id leads back", () => {
    const circle = scopeRulesOf({ "agents:a": ["agents:b"], "agents:x:b": ["agents:x:a"] });
    expect(byOf(["agents:x:a"], "agents:x:b", circle)).toBe("implied");
    expect(byOf(["agents:x:b"], "agents:x:a", circle)).toBe("implied");
    expect(find(["agents:y:b"], "agents:y:a", circle)).toBeUndefined();
  });
});

describe("a scope that one id is enough for", () => {
  const SOME_AGENTS: readonly Covering[] = [
    ...coveringOf(["agents", "read"]),
    { text: "agents:read", by: "some-ids" },
  ];
  const rules = scopeRulesOf({ "agents:write": ["agents:read"] }, "root");
  const some = (granted: readonly string[]) =>
    new GrantedScopes(granted, rules).find(SOME_AGENTS, "agents:read");

  it.each([
    [["agents:read"], "agents:read", "exact"],
    [["agents:*:read"], "agents:*:read", "wildcard"],
    [["agents:web:read"], "agents:web:read", "some-ids"],
    [["agents:web:read", "agents:read"], "agents:read", "exact"],
    [["agents:web:read", "root"], "root", "admin"],
    [["agents:web:write"], "agents:web:write", "implied"],
  ])("is satisfied, of %j, by %s (%s)", (scopes, granted, by) => {
    expect(some(scopes)).toEqual({ required: "agents:read", granted, by });
    expect(changeable(some(scopes))).toEqual([]);
  });

  it.each([[[]], [["agents:web:run"]], [["teams:web:read"]], [["agents::read"]], [["agents:web:x:read"]]])(
    "is not satisfied by %j",
    (scopes) => {
      expect(some(scopes)).toBeUndefined();
    },
  );

  const ids = (...granted: readonly string[]) =>
    new GrantedScopes(granted, rules).resourceIds("agents", "read");

  it.each(["agents:read", "agents:*:read", "root", "agents:write", "agents:*:write"])(
    "has all ids with %s, even if ids are granted too",
    (scope) => {
      expect(ids("agents:web:read", scope)).toBe("all");
    },
  );

  it("has exactly the granted ids, implied ids included", () => {
    const others = ["agents:x:run", "teams:y:read", "Agents:z:read", "agents::read", "agents", "openid"];
    const granted = ["agents:web:read", "agents:api:write", "agents:web:read", "agents:a*:read"];
    expect(ids(...granted, ...others)).toEqual(new Set(["web", "api", "a*"]));
  });

  it("has a copy of the ids, so that callers cannot change the grants", () => {
    const granted = new GrantedScopes(["agents:web:read"], scopeRulesOf());
    (granted.resourceIds("agents", "read") as Set<string>).add("api");
    expect(granted.resourceIds("agents", "read")).toEqual(new Set(["web"]));
  });
});

describe("the hierarchy of scopes", () => {
  const resolve = (
    implied: Readonly<Record<string, readonly string[]>>,
    adminScope: string | null = null,
  ) => {
    const { value, issues } = reporting((report) => resolveScopeRules(adminScope, implied, report));
    return { value, mistakes: issues.map(({ code, path }) => [code, ...path].join(" ")) };
  };

  it("is followed transitively, also on two paths to the same scope", () => {
    const { value, mistakes } = resolve({ a: ["b", "c"], b: ["c", "d"], d: ["e"] });
    expect(mistakes).toEqual([]);
    expect(new Set(value.implied.get("a"))).toEqual(new Set(["b", "c", "d", "e"]));
    expect(new Set(value.implied.get("b"))).toEqual(new Set(["c", "d", "e"]));
  });

  it.each([
    [{ a: ["a"] }, ["a"]],
    [{ a: ["b"], b: ["c"], c: ["a"] }, ["a", "b", "c"]],
    [{ top: ["a"], a: ["b"], b: ["a"] }, ["a", "b"]],
  ])("has no cycle: %j", (implied, members) => {
    expect(resolve(implied).mistakes).toEqual(
      members.map((scope) => `implied_scopes_cycle impliedScopes ${scope}`),
    );
  });

  it("has only scopes that a token can be granted, and reports every mistake", () => {
    expect(resolve({ "a b": ["c"], d: ["d"], e: ['"f"', '"g"'], h: ["i", ""] }).mistakes).toEqual([
      "scope_invalid impliedScopes a b",
      "implied_scopes_cycle impliedScopes d",
      "scope_invalid impliedScopes e",
      "scope_invalid impliedScopes h",
    ]);
  });

  it.each(["", "not a scope", "a\\b", '"a"', "é", "a\n", "a::b", ":a", "a:"])(
    "has no admin scope %j",
    (adminScope) => {
      expect(resolve({}, adminScope).mistakes).toEqual(["scope_invalid adminScope"]);
    },
  );

  it.each([null, "root", "platform:admin", "a:b:c:d", "*"])("may have the admin scope %j", (adminScope) => {
    expect(resolve({}, adminScope)).toMatchObject({ value: { adminScope }, mistakes: [] });
  });

  it("ignores inherited properties", () => {
    const { value } = resolve({ a: ["constructor"] });
    expect(value.implied.get("a")).toEqual(["constructor"]);
    expect(byOf(["a"], "constructor", value)).toBe("implied");
  });
});
