/** What an audit says of random tables and routes is what the server does with requests for them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Decision, type ResourceServer } from "scopegate";
import { EXACT, type Kind, kinds, PROPERTY, samplePaths, sourceOf } from "../support/policy.ts";
import { createServer } from "../support/resource-servers.ts";

interface Keyed {
  readonly method: string;
  readonly kinds: readonly Kind[];
}

const keyOf = ({ method, kinds: pattern }: Keyed): string => `${method} ${sourceOf(pattern)}`;

const keyed = fc.record({
  method: fc.constantFrom("GET", "GET", "POST", "HEAD", "OPTIONS", "*"),
  kinds: kinds(["a", "b", "mixed", "parameter", "wildcard"]).filter(({ length }) => length <= 3),
});
/** Two keys that differ in parameter names only are one route: each name is that of its place. */
const list = fc.uniqueArray(keyed, { minLength: 1, maxLength: 7, selector: keyOf });
const cases = fc.record({ table: list, routes: list });

/** Every rule lets everyone in, so that no credential stands between a request and the rule that decides it. */
const serverFor = (table: readonly Keyed[]): ResourceServer =>
  createServer({
    defaultScopeMappings: {},
    scopeMappings: Object.fromEntries(table.map((one) => [keyOf(one), "public" as const])),
  });

/** The methods of which a request reaches a route; REPORT stands for those that no rule names. */
const methodsOf = (method: string): readonly string[] => {
  if (method === "*") return ["GET", "POST", "HEAD", "OPTIONS", "REPORT"];
  return method === "GET" ? ["GET", "HEAD"] : [method];
};

const pathsOf = ({ kinds: pattern }: Keyed): readonly string[] =>
  samplePaths(pattern)
    .filter((path) => path.at(-1) !== "")
    .slice(0, 12)
    .map((path) => `/${path.join("/")}`);

const auditOf = (server: ResourceServer, routes: readonly Keyed[]) =>
  server.audit(routes.map(({ method, kinds: pattern }) => ({ method, pattern: sourceOf(pattern) })));

const ruleOf = (decision: Decision): string =>
  decision.allowed ? (decision.rule?.key ?? "none") : decision.reason;

describe("what an audit says of a route", () => {
  it("is what the server decides where the framework tells the route that it matched", async () => {
    let [mapped, unmapped] = [0, 0];
    await fc.assert(
      fc.asyncProperty(cases, async ({ table, routes }) => {
        const server = serverFor(table);
        const { routes: audited } = auditOf(server, routes);
        for (const [index, route] of routes.entries()) {
          const key = audited[index]?.rule?.key;
          if (key === undefined) unmapped += 1;
          else mapped += 1;
          // Of a route for every method the methods that no rule names are the ones that only `*` decides.
          const method = route.method === "*" ? "REPORT" : route.method;
          for (const target of pathsOf(route).slice(0, 3)) {
            const matchedPattern = sourceOf(route.kinds);
            const decision = await server.check({ method, target, matchedPattern, reading: EXACT });
            expect(ruleOf(decision), `${method} ${target}`).toBe(key ?? "route_unmapped");
          }
        }
      }),
      PROPERTY,
    );
    expect(Math.min(mapped, unmapped)).toBeGreaterThan(100);
  });

  it("names every rule that decides some request for it where the server reads the path", async () => {
    let parts = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ table, routes }) => {
        const server = serverFor(table);
        const { routes: audited } = auditOf(server, routes);
        for (const [index, route] of routes.entries()) {
          const { rule, parts: others = [] } = audited[index] ?? {};
          const told = [rule, ...others].map((one) => one?.key);
          parts += others.length;
          for (const method of methodsOf(route.method)) {
            for (const target of pathsOf(route)) {
              const decision = await server.check({ method, target, reading: EXACT });
              if (decision.allowed) expect(told, `${method} ${target}`).toContain(decision.rule?.key);
              // A route with a rule is never unmapped, whatever its path.
              else if (rule) expect(decision.reason).toBe("request_ambiguous");
            }
          }
        }
      }),
      PROPERTY,
    );
    expect(parts).toBeGreaterThan(100);
  });
});

describe("what an audit says of a rule", () => {
  it.each(["rule_unreached", "rule_shadowed"] as const)(
    "holds for every request: one that is %s decides none of the routes",
    async (kind) => {
      let count = 0;
      await fc.assert(
        fc.asyncProperty(cases, async ({ table, routes }) => {
          const server = serverFor(table);
          const idle = auditOf(server, routes).findings.flatMap((finding) =>
            finding.kind === kind ? [finding.rule.key] : [],
          );
          count += idle.length;
          if (idle.length === 0) return;
          for (const route of routes) {
            const matchedPattern = sourceOf(route.kinds);
            for (const method of methodsOf(route.method)) {
              for (const target of pathsOf(route)) {
                const byPath = await server.check({ method, target, reading: EXACT });
                const byMatch = await server.check({ method, target, matchedPattern, reading: EXACT });
                for (const decision of [byPath, byMatch])
                  expect(idle, `${method} ${target}`).not.toContain(ruleOf(decision));
              }
            }
          }
        }),
        PROPERTY,
      );
      expect(count).toBeGreaterThan(10);
    },
  );
});
