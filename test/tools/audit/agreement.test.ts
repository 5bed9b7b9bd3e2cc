/** An audit of random tables and routes agrees with what the server does with requests for them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decision, ResourceServer } from "scopegate";
import { audit } from "scopegate/audit";
import { kinds, ruleKinds, samplePaths, sourceOf } from "../../support/patterns.ts";
import { PROPERTY } from "../../support/policy.ts";
import { type Entry, keyOfEntry } from "../../support/reference.ts";
import { createServer } from "../../support/resource-servers.ts";

const method = fc.constantFrom("GET", "GET", "POST", "HEAD", "OPTIONS", "*");
/** Two keys that differ in parameter names only are one route: each name is that of its place. */
const listOf = (patterns: typeof kinds) =>
  fc.uniqueArray(
    fc.record<Entry>({ method, kinds: patterns(["a", "b", "suffix", "parameter", "wildcard"], 3) }),
    { minLength: 1, maxLength: 7, selector: keyOfEntry },
  );
const cases = fc.record({ table: listOf(ruleKinds), routes: listOf(kinds) });

/** Every rule is public, so that only the table decides. */
const serverFor = (table: readonly Entry[]): ResourceServer =>
  createServer({
    scopeMappings: Object.fromEntries(table.map((one) => [keyOfEntry(one), "public" as const])),
  });

/** The methods of the requests that reach a route; REPORT stands for those that no rule names. */
const methodsOf = (method: string): readonly string[] => {
  if (method === "*") return ["GET", "POST", "HEAD", "OPTIONS", "REPORT"];
  return method === "GET" ? ["GET", "HEAD"] : [method];
};

const pathsOf = ({ kinds: pattern }: Entry): readonly string[] => samplePaths(pattern).slice(0, 12);

const auditOf = (server: ResourceServer, routes: readonly Entry[]) =>
  audit(
    server,
    routes.map(({ method, kinds: pattern }) => ({ method, pattern: sourceOf(pattern) })),
  );

const rulesOf = ({ rules }: Decision): readonly string[] => rules.map(({ key }) => key);

describe("the routes of an audit", () => {
  it("show the rule that the server adds when the framework reports the route", async () => {
    let [mapped, unmapped] = [0, 0];
    await fc.assert(
      fc.asyncProperty(cases, async ({ table, routes }) => {
        const server = serverFor(table);
        const { routes: audited } = auditOf(server, routes);
        for (const [index, route] of routes.entries()) {
          const { rule, parts = [] } = audited[index] ?? {};
          if (rule) mapped += 1;
          else unmapped += 1;
          // The methods that no rule names are those that only `*` decides.
          const method = route.method === "*" ? "REPORT" : route.method;
          for (const target of pathsOf(route).slice(0, 3)) {
            const matchedPattern = sourceOf(route.kinds);
            const decision = await server.check({ method, target, matchedPattern });
            const known = [rule, ...parts].map((one) => one?.key);
            if (rule) expect(rulesOf(decision), `${method} ${target}`).toContain(rule.key);
            expect(known, `${method} ${target}`).toEqual(expect.arrayContaining([...rulesOf(decision)]));
          }
        }
      }),
      PROPERTY,
    );
    expect(Math.min(mapped, unmapped)).toBeGreaterThan(100);
  });

  it("list every rule that decides some request for them by its path", async () => {
    let others = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ table, routes }) => {
        const server = serverFor(table);
        const { routes: audited } = auditOf(server, routes);
        for (const [index, route] of routes.entries()) {
          const { rule, parts = [] } = audited[index] ?? {};
          const known = [rule, ...parts].map((one) => one?.key);
          others += parts.length;
          for (const method of methodsOf(route.method)) {
            for (const target of pathsOf(route)) {
              const decision = await server.check({ method, target });
              if (decision.allowed) expect(known, `${method} ${target}`).toContain(decision.rule?.key);
              // No request for a route with a rule is unmapped.
              else expect(rule, `${method} ${target}`).toBeUndefined();
            }
          }
        }
      }),
      PROPERTY,
    );
    expect(others).toBeGreaterThan(100);
  });
});

describe("a rule that an audit reports as unreached", () => {
  it("decides no request for any of the routes", async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ table, routes }) => {
        const server = serverFor(table);
        const unreached = auditOf(server, routes).findings.flatMap((finding) =>
          finding.kind === "rule_unreached" ? [finding.rule.key] : [],
        );
        count += unreached.length;
        if (unreached.length === 0) return;
        for (const route of routes) {
          const matchedPattern = sourceOf(route.kinds);
          for (const method of methodsOf(route.method)) {
            for (const target of pathsOf(route)) {
              const byPath = await server.check({ method, target });
              const byRoute = await server.check({ method, target, matchedPattern });
              for (const key of [...rulesOf(byPath), ...rulesOf(byRoute)])
                expect(unreached, `${method} ${target}`).not.toContain(key);
            }
          }
        }
      }),
      PROPERTY,
    );
    expect(count).toBeGreaterThan(10);
  });
});
