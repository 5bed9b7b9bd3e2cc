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

describe("an audit", () => {
  it("names the rules that decide requests for its routes, and as unreached only rules that decide none", async () => {
    const counts = { mapped: 0, unmapped: 0, parts: 0, unreached: 0 };
    const check = async ({ table, routes }: { readonly table: Entry[]; readonly routes: Entry[] }) => {
      const server = serverFor(table);
      const { routes: audited, findings } = auditOf(server, routes);
      const unreached = findings.flatMap((finding) =>
        finding.kind === "rule_unreached" ? [finding.rule.key] : [],
      );
      counts.unreached += unreached.length;
      for (const [index, route] of routes.entries()) {
        const { rule, parts = [] } = audited[index] ?? {};
        const known = [rule, ...parts].map((one) => one?.key);
        counts[rule ? "mapped" : "unmapped"] += 1;
        counts.parts += parts.length;
        for (const method of methodsOf(route.method))
          for (const target of pathsOf(route)) {
            const byPath = await server.check({ method, target });
            const byRoute = await server.check({ method, target, matchedPattern: sourceOf(route.kinds) });
            for (const key of [...rulesOf(byPath), ...rulesOf(byRoute)])
              expect(unreached, `${method} ${target}`).not.toContain(key);
            if (byPath.allowed) expect(known, `${method} ${target}`).toContain(byPath.rule?.key);
            // No request for a route with a rule is unmapped.
            else expect(rule, `${method} ${target}`).toBeUndefined();
            // HEAD may have its own rule, and only `*` decides a method that no rule names.
            if (method !== (route.method === "*" ? "REPORT" : route.method)) continue;
            if (rule) expect(rulesOf(byRoute), `${method} ${target}`).toContain(rule.key);
            expect(known, `${method} ${target}`).toEqual(expect.arrayContaining([...rulesOf(byRoute)]));
          }
      }
    };
    await fc.assert(fc.asyncProperty(cases, check), PROPERTY);
    expect(Math.min(counts.mapped, counts.unmapped, counts.parts)).toBeGreaterThan(100);
    expect(counts.unreached).toBeGreaterThan(10);
  });
});
