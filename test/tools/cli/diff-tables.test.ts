import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  agentScopeMappings,
  createResourceServer,
  type Requirement,
  type ResourceServerOptions,
  type ScopeMappings,
} from "scopegate";
import { compareTables } from "../../../src/tools/cli/commands/diff.ts";
import { withoutKeys } from "../../../src/tools/cli/policy.ts";
import { resolveOptions } from "../../../src/core/options/resolve.ts";

const compare = (before: ResourceServerOptions, after: ResourceServerOptions) => {
  const [old, now] = [before, after].map((one) => resolveOptions(withoutKeys(one)));
  if (!old || !now) throw new Error("unreachable");
  return compareTables(old, now);
};

const table = (scopeMappings: ScopeMappings, others: ResourceServerOptions = {}) => ({
  scopeMappings,
  ...others,
});

const changes = (before: ResourceServerOptions, after: ResourceServerOptions) =>
  compare(before, after).map(({ change, route }) => `${change} ${route}`);

describe("compareTables", () => {
  it.each<[string, Requirement, Requirement]>([
    ["opened", ["a:read"], "public"],
    ["opened", [], "optional"],
    ["closed", "public", []],
    ["widened", "optional", "public"],
    ["narrowed", "public", "optional"],
    ["widened", ["a:<id>:read", "b:read"], ["a:<id>:read"]],
    ["widened", ["a:<id>:read"], { anyOf: ["a:<id>:read", "b:read"] }],
    ["widened", ["a:read"], { filtered: "a:read" }],
    ["widened", ["a:read"], ["a:<id>:read"]],
    ["narrowed", ["a:<id>:read"], ["a:read"]],
    ["changed", ["a:read"], ["b:read"]],
    ["narrowed", { anyOf: ["a:read", "b:read"] }, ["b:read"]],
  ])("says %s for %j -> %j", (change, before, after) => {
    expect(changes(table({ "GET /x/:id": before }), table({ "GET /x/:id": after }))).toEqual([
      `${change} GET /x/:id`,
    ]);
  });

  it("ignores names of parameters, the order of scopes and what a scope covers anyway", () => {
    const before = table({ "GET /x/:id": ["a:<id>:read", "b:read"] });
    const after = table({ "GET /x/:name": ["b:read", "b:b1:read", "a:<name>:read"] });
    expect(changes(before, after)).toEqual([]);
  });

  it("reports a route that was refused as added, and a route that is refused now as removed", () => {
    const [one, other] = [table({ "GET /x": ["a:read"] }), table({ "GET /y": ["a:read"] })];
    expect(changes(one, other)).toEqual(["added GET /y", "removed GET /x"]);
  });

  it("finds a wildcard that was opened behind narrower rules of every shorter path", () => {
    const narrow = { "GET /a/:b": [], "GET /a/:b/:c": [], "GET /a/:b/:c/:d": [], "GET /a/:b/:c/:d/:e": [] };
    const [before, after] = [["a:admin"], "public" as const].map((rest) =>
      table({ ...narrow, "GET /a/*rest": rest }),
    );
    expect(changes(before ?? {}, after ?? {})).toEqual(["opened GET /a/*rest"]);
  });

  it("finds a rule that only reports now, although any token was enough", () => {
    const [before, after] = [table({ "GET /a": [] }), table({ "GET /a": { report: ["a:read"] } })];
    expect(changes(before, after)).toEqual(["changed GET /a"]);
  });

  it("finds a path that a removed rule leaves to a public one", () => {
    const before = table({ "GET /:x/b": "public", "GET /a/:y": ["a:read"] });
    const after = table({ "GET /:x/b": "public", "GET /a/c": ["a:read"] });
    expect(changes(before, after)).toContain("opened GET /a/b");
  });

  it("compares the defaults and the settings that change routes", () => {
    const base = { defaultScopeMappings: agentScopeMappings };
    expect(changes(base, {})).toHaveLength(12);
    expect(changes(base, { ...base, authorization: false })).toContain("widened GET /sessions");
    expect(changes(table({}), table({}, { unmappedRoutes: "authenticated" }))).toEqual([
      "added every route without a rule",
    ]);
    expect(changes(table({ "GET /x": ["a:b"] }), table({ "GET /x": ["a:b"] }, { adminScope: null }))).toEqual(
      ["narrowed GET /x"],
    );
    expect(changes(table({ "GET /x": ["a:b"] }), table({ "GET /x": { report: ["a:b"] } }))).toEqual([
      "widened GET /x",
    ]);
    const implied = { impliedScopes: { "a:write": ["a:read"] } };
    expect(changes(table({ "GET /x": ["a:read"] }), table({ "GET /x": ["a:read"] }, implied))).toEqual([
      "widened GET /x",
    ]);
  });

  it("compares the operations of MCP servers", () => {
    const before = table({ "MCP tools/call *": ["a:<id>:run"], "MCP tools/list": [] });
    const after = table({
      "MCP tools/call *": ["a:run"],
      "MCP tools/call open": "public",
      "MCP tools/list": [],
    });
    expect(changes(before, after).sort()).toEqual([
      "narrowed MCP tools/call *",
      "opened MCP tools/call open",
    ]);
  });
});

const scope = fc.constantFrom("a:read", "a:write", "a:1:read", "a:<p>:read", "b:read", "opaque");
const granted = fc.constantFrom(
  ...[
    "a:read",
    "a:*:read",
    "a:1:read",
    "a:2:read",
    "a:write",
    "a:*:write",
    "a:1:write",
    "b:read",
    "b:9:read",
  ],
  ...["opaque", "platform:admin", "root", "a:zz:read"],
);
const requirement = fc.oneof(
  fc.constantFrom<Requirement>("public", "optional", [], { filtered: "a:read" }, { filtered: "b:read" }),
  fc.array(scope, { minLength: 1, maxLength: 2 }),
  fc.array(scope, { minLength: 1, maxLength: 2 }).map((anyOf): Requirement => ({ anyOf })),
);
const path = fc
  .array(fc.constantFrom("x", "y", ":p", ":q", "*w"), { minLength: 1, maxLength: 3 })
  .filter(
    (parts) =>
      new Set(parts.filter((part) => part.startsWith(":") || part.startsWith("*"))).size ===
      parts.filter((part) => /^[:*]/.test(part)).length,
  )
  .map((parts) => `/${parts.join("/")}`);
const rules = fc
  .array(fc.tuple(fc.constantFrom("GET", "POST", "HEAD", "*"), path, requirement), { maxLength: 5 })
  .map((rows) => {
    const kept: Record<string, Requirement> = {};
    const identities = new Set<string>();
    for (const [method, pattern, needed] of rows) {
      const identity = `${method} ${pattern.replaceAll(/:\w/g, ":").replaceAll(/\*\w/g, "*")}`;
      if (identities.has(identity)) continue;
      identities.add(identity);
      kept[`${method} ${pattern}`] = pattern.includes(":p") ? needed : withoutTemplate(needed);
    }
    return kept;
  });
const withoutTemplate = (needed: Requirement): Requirement =>
  JSON.parse(JSON.stringify(needed).replaceAll("<p>", "1")) as Requirement;
const anyOptions = fc.record({
  scopeMappings: rules,
  defaultScopeMappings: fc.constant({}),
  unmappedRoutes: fc.constantFrom("deny" as const, "deny" as const, "authenticated" as const),
  authorization: fc.constantFrom(true, true, true, false),
  adminScope: fc.constantFrom("platform:admin", "platform:admin", "root", null),
  impliedScopes: fc.constantFrom({}, {}, { "a:write": ["a:read"] }, { opaque: ["b:read"], root: ["a:read"] }),
});
/** Without tables whose rules have no total order. */
const options = anyOptions.filter((one) => {
  try {
    compare(one, one);
    return true;
  } catch {
    return false;
  }
});
const segment = fc.constantFrom("x", "y", "1", "2", "zz");
const target = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join("/")}`);

describe("compareTables on random tables", () => {
  it("reports each request that is decided in another way, with the right direction", () => {
    let different = 0;
    fc.assert(
      fc.property(options, options, (before, after) => {
        const found = compare(before, after);
        const [old, now] = [before, after].map((one) => createResourceServer(withoutKeys(one)));
        if (!old || !now) return;
        const gains = found.filter(({ change }) => !["closed", "narrowed", "removed"].includes(change));
        const losses = found.filter(({ change }) => !["opened", "widened", "added"].includes(change));
        const queries = fc.sample(
          fc.record({
            method: fc.constantFrom("GET", "POST", "HEAD", "PUT"),
            path: target,
            scopes: fc.option(fc.array(granted, { maxLength: 3 }), { nil: undefined }),
          }),
          { numRuns: 60, seed: 1 },
        );
        for (const query of queries) {
          const { scopes, ...request } = query;
          const [was, is] = [old, now].map(
            (one) => one.explain({ ...request, ...(scopes && { scopes }) }).decision,
          );
          if (was?.allowed === is?.allowed) continue;
          different += 1;
          const about = JSON.stringify({ before, after, query, found });
          if (is?.allowed) expect(gains.length, about).toBeGreaterThan(0);
          else expect(losses.length, about).toBeGreaterThan(0);
          // The very pair of rules is reported, or that of routes without one.
          const rulesOf = (text: string) => /\(([A-Z*]+ \/\S*)\)$/.exec(text)?.[1];
          const pair = [was?.rules[0]?.key ?? "", is?.rules[0]?.key ?? ""];
          const isReported = found.some(
            (one) =>
              (rulesOf(one.was) ?? "") === (ruleOf(old, request) ?? "") &&
              (rulesOf(one.is) ?? "") === (ruleOf(now, request) ?? ""),
          );
          expect(isReported, `${about} ${pair.join(" -> ")}`).toBe(true);
          if (scopes === undefined && is?.allowed)
            expect(
              found.some(({ change }) => change === "opened"),
              about,
            ).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
    expect(different).toBeGreaterThan(100);
  });

  it("reports nothing that no caller could notice", () => {
    fc.assert(
      fc.property(options, (one) => {
        expect(compare(one, structuredClone(one))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

/** The rule of a request, by a caller with every scope. */
const ruleOf = (server: ReturnType<typeof createResourceServer>, request: { method: string; path: string }) =>
  server.explain({ ...request, scopes: ["platform:admin"] }).decision.rules[0]?.key;
