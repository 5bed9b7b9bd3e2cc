/** Findings about the table alone, such as a path that is left to a wider rule that requires less. */
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import { type CheckedTable, implies } from "../../core/policy/implication.ts";
import { describeRule } from "../../core/policy/describe.ts";
import { covers } from "../../core/policy/overlap.ts";
import { namesOf } from "../../core/policy/pattern.ts";
import { scopesOf } from "../../core/policy/requirement.ts";
import type { CompiledRule, Rule } from "../../core/policy/rule.ts";
import { describeWeaker, findWeakerOverrides } from "../../core/policy/overrides.ts";
import { leavesInOrder, overlappingLeaves } from "../../core/policy/walk-tree.ts";
import { splitScope } from "../../core/scopes/scope.ts";
import { findInConditions } from "./condition-findings.ts";
import { distinctBy } from "./distinct.ts";
import type { AuditFinding } from "./report.ts";
import { CHANGING, findWiderRules, type ServedRoute } from "./wider-rules.ts";
import { classOf } from "./requirement-class.ts";

const CLASSES = ["nothing", "token", "scopes"] as const;

/** Returns how much a rule enforces: 0 for nothing, 1 for a valid token, 2 for scopes. */
export const strengthOf = ({ requirement }: CompiledRule): number => CLASSES.indexOf(classOf(requirement));

/**
 * Finds rules that look right but aren't. `routes` are those of the application; without them, it may serve
 * every path.
 */
export const findInTable = (
  table: CheckedTable,
  routes?: readonly ServedRoute[],
): readonly AuditFinding[] => [
  ...findWiderRules(table, routes),
  ...findLiteralIds(table),
  ...findUnboundScopes(table),
  ...findScopesOfItems(table),
  ...findInConditions(table),
  ...findWeakerRules(table),
  ...findWeakenedParts(table),
];

const describe = (compiled: CompiledRule, link = ""): string =>
  `\`${compiled.rule.key}\`${link} requires ${describeRule(compiled)}`;

const findWeakerRules = (table: CheckedTable): readonly AuditFinding[] =>
  findWeakerOverrides(table).map((replacement) => ({
    kind: "override_weaker",
    severity: "warning",
    rule: replacement.custom.rule,
    message: describeWeaker(replacement),
    hint: "A caller who satisfies the new rule may not satisfy the old one. If that's intended, there's nothing to do.",
  }));

/** `billing:export` satisfies `billing:invoices:export`, which may not be intended. */
function findLiteralIds({ rules }: CompiledTable): readonly AuditFinding[] {
  const all = rules.flatMap((compiled) =>
    scopesOf(compiled.requirement).map((scope) => ({ ...scope, rule: compiled.rule })),
  );
  const withIds = new Set(all.flatMap(({ template }) => template?.resource ?? []));
  const literal = all.filter(({ text, template }) => {
    const [resource = "", , ...rest] = splitScope(text);
    return !template && rest.length === 1 && !withIds.has(resource);
  });
  return distinctBy(literal, ({ text }) => text).map(({ text, rule }) => {
    const [resource, id, action] = splitScope(text);
    return {
      kind: "scope_literal_id",
      severity: "warning",
      rule,
      message: `\`${text}\` (\`${rule.key}\`) is also satisfied by \`${resource}:${action}\`: the second of three parts is an id.`,
      hint: `If \`${id}\` isn't an id, write a scope of two parts, such as \`${resource}.${id}:${action}\`.`,
    };
  });
}

/** `posts:write` creates a post, and it also satisfies `posts:<id>:write`: it deletes the posts of others. */
function findScopesOfItems({ rules }: CompiledTable): readonly AuditFinding[] {
  const all = rules.flatMap(({ rule, requirement }) =>
    scopesOf(requirement).map(({ text, template }) => ({ text, template, rule })),
  );
  const items = new Map<string, { readonly text: string; readonly rule: Rule }>();
  for (const { text, template, rule } of all)
    if (template?.parameter !== undefined && (CHANGING.includes(rule.method) || rule.method === "*"))
      items.set(`${template.resource}:${template.action}`, { text, rule });
  const covering = all.flatMap(({ text, template, rule }) => {
    const item = items.get(text);
    return item && !template && rule.method === "POST" ? [{ text, rule, item }] : [];
  });
  return distinctBy(covering, ({ text }) => text).map(({ text, rule, item }) => ({
    kind: "scope_covers_items",
    severity: "warning",
    rule,
    message: `\`${text}\` (\`${rule.key}\`) also satisfies \`${item.text}\` (\`${item.rule.key}\`) for every id.`,
    hint: `If callers shouldn't need that much, write another action here, such as \`${text.split(":")[0]}:create\`.`,
  }));
}

/** A template in a scope of a rule. */
interface UsedScope {
  readonly rule: Rule;
  readonly resource: string;
  readonly parameter: string;
  readonly action: string;
  /** The parameters of its path. */
  readonly pathParameters: ReadonlySet<string>;
  /** The text in front of the parameter: `agents` in `/agents/:id`. */
  readonly place: string;
}

/**
 * Finds a template with another parameter than the other rules of its resource: `orgs:<member>:admin` at
 * `/orgs/:org/members/:member`. Another name at the same place is the same parameter.
 */
function findUnboundScopes({ rules }: CompiledTable): readonly AuditFinding[] {
  const used = rules.flatMap(usedScopesOf);
  const uses = new Map<string, Map<string, { readonly scope: UsedScope; count: number }>>();
  for (const scope of used) {
    const ofResource =
      uses.get(scope.resource) ?? new Map<string, { readonly scope: UsedScope; count: number }>();
    const use = ofResource.get(scope.parameter) ?? { scope, count: 0 };
    use.count += 1;
    uses.set(scope.resource, ofResource.set(scope.parameter, use));
  }
  const distinct = distinctBy(
    used,
    ({ rule, resource, parameter }) => `${rule.key} ${resource} ${parameter}`,
  );
  return distinct.flatMap(({ rule, resource, parameter, action, pathParameters, place }) => {
    const ofResource = uses.get(resource);
    const ownCount = ofResource?.get(parameter)?.count ?? 0;
    const usual = [...(ofResource?.values() ?? [])].find(
      ({ scope: other, count }) =>
        other.parameter !== parameter &&
        (pathParameters.has(other.parameter) || other.place !== place) &&
        (count > ownCount || (other.place === resource && place !== resource)),
    )?.scope.parameter;
    if (usual === undefined) return [];
    const isInPath = pathParameters.has(usual);
    return [
      {
        kind: "scope_unbound",
        severity: "warning",
        rule,
        message: `\`${rule.key}\` lets <${parameter}> decide for \`${resource}\`, but other rules take the id of \`${resource}\` from <${usual}>${isInPath ? ", which this path also has" : ""}.`,
        hint: isInPath
          ? `Write \`${resource}:<${usual}>:${action}\`, if callers may only use their own.`
          : `If <${parameter}> isn't an id of \`${resource}\`, write a scope of its own resource.`,
      },
    ];
  });
}

function usedScopesOf({ rule, requirement, pattern }: CompiledRule): readonly UsedScope[] {
  const { parameters, alternatives } = pattern;
  if (parameters === "any") return [];
  return scopesOf(requirement).flatMap(({ template }) => {
    if (template?.parameter === undefined) return [];
    const { parameter } = template;
    const segments = alternatives[0]?.segments ?? [];
    const before = segments[segments.findIndex((segment) => namesOf(segment).includes(parameter)) - 1];
    const place = before?.kind === "static" ? before.text : "";
    return { rule, ...template, parameter, pathParameters: parameters, place };
  });
}

/** Finds rules that require less for a part of a base rule: `GET /v2/a` next to `GET /:version/a`. */
function findWeakenedParts(table: CheckedTable): readonly AuditFinding[] {
  const { tree, replacements } = table;
  const replacing = new Set(replacements.map(({ custom }) => custom.rule.key));
  const customs = [...leavesInOrder(tree.root)].filter(
    ({ compiled: { rule } }) => rule.source !== "default" && !replacing.has(rule.key),
  );
  return customs.flatMap((custom) => {
    const { segments, compiled } = custom;
    const requests = { method: compiled.rule.method, segments };
    const wider = [...overlappingLeaves(tree.root, segments)].find(
      (leaf) =>
        leaf.compiled.rule.source === "default" &&
        [compiled.rule.method, "*"].includes(leaf.compiled.rule.method) &&
        covers(leaf.segments, segments) &&
        !implies(custom, leaf, requests, table) &&
        implies(leaf, custom, requests, table),
    );
    if (!wider) return [];
    return [overriddenFinding(compiled, wider.compiled, "which decides this path without it")];
  });
}

const overriddenFinding = (compiled: CompiledRule, base: CompiledRule, role: string): AuditFinding => ({
  kind: "rule_overridden",
  severity: "note",
  rule: compiled.rule,
  message: `${describe(compiled)}; the base table ${describe(base, `, ${role},`)}.`,
  hint: "If that's intended, there's nothing to do.",
});
