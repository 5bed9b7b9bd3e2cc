import { type Report } from "../errors.ts";
import { type Alternative } from "./containment.ts";
import { alternativeIdentity, type Pattern } from "./pattern.ts";
import {
  type CompiledRequirement,
  compileRequirement,
  type Requirement,
  type ScopeMappings,
} from "./requirement.ts";
import { parseRouteKey } from "./route-key.ts";
import { type CompiledRule, type Rule, type RuleSource } from "./rule.ts";

/** Each route of a table, by its identity; a rule with optional groups has several. */
type Routes = Map<string, CompiledRule>;

/**
 * Compiles the default and the custom table to one. A custom rule takes the place of a default rule for each route that
 * they have in common; parameter names do not make a route another one.
 */
export function compileRules(
  defaults: ScopeMappings,
  customs: ScopeMappings,
  report: Report,
): readonly CompiledRule[] {
  const base = compileTable("defaultScopeMappings", defaults, "default", report);
  const added = compileTable("scopeMappings", customs, "custom", report);
  const replaced = new Set([...added].filter(([identity]) => base.has(identity)).map(([, rule]) => rule));
  const custom = [...new Set(added.values())].map((rule) => (replaced.has(rule) ? asOverride(rule) : rule));
  const kept = [...new Set(base.values())]
    .map((rule) => without(rule, added))
    .filter((rule) => rule !== undefined);
  const rules = [...kept, ...custom];
  reportLookalikes(rules, report);
  return rules;
}

function compileTable(
  option: "defaultScopeMappings" | "scopeMappings",
  mappings: ScopeMappings,
  source: RuleSource,
  report: Report,
): Routes {
  const routes: Routes = new Map();
  for (const [key, requirement] of Object.entries(mappings)) {
    const path = [option, key];
    const route = parseRouteKey(key, path, report);
    const compiled = route && compileRequirement(requirement, route.pattern.parameters, path, report);
    if (!compiled) continue;
    const { method, pattern } = route;
    const rule: CompiledRule = {
      rule: Object.freeze({ key, method, pattern: pattern.source, requirement: freeze(requirement), source }),
      pattern,
      requirement: compiled,
      meaning: meaningOf(requirement, compiled, pattern),
    };
    const identities = identitiesOf(rule);
    const twin = identities.map((identity) => routes.get(identity)).find((known) => known !== undefined);
    if (twin) {
      report({
        code: "route_duplicate",
        path,
        message: `is the same route as \`${twin.rule.key}\`.`,
        hint: "Keep one of the two: neither parameter names nor optional groups tell routes apart.",
      });
    }
    for (const identity of identities) routes.set(identity, rule);
  }
  return routes;
}

/**
 * Routes that differ in letter case or a trailing slash only are one route to Express and Koa: whichever rule the
 * guard took, the other one's handler might run. They must ask for the same.
 */
function reportLookalikes(rules: readonly CompiledRule[], report: Report): void {
  const seen = new Map<string, CompiledRule>();
  for (const compiled of rules) {
    const folded = identitiesOf(compiled).map((identity) => identity.toLowerCase().replace(/\/$/, ""));
    const twin = folded
      .map((one) => seen.get(one))
      .find((known) => known && known.meaning !== compiled.meaning);
    for (const one of folded) if (!seen.has(one)) seen.set(one, compiled);
    if (!twin) continue;
    report({
      code: "route_ambiguous",
      path: [
        compiled.rule.source === "default" ? "defaultScopeMappings" : "scopeMappings",
        compiled.rule.key,
      ],
      message: `differs from \`${twin.rule.key}\` only in letter case or a trailing slash, and asks for something else.`,
      hint: "Many routers take the two for one route: write the key as the other one is written, or ask for the same.",
    });
  }
}

const identitiesOf = ({ rule, pattern }: CompiledRule): readonly string[] =>
  pattern.alternatives.map((alternative) => identityOf(rule, alternative));

const identityOf = ({ method }: Rule, alternative: Alternative): string =>
  `${method} ${alternativeIdentity(alternative)}`;

/** The rule with the routes that another table does not have, or `undefined` when none is left. */
function without(compiled: CompiledRule, other: Routes): CompiledRule | undefined {
  const alternatives = compiled.pattern.alternatives.filter(
    (alternative) => !other.has(identityOf(compiled.rule, alternative)),
  );
  return alternatives.length === 0
    ? undefined
    : { ...compiled, pattern: { ...compiled.pattern, alternatives } };
}

const asOverride = (compiled: CompiledRule): CompiledRule => ({
  ...compiled,
  rule: Object.freeze({ ...compiled.rule, source: "override" }),
});

/** Two rules mean the same when they ask for the same; with templates, when their parameters stand in the same places. */
function meaningOf(requirement: Requirement, compiled: CompiledRequirement, { source }: Pattern): string {
  const asked = JSON.stringify(requirement);
  const hasTemplates =
    "scopes" in compiled &&
    compiled.scopes.some(({ parts }) => parts.some((part) => typeof part !== "string"));
  return hasTemplates ? `${asked} ${source.toLowerCase().replace(/\/$/, "")}` : asked;
}

/** The table of a running server does not change when its options object does. */
function freeze(requirement: Requirement): Requirement {
  if (typeof requirement === "string") return requirement;
  if ("filtered" in requirement) return Object.freeze({ filtered: requirement.filtered });
  if ("anyOf" in requirement) return Object.freeze({ anyOf: Object.freeze([...requirement.anyOf]) });
  return Object.freeze([...requirement]);
}
