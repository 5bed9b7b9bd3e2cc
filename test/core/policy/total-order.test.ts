/** The promise about the order of rules, against an oracle that compares sets of paths and sets of scopes. */
import fc from "fast-check";
import { match } from "path-to-regexp";
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { Table } from "../../../src/core/policy/table.ts";
import { checkOrder } from "../../../src/core/policy/rule-order.ts";
import { compileRules } from "../../../src/core/policy/compile-rules.ts";
import type { Rule } from "../../../src/core/policy/rule.ts";
import { PROPERTY, reporting, SCOPE_RULES } from "../../support/policy.ts";

const TEXTS = ["x", "y", "z"];

/** Every path of up to three of these segments. */
const PATHS = ["", ...TEXTS]
  .flatMap((first) =>
    ["", ...TEXTS].flatMap((second) => ["", ...TEXTS].map((third) => [first, second, third])),
  )
  .filter(([first, second, third]) => (first !== "" || second === "") && (second !== "" || third === ""))
  .map((segments) => `/${segments.filter((segment) => segment !== "").join("/")}`);

const pattern = fc
  .tuple(
    fc.array(fc.constantFrom("x", "y", ":"), { maxLength: 3 }),
    fc.constantFrom("", "", "/*rest", "{/*rest}", "/*rest/y"),
  )
  .map(([parts, end]) => {
    const start = parts.map((part, index) => (part === ":" ? `/:p${index}` : `/${part}`)).join("");
    return start + end || "/";
  })
  .filter((source) => source.startsWith("/"));

const requirement = fc.oneof(
  fc.constantFrom("public" as const, "optional" as const),
  fc.subarray(["a:read", "b:read", "c:read"]),
);
const method = fc.constantFrom("*", "GET", "HEAD", "POST");
const tables = fc
  .uniqueArray(fc.tuple(method, pattern, requirement), { minLength: 2, maxLength: 4 })
  .map((rules): ScopeMappings =>
    Object.fromEntries(rules.map(([name, path, value]) => [`${name} ${path}`, value])),
  );

/** The paths of a pattern without its optional group, and with it: each is a path of the table. */
const pathSetsOf = (source: string): readonly ReadonlySet<string>[] =>
  [...new Set([source.replace("{/*rest}", "") || "/", source.replace("{/*rest}", "/*rest")])].map(
    (written) => {
      const matches = match(written, { sensitive: true, trailing: false });
      return new Set(PATHS.filter((path) => matches(path) !== false));
    },
  );

const isInside = (inner: ReadonlySet<string>, outer: ReadonlySet<string>): boolean =>
  [...inner].every((path) => outer.has(path));

/** How specific the method of a rule is for a request: 0 is its own method, 1 GET for HEAD, 2 every method. */
function rankOf(rule: Rule, requested: string): number | undefined {
  if (rule.method === requested) return 0;
  if (rule.method === "*") return 2;
  return rule.method === "GET" && requested === "HEAD" ? 1 : undefined;
}

/** Every caller who satisfies the first requirement satisfies the second one. */
function isImplied(first: Rule["requirement"], second: Rule["requirement"]): boolean {
  const ranks = [first, second].map((value) =>
    typeof value === "string" ? ["public", "optional"].indexOf(value) : -1,
  );
  const [firstRank = -1, secondRank = -1] = ranks.map((rank) => (rank < 0 ? 2 : rank));
  if (firstRank !== secondRank) return firstRank > secondRank;
  if (!Array.isArray(first) || !Array.isArray(second)) return true;
  return (second as readonly string[]).every((scope) => (first as readonly string[]).includes(scope));
}

describe("a table that starts", () => {
  it("lets no request pass that another matching rule refuses, unless the deciding path is inside of the other", () => {
    let started = 0;
    const property = fc.property(tables, (table) => {
      const { value: compiled, issues } = reporting((report) => {
        const checked = compileRules({}, table, report);
        checkOrder(checked, SCOPE_RULES, report);
        return checked;
      });
      if (issues.length > 0) return;
      started += 1;
      const finder = new Table(compiled);
      const rules = compiled.rules.flatMap(({ rule }) =>
        pathSetsOf(rule.pattern).map((paths) => ({ rule, paths })),
      );
      for (const path of PATHS)
        for (const requested of ["GET", "HEAD", "POST", "DELETE"]) {
          const [decided] = finder.forTarget(requested, path, true).matches;
          const matching = rules.filter(
            ({ rule, paths }) => paths.has(path) && rankOf(rule, requested) !== undefined,
          );
          expect(decided !== undefined, `${requested} ${path}`).toBe(matching.length > 0);
          const deciding = matching.find(({ rule }) => rule === decided?.compiled.rule);
          if (!deciding) continue;
          for (const other of matching) {
            const isNarrower =
              isInside(deciding.paths, other.paths) &&
              Number(rankOf(deciding.rule, requested)) <= Number(rankOf(other.rule, requested));
            const isRight = isNarrower || isImplied(deciding.rule.requirement, other.rule.requirement);
            expect(
              isRight,
              `${requested} ${path}: ${deciding.rule.key} decides beside ${other.rule.key}`,
            ).toBe(true);
          }
        }
    });
    fc.assert(property, { ...PROPERTY, numRuns: 500 });
    expect(started).toBeGreaterThan(100);
  });
});
