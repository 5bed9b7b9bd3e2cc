/** Findings about conditions: a forgotten tenant check, or an exception that is wider than intended. */
import { findRouteRules } from "../../core/policy/find-rules.ts";
import { type CheckedTable, implies } from "../../core/policy/implication.ts";
import { isTenantSource } from "../../core/token/claim-values.ts";
import { covers } from "../../core/policy/overlap.ts";
import { identityOf, namesOf, type PatternSegment } from "../../core/policy/pattern.ts";
import { scopesOf } from "../../core/policy/requirement.ts";
import { isForSomeIds } from "../../core/scopes/required-scope.ts";
import { appliesTo, commonMethod, type CompiledRule, ruleIdentity } from "../../core/policy/rule.ts";
import type { Leaf } from "../../core/policy/rule-tree.ts";
import { leavesInOrder } from "../../core/policy/walk-tree.ts";
import { distinctBy } from "./distinct.ts";
import type { AuditFinding } from "./report.ts";
import { CHANGING } from "./wider-rules.ts";
import { classOf } from "./requirement-class.ts";

type Segments = readonly PatternSegment[];

/** A rule whose `where` compares a parameter with a claim, and one of its paths. */
interface Binding {
  readonly compiled: CompiledRule;
  readonly segments: Segments;
  readonly name: string;
  readonly index: number;
}

/** Finds conditions that are missing, that no caller meets, or that have a wide exception. */
export function findInConditions(table: CheckedTable): readonly AuditFinding[] {
  const bindings = table.rules.flatMap(bindingsOf);
  const leaves = [...leavesInOrder(table.tree.root)];
  // Rules that need no token are written on purpose.
  const closed = leaves.filter(({ compiled }) => classOf(compiled.requirement) !== "nothing");
  return [
    ...closed.flatMap((leaf) => findUnboundParameters(table, leaf, bindings)),
    ...closed.flatMap((leaf) => findFixedTexts(table, leaf, bindings)),
    ...closed.flatMap((leaf) => findUnboundLists(leaf, bindings)),
    ...findUnfilteredCollections(table, bindings),
    ...table.rules.flatMap((compiled) => findWideExceptions(compiled, leaves, bindings)),
    ...findNeedlessConditions(leaves),
    ...findClaimSpellings(table.rules),
  ];
}

function bindingsOf(compiled: CompiledRule): readonly Binding[] {
  const names = (compiled.conditions?.all ?? []).flatMap(({ boundParameters = [] }) => boundParameters);
  return compiled.pattern.alternatives.flatMap(({ segments }) =>
    names.flatMap((name) => {
      const index = segments.findIndex((segment) => segment.kind === "parameter" && segment.name === name);
      return index < 0 ? [] : { compiled, segments, name, index };
    }),
  );
}

const exempts = ({ conditions }: CompiledRule, { compiled, identity }: Leaf): boolean =>
  conditions?.except.has(ruleIdentity(compiled.rule.method, identity)) === true;

/** Returns whether a binding applies to all paths of a rule, without an exception for it. */
const restricts = ({ compiled, segments }: Binding, leaf: Leaf): boolean =>
  appliesTo(compiled.rule, leaf.compiled.rule.method) &&
  !exempts(compiled, leaf) &&
  covers(segments, leaf.segments);

/** Returns whether every caller of a rule has the scopes that lift a binding. */
function mayCross(table: CheckedTable, { compiled, segments }: Binding, leaf: Leaf): boolean {
  const { scopes = [], methods } = compiled.conditions?.unless ?? {};
  const { method } = leaf.compiled.rule;
  if (scopes.length === 0 || methods?.some((each) => appliesTo({ method: each }, method)) === false)
    return false;
  const unless = { compiled: { ...compiled, requirement: { kind: "allOf", scopes } as const }, segments };
  return implies(leaf, unless, { method, segments: leaf.segments }, table);
}

/** Returns whether callers need a scope that contains the parameter, so that their token limits its value. */
function isInScopes({ compiled: { requirement } }: Leaf, name: string): boolean {
  if (requirement.kind !== "allOf" && requirement.kind !== "anyOf") return false;
  const names = requirement.scopes.map(({ template }) => template?.parameter);
  return requirement.kind === "allOf" ? names.includes(name) : names.every((each) => each === name);
}

/** The fixed text in front of a segment; empty if there is none. */
function textBefore(segments: Segments, index: number): string {
  const segment = segments[index - 1];
  return segment?.kind === "static" ? segment.text : "";
}

/** Finds a forgotten tenant check: other rules bind the parameter behind this text, but none does here. */
function findUnboundParameters(
  table: CheckedTable,
  leaf: Leaf,
  bindings: readonly Binding[],
): readonly AuditFinding[] {
  const { segments, compiled } = leaf;
  const [place] = bindings.flatMap((binding) => {
    const index = segments.findIndex(
      (segment, position) =>
        segment.kind === "parameter" &&
        segment.name === binding.name &&
        textBefore(segments, position) === textBefore(binding.segments, binding.index),
    );
    const isBound = bindings.some((other) => other.index === index && restricts(other, leaf));
    const isMeant =
      exempts(binding.compiled, leaf) || isInScopes(leaf, binding.name) || mayCross(table, binding, leaf);
    return index < 0 || isBound || isMeant ? [] : binding;
  });
  if (!place) return [];
  return [
    {
      kind: "where_missing",
      severity: "warning",
      rule: compiled.rule,
      message: `\`${compiled.rule.key}\` doesn't compare <${place.name}> with a claim, but \`${place.compiled.rule.key}\` does.`,
      hint: `Add \`where\` here, or on a path that contains both. If any caller may choose it here, give the parameter another name.`,
    },
  ];
}

/** `GET /users/me` matches `/users/:id`, whose `where` compares `me` with a claim. */
function findFixedTexts(
  table: CheckedTable,
  leaf: Leaf,
  bindings: readonly Binding[],
): readonly AuditFinding[] {
  const binding = bindings.find(
    (each) =>
      leaf.segments[each.index]?.kind === "static" && restricts(each, leaf) && !mayCross(table, each, leaf),
  );
  const segment = leaf.segments[binding?.index ?? -1];
  if (!binding || segment?.kind !== "static") return [];
  const { rule } = leaf.compiled;
  const { key } = binding.compiled.rule;
  return [
    {
      kind: "where_fixed_text",
      severity: "warning",
      rule,
      message: `\`${rule.key}\` has the text \`${segment.text}\` where \`${key}\` compares <${binding.name}> with a claim: callers whose claim isn't \`${segment.text}\` are refused.`,
      hint: `If the text isn't an id, add except: [${JSON.stringify(rule.key)}] to \`${key}\`.`,
    },
  ];
}

/**
 * Finds `<any>` below a parameter that nothing compares with the caller: at `/workspaces/:id/members`, a
 * caller with one workspace lists the members of another.
 */
function findUnboundLists(leaf: Leaf, bindings: readonly Binding[]): readonly AuditFinding[] {
  const { rule, requirement } = leaf.compiled;
  const template = scopesOf(requirement).find(isForSomeIds)?.template;
  if (!template) return [];
  const isBound = (index: number): boolean =>
    bindings.some((binding) => binding.index === index && restricts(binding, leaf));
  // Of alternatives, `<any>` alone is enough.
  const isCompared = (name: string): boolean => requirement.kind === "allOf" && isInScopes(leaf, name);
  const unbound = leaf.segments.flatMap((segment, index) =>
    namesOf(segment).filter((name) => !isCompared(name) && !isBound(index)),
  )[0];
  if (unbound === undefined) return [];
  const { resource, action } = template;
  return [
    {
      kind: "scope_unbound",
      severity: "warning",
      rule,
      message: `\`${rule.key}\` lets any id decide for \`${resource}\`, and nothing compares <${unbound}> with the caller: a caller with one id can use every path.`,
      hint: `Write \`${resource}:<${unbound}>:${action}\`, or compare <${unbound}> with a claim in \`where\`.`,
    },
  ];
}

/** `GET /orgs` lists what `GET /orgs/:org` only shows to its tenant. */
function findUnfilteredCollections(
  { tree }: CheckedTable,
  bindings: readonly Binding[],
): readonly AuditFinding[] {
  const unfiltered = bindings.flatMap(({ compiled, segments, index }) => {
    const collection = segments.slice(0, index);
    const leaf = index > 0 ? findRouteRules(tree, "GET", collection)[0] : undefined;
    if (leaf?.identity !== identityOf(collection)) return [];
    const { rule, requirement } = leaf.compiled;
    const scopes = scopesOf(requirement);
    const isFiltered = requirement.kind === "allOf" ? scopes.some(isForSomeIds) : scopes.every(isForSomeIds);
    return isFiltered || classOf(requirement) === "nothing" ? [] : [{ rule, item: compiled.rule }];
  });
  return distinctBy(unfiltered, ({ rule }) => rule.key).map(({ rule, item }) => ({
    kind: "collection_unfiltered",
    severity: "note",
    rule,
    message: `\`${rule.key}\` lists what \`${item.key}\` shows only to callers with the right claim.`,
    hint: "Let the handler filter its list by principal.values({ claim }). The table can't see what it returns.",
  }));
}

/** An exception for a wildcard also holds for rules that are added later. */
function findWideExceptions(
  compiled: CompiledRule,
  leaves: readonly Leaf[],
  allBindings: readonly Binding[],
): readonly AuditFinding[] {
  const { rule } = compiled;
  const bindings = allBindings.filter((binding) => binding.compiled === compiled);
  // A text in the place of each compared parameter: there's nothing to compare.
  const hasFixedTexts = ({ segments }: Leaf): boolean =>
    bindings.length > 0 && bindings.every(({ index }) => segments[index]?.kind === "static");
  const exempt = compiled.conditions ? leaves.filter((leaf) => exempts(compiled, leaf)) : [];
  const wide = new Set(
    exempt.flatMap((leaf) => {
      const { key, method } = leaf.compiled.rule;
      return key.includes("*") || (CHANGING.includes(method) && !hasFixedTexts(leaf)) ? key : [];
    }),
  );
  if (wide.size === 0) return [];
  const keys = [...wide].map((key) => `\`${key}\``).join(", ");
  return [
    {
      kind: "exception_wide",
      severity: "warning",
      rule,
      message: `the conditions of \`${rule.key}\` don't apply to ${keys}: an exception with a wildcard, or for a method that changes something.`,
      hint: "List single rules for GET in `except`. If only some callers may ignore `where`, `actors` and `clients`, write `unless`.",
    },
  ];
}

/** `unless` with scopes that every rule below requires anyway: the conditions restrict nobody. */
function findNeedlessConditions(leaves: readonly Leaf[]): readonly AuditFinding[] {
  const isNeedless = ({ compiled }: Leaf): boolean => {
    const { scopes = [], methods } = compiled.conditions?.unless ?? {};
    const isRequired = ({ requirement }: CompiledRule): boolean =>
      requirement.kind === "allOf" &&
      scopes.every(({ text }) => requirement.scopes.some((required) => required.text === text));
    if (scopes.length === 0 || methods || !isRequired(compiled)) return false;
    const restricted = leaves.filter(
      (leaf) =>
        commonMethod(compiled, leaf.compiled) !== undefined &&
        !exempts(compiled, leaf) &&
        compiled.pattern.alternatives.some(({ segments }) => covers(segments, leaf.segments)),
    );
    return restricted.every((leaf) => isRequired(leaf.compiled));
  };
  const liftedRules = leaves.filter(isNeedless).map(({ compiled }) => compiled.rule);
  return [...new Set(liftedRules)].map((rule) => ({
    kind: "exception_wide",
    severity: "warning",
    rule,
    message: `every caller of \`${rule.key}\` has the scopes of its \`unless\`, so its \`where\`, \`actors\` and \`clients\` never apply.`,
    hint: "Write in `unless` only scopes that few callers have.",
  }));
}

/** `org_id` in one rule and `orgId` in another: one of the two is probably missing in every token. */
function findClaimSpellings(rules: readonly CompiledRule[]): readonly AuditFinding[] {
  const spellings = new Map<string, string>();
  const claims = rules.flatMap(({ rule }) =>
    Object.entries(rule.conditions?.where ?? {}).flatMap(([parameter, sources]) =>
      [sources].flat().flatMap((source) => {
        if (isTenantSource(source)) return [];
        const { claim, issuer } = source;
        return { rule, parameter, claim: [claim].flat().join("."), issuer };
      }),
    ),
  );
  const differing = claims.flatMap(({ rule, parameter, claim, issuer }) => {
    const id = JSON.stringify([parameter, issuer, claim.replaceAll(/[_-]/g, "").toLowerCase()]);
    const earlier = spellings.get(id) ?? claim;
    spellings.set(id, earlier);
    return earlier === claim ? [] : [{ rule, parameter, claim, earlier, id }];
  });
  return distinctBy(differing, ({ id }) => id).map(({ rule, parameter, claim, earlier }) => ({
    kind: "claim_spelling",
    severity: "warning",
    rule,
    message: `\`${rule.key}\` compares <${parameter}> with the claim \`${claim}\`, but another rule writes \`${earlier}\`.`,
    hint: "Write the claim as your issuer does: without it, every caller is refused.",
  }));
}
