/** Findings about the table alone, such as a path that is left to a wider rule that requires less. */
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import { implies } from "../../core/policy/implication.ts";
import { describeRule } from "../../core/policy/describe.ts";
import { covers } from "../../core/policy/overlap.ts";
import { findRouteRule } from "../../core/policy/find-rules.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { identityOf, type Pattern, type PatternSegment } from "../../core/policy/pattern.ts";
import { renderPattern } from "../../core/policy/render-pattern.ts";
import { classOf, scopesOf, VALID_TOKEN } from "../../core/policy/requirement.ts";
import { appliesTo, type CompiledRule, type Rule, ruleIdentity } from "../../core/policy/rule.ts";
import { isWeaker } from "../../core/policy/overrides.ts";
import type { ScopeRules } from "../../core/scopes/scope.ts";
import type { Leaf } from "../../core/policy/rule-tree.ts";
import { leavesInOrder, overlappingLeaves } from "../../core/policy/walk-tree.ts";
import { splitScope } from "../../core/scopes/scope.ts";
import { SERVES } from "./mounts.ts";
import type { AuditFinding } from "./report.ts";

type Segments = readonly PatternSegment[];
type Rules = readonly CompiledRule[];

/** A table that was accepted at construction. */
type CheckedTable = CompiledTable & { readonly scopeRules: ScopeRules };

/**
 * The methods that change something. POST may require less than GET: for example, to log in at a path that
 * only members may read.
 */
const CHANGING = ["POST", "PUT", "PATCH", "DELETE"];

const CLASSES = ["nothing", "token", "scopes"] as const;

/** Returns how much a rule enforces: 0 for nothing, 1 for a valid token, 2 for scopes. */
export const strengthOf = ({ requirement, isReport, beside }: CompiledRule): number =>
  CLASSES.indexOf(classOf(isReport ? (beside?.requirement ?? VALID_TOKEN) : requirement));

const strengthAt = ({ compiled, enforced }: Leaf): number =>
  Math.max(strengthOf(compiled), enforced ? strengthOf(enforced.compiled) : 0);

/** Returns whether an application may serve a method at a path. Without a list of routes, it may. */
export type Serves = (method: string, path: Segments) => boolean;

/** Finds rules that look right but aren't. Requirements are compared by class, not by their scopes. */
export function findInTable(table: CheckedTable, serves: Serves = () => true): readonly AuditFinding[] {
  const conditioned = [...table.rules, ...table.hiddenRules].filter((rule) => boundIn(rule).length > 0);
  const paths = new Map<string, Leaf[]>();
  for (const leaf of leavesInOrder(table.tree.root))
    paths.set(leaf.identity, [...(paths.get(leaf.identity) ?? []), leaf]);
  return [
    ...[...paths.values()].flatMap((leaves) => findWeakerMethods(table, leaves, serves)),
    ...[...paths.values()].flat().flatMap((leaf) => findWeakerRoot(table, leaf, serves)),
    ...findLiteralIds(table),
    ...findUnboundScopes(table),
    ...findUnboundParameters(table, conditioned),
    ...findUnfilteredCollections(table, conditioned),
    ...findWeakenedRules(table),
    ...findWeakenedParts(table),
  ];
}

/**
 * Finds a changing method that is decided by a rule that requires less than another rule for the same path.
 */
function findWeakerMethods(
  { tree }: CompiledTable,
  leaves: readonly Leaf[],
  serves: Serves,
): readonly AuditFinding[] {
  const [strongest] = leaves.toSorted((a, b) => strengthAt(b) - strengthAt(a));
  if (!strongest) return [];
  const { segments } = strongest;
  return CHANGING.flatMap((method) => {
    const decider = findRouteRule(tree, method, segments);
    const isOwn = decider?.identity === strongest.identity;
    // With the same path as the GET rule, only POST may require less: more callers may create than read, but
    // hardly ever change or remove.
    const stronger = isOwn ? findRouteRule(tree, "GET", segments) : strongest;
    if (!decider || !stronger || (isOwn && method === "POST")) return [];
    if (strengthAt(decider) >= strengthAt(stronger) || !serves(method, segments)) return [];
    const key = `${method} ${renderPattern({ segments, hasSlash: false })}`;
    return [weakerFinding("method_weaker", key, decider, stronger)];
  });
}

/** `/admin/*path` doesn't match `/admin` itself, so a wider rule may decide it. */
function findWeakerRoot({ tree }: CompiledTable, leaf: Leaf, serves: Serves): readonly AuditFinding[] {
  const { segments, compiled } = leaf;
  const root = segments.slice(0, -1);
  if (segments.at(-1)?.kind !== "wildcard") return [];
  const { method } = compiled.rule;
  const decider = findRouteRule(tree, method === "*" ? "GET" : method, root);
  const isWritten = decider?.identity === identityOf(root);
  if (!decider || isWritten || strengthAt(decider) >= strengthAt(leaf) || !serves(method, root)) return [];
  const key = `${method} ${renderPattern({ segments: root, hasSlash: false })}`;
  return [weakerFinding("root_weaker", key, decider, leaf)];
}

function weakerFinding(
  kind: "method_weaker" | "root_weaker",
  key: string,
  decider: Leaf,
  stronger: Leaf,
): AuditFinding {
  const { rule } = decider.compiled;
  const strongRule = stronger.compiled.rule;
  const subtree = `${key.replace(/\/$/, "")}{/*path}`;
  return {
    kind,
    severity: "warning",
    rule,
    rules: Object.freeze([strongRule]),
    message: `\`${key}\` itself is decided by ${describe(rule, ", which")}; ${describe(strongRule)}.`,
    hint:
      kind === "root_weaker"
        ? `Write \`${subtree}\` for a path and everything below it.`
        : `Add ${JSON.stringify(key)} with what it requires, or write \`* ${key.slice(key.indexOf(" ") + 1)}\` for every other method of the path.`,
  };
}

const describe = (rule: Rule, link = ""): string => `\`${rule.key}\`${link} requires ${describeRule(rule)}`;

/** `billing:export` satisfies `billing:invoices:export`, which may not be intended. */
function findLiteralIds({ rules, hiddenRules }: CompiledTable): readonly AuditFinding[] {
  const all = [...rules, ...hiddenRules].flatMap((compiled) =>
    scopesOf(compiled.requirement).map((scope) => ({ ...scope, rule: compiled.rule })),
  );
  const withIds = new Set(all.flatMap(({ template }) => template?.resource ?? []));
  const reported = new Set<string>();
  return all.flatMap(({ text, template, rule }) => {
    const [resource = "", id, action, ...rest] = splitScope(text);
    const isLiteral = !template && action !== undefined && rest.length === 0 && id !== "*";
    if (!isLiteral || withIds.has(resource) || reported.has(text)) return [];
    reported.add(text);
    return [
      {
        kind: "scope_literal_id",
        severity: "warning",
        rule,
        message: `\`${text}\` (\`${rule.key}\`) is also satisfied by \`${resource}:${action}\`: the second of three parts is an id.`,
        hint: `If \`${id}\` isn't an id, write a scope of two parts, such as \`${resource}.${id}:${action}\`.`,
      },
    ];
  });
}

/** A scope of a rule, and what it names. */
interface UsedScope {
  readonly rule: Rule;
  readonly resource: string;
  /** The parameter of its template; `undefined` for `{ filtered }`, which any id satisfies. */
  readonly parameter: string | undefined;
  readonly action: string;
  /** The parameters of its path. */
  readonly pathParameters: Pattern["parameters"];
}

/**
 * Finds a path with the parameter that other rules bind a resource to, whose rule lets another parameter, or
 * any id, decide: `orgs:<member>:admin` at `/orgs/:org/members/:member`.
 */
function findUnboundScopes({ rules, hiddenRules }: CompiledTable): readonly AuditFinding[] {
  const used = [...rules, ...hiddenRules].flatMap(usedScopesOf);
  const counts = new Map<string, Map<string, number>>();
  for (const { resource, parameter } of used) {
    const ofResource = counts.get(resource) ?? new Map<string, number>();
    if (parameter !== undefined) ofResource.set(parameter, (ofResource.get(parameter) ?? 0) + 1);
    counts.set(resource, ofResource);
  }
  return used.flatMap(({ rule, resource, parameter, action, pathParameters }) => {
    if (pathParameters === "any") return [];
    const ofResource = [...(counts.get(resource) ?? [])];
    const ownCount = parameter === undefined ? 0 : (counts.get(resource)?.get(parameter) ?? 0);
    const [usual] = ofResource.find(([name, count]) => pathParameters.has(name) && count > ownCount) ?? [];
    if (usual === undefined || usual === parameter) return [];
    const chosen = parameter === undefined ? "any id" : `<${parameter}>`;
    return [
      {
        kind: "scope_unbound",
        severity: "warning",
        rule,
        message: `\`${rule.key}\` lets ${chosen} decide for \`${resource}\`, but other rules take the id of \`${resource}\` from <${usual}>, which this path also has.`,
        hint: `Write \`${resource}:<${usual}>:${action}\`, if callers may only use their own.`,
      },
    ];
  });
}

function usedScopesOf({ rule, requirement, pattern }: CompiledRule): readonly UsedScope[] {
  const pathParameters = pattern.parameters;
  if (requirement.kind === "filtered") {
    const { resource, action } = requirement;
    return [{ rule, resource, parameter: undefined, action, pathParameters }];
  }
  return scopesOf(requirement).flatMap(({ template }) =>
    template ? { rule, ...template, pathParameters } : [],
  );
}

/**
 * Returns whether the conditions of a rule apply to the whole path of another rule, without an exception for
 * it.
 */
function restricts({ rule, pattern, conditions }: CompiledRule, leaf: Leaf): boolean {
  const { method } = leaf.compiled.rule;
  if (!conditions || !appliesTo(rule, method)) return false;
  if (conditions.except.has(ruleIdentity(method, leaf.identity))) return false;
  return pattern.alternatives.some(({ segments }) => covers(segments, leaf.segments));
}

export const boundIn = ({ conditions }: CompiledRule): readonly string[] =>
  (conditions?.all ?? []).flatMap(({ boundParameters = [] }) => boundParameters);

/** Returns the parameter that a rule has in the place where another rule has `name`. */
function nameAtSamePlace(name: string, { pattern }: CompiledRule, segments: Segments): string | undefined {
  const index = pattern.alternatives[0]?.segments.findIndex(
    (segment) => segment.kind === "parameter" && segment.name === name,
  );
  const segment = segments[index ?? -1];
  return segment?.kind === "parameter" ? segment.name : undefined;
}

/**
 * Finds a forgotten tenant check: other rules bind a parameter with this name to a claim, but none does here.
 */
function findUnboundParameters({ tree }: CompiledTable, conditioned: Rules): readonly AuditFinding[] {
  const bound = new Map(
    conditioned.flatMap((rule) => boundIn(rule).map((name) => [name, rule.rule] as const)),
  );
  if (bound.size === 0) return [];
  const reported = new Set<string>();
  return [...leavesInOrder(tree.root)].flatMap((leaf) => {
    const { rule } = leaf.compiled;
    const isExempt = conditioned.some(({ conditions }) =>
      conditions?.except.has(ruleIdentity(rule.method, leaf.identity)),
    );
    // Rules that need no token, and exceptions, are written on purpose.
    if (strengthOf(leaf.compiled) === 0 || isExempt) return [];
    const here = conditioned.filter((restricting) => restricts(restricting, leaf));
    const boundHere = here.flatMap((restricting) =>
      boundIn(restricting).map((name) => nameAtSamePlace(name, restricting, leaf.segments) ?? name),
    );
    const parameters = leaf.segments.flatMap((segment) => (segment.kind === "parameter" ? segment.name : []));
    return parameters.flatMap((name): readonly AuditFinding[] => {
      const elsewhere = bound.get(name);
      const key = `${rule.key} ${name}`;
      if (!elsewhere || boundHere.includes(name) || reported.has(key)) return [];
      reported.add(key);
      return [
        {
          kind: "where_missing",
          severity: "warning",
          rule,
          message: `\`${rule.key}\` doesn't compare <${name}> with a claim, but \`${elsewhere.key}\` does.`,
          hint: `Add \`where\` here, or on a path that contains both. If any caller may choose it here, give the parameter another name.`,
        },
      ];
    });
  });
}

/** `GET /orgs` lists what `GET /orgs/:org` only shows to its tenant. */
function findUnfilteredCollections({ tree }: CompiledTable, conditioned: Rules): readonly AuditFinding[] {
  const reported = new Set<string>();
  return conditioned.flatMap((item) =>
    item.pattern.alternatives.flatMap(({ segments }): readonly AuditFinding[] => {
      const index = segments.findIndex(
        (segment) => segment.kind === "parameter" && boundIn(item).includes(segment.name),
      );
      const collection = segments.slice(0, index);
      const leaf = index > 0 ? findRouteRule(tree, "GET", collection) : undefined;
      if (leaf?.identity !== identityOf(collection)) return [];
      const { rule, requirement } = leaf.compiled;
      const isChecked = requirement.kind === "filtered" || strengthOf(leaf.compiled) === 0;
      if (isChecked || reported.has(rule.key)) return [];
      reported.add(rule.key);
      return [
        {
          kind: "collection_unfiltered",
          severity: "note",
          rule,
          message: `\`${rule.key}\` lists what \`${item.rule.key}\` shows only to callers with the right claim.`,
          hint: "Let the handler filter its list by principal.values({ claim }). The table can't see what it returns.",
        },
      ];
    }),
  );
}

/** Rules that require less than the base table's rule: an auditor wants to see each of them. */
const findWeakenedRules = ({ replacements, scopeRules }: CheckedTable): readonly AuditFinding[] =>
  replacements
    .filter((replacement) => isWeaker(replacement, scopeRules))
    .map(({ custom, replaced }) => overriddenFinding(custom.rule, replaced.rule, "which it replaces"));

/** The same for a part of what a rule of the base table decides: `GET /v2/a` next to `GET /:version/a`. */
function findWeakenedParts({ tree, replacements, scopeRules }: CheckedTable): readonly AuditFinding[] {
  const replacing = new Set(replacements.map(({ custom }) => custom.rule.key));
  const customs = [...leavesInOrder(tree.root)].filter(
    ({ compiled: { rule } }) => rule.source !== "default" && !replacing.has(rule.key),
  );
  return customs.flatMap((custom) => {
    const { segments, compiled } = custom;
    const wider = [...overlappingLeaves(tree.root, segments)].find(
      (leaf) =>
        leaf.compiled.rule.source === "default" &&
        [compiled.rule.method, "*"].includes(leaf.compiled.rule.method) &&
        covers(leaf.segments, segments) &&
        !implies(custom, leaf, segments, scopeRules) &&
        implies(leaf, custom, segments, scopeRules),
    );
    if (!wider) return [];
    return [overriddenFinding(compiled.rule, wider.compiled.rule, "which decides this path without it")];
  });
}

const overriddenFinding = (rule: Rule, baseRule: Rule, role: string): AuditFinding => ({
  kind: "rule_overridden",
  severity: "note",
  rule,
  message: `${describe(rule)}; the base table ${describe(baseRule, `, ${role},`)}.`,
  hint: "If that's intended, there's nothing to do.",
});

/** Returns whether an application with these routes serves a method at a path. */
export const servesOf =
  (routes: readonly { readonly route: ListedRoute; readonly alternatives: readonly Segments[] }[]): Serves =>
  (method, path) =>
    routes.some(
      ({ route, alternatives }) =>
        ([route.method, "*"].includes(method) || route.method === "*" || route.serves === SERVES.page) &&
        alternatives.some((alternative) => covers(path, alternative)),
    );
