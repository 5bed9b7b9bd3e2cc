/**
 * Checks that the order of the rules is total: if several rules match a request, the one that decides must be
 * the most specific by its path and by its method, or require at least what the others require. Otherwise no
 * order is right, because each order fails open for one of the rules (docs/decisions/0027-order-of-rules.md).
 */
import type { ConfigurationIssue, Report } from "../errors.ts";
import type { CompiledTable } from "./compile-rules.ts";
import type { ScopeRules } from "../scopes/scope.ts";
import { findRouteRule } from "./find-rules.ts";
import { implies } from "./implication.ts";
import { commonPatterns, covers } from "./overlap.ts";
import type { PatternSegment } from "./pattern.ts";
import { renderPattern } from "./render-pattern.ts";
import { describeRequirement } from "./describe.ts";
import { commonMethod, type CompiledRule, optionPath } from "./rule.ts";
import type { Leaf, RuleTree } from "./rule-tree.ts";
import { leavesInOrder, overlappingLeaves } from "./walk-tree.ts";

type Segments = readonly PatternSegment[];

/** Two rules that match the same requests of one method. The first one decides them. */
interface Pair {
  readonly deciding: Leaf;
  readonly other: Leaf;
  readonly method: string;
  /** What both rules match, except what a third rule decides, and what `deciding` implies. */
  readonly common: readonly Segments[];
}

/** One wrong rule can conflict with thousands of others. The first issues are enough to find it. */
const MAX_ISSUES = 20;

/** Reports pairs of rules without a right order, and HEAD rules that require less than GET. */
export function checkOrder(
  { tree, enforcedTree }: CompiledTable,
  scopeRules: ScopeRules,
  report: Report,
): void {
  const reported = new Set<string>();
  // A report-only rule must not decide what has no right order without it.
  for (const checkedTree of new Set([tree, enforcedTree]))
    for (const issue of findOrderIssues(checkedTree, scopeRules)) {
      if (reported.size === MAX_ISSUES) return;
      const text = JSON.stringify(issue);
      if (!reported.has(text)) report(issue);
      reported.add(text);
    }
}

function* findOrderIssues(tree: RuleTree, scopeRules: ScopeRules): Iterable<ConfigurationIssue> {
  const positions = new Map([...leavesInOrder(tree.root)].map((leaf, index) => [leaf, index]));
  const reportedPairs = new Set<string>();
  for (const [leaf, position] of positions) {
    const headIssue = findWeakerHead(tree, leaf, scopeRules);
    if (headIssue) yield headIssue;
    for (const other of overlappingLeaves(tree.root, leaf.segments)) {
      // Each pair once, from the path that is tried first. For the same path, the exact method decides.
      const isEarlier = (positions.get(other) ?? 0) <= position;
      if (isEarlier || other.identity === leaf.identity) continue;
      const issue = findPairIssue(tree, leaf, other, scopeRules);
      const pairKey = `${leaf.compiled.rule.key}\n${other.compiled.rule.key}`;
      if (!issue || reportedPairs.has(pairKey)) continue;
      reportedPairs.add(pairKey);
      yield issue;
    }
  }
}

function findPairIssue(
  tree: RuleTree,
  deciding: Leaf,
  other: Leaf,
  scopeRules: ScopeRules,
): ConfigurationIssue | undefined {
  const method = commonMethod(deciding.compiled, other.compiled);
  if (method === undefined || deciding.compiled === other.compiled) return undefined;
  const isInside = covers(other.segments, deciding.segments);
  if (isInside && methodRank(deciding.compiled, method) <= methodRank(other.compiled, method))
    return undefined;
  const common = commonPatterns(deciding.segments, other.segments).filter(
    (path) =>
      !hasThirdDecider(tree, method, path, [deciding, other]) && !implies(deciding, other, path, scopeRules),
  );
  if (common.length === 0) return undefined;
  return describePair({ deciding, other, method, common }, isInside);
}

function hasThirdDecider(tree: RuleTree, method: string, path: Segments, pair: readonly Leaf[]): boolean {
  // A pattern that stands for more paths than it matches doesn't show which rule decides the others.
  if (!isWritable(path, pair)) return false;
  const decider = findRouteRule(tree, method, path);
  return decider !== undefined && pair.every(({ compiled }) => compiled !== decider.compiled);
}

/** Frameworks run the GET handler for HEAD, so its rule must not require less than the rule for GET. */
function findWeakerHead(tree: RuleTree, head: Leaf, scopeRules: ScopeRules): ConfigurationIssue | undefined {
  if (head.compiled.rule.method !== "HEAD") return undefined;
  const getLeaf = findRouteRule(tree, "GET", head.segments);
  if (!getLeaf || implies(head, getLeaf, head.segments, scopeRules)) return undefined;
  return {
    code: "rule_outranked",
    path: optionPath(head.compiled.rule),
    message: `doesn't require what \`${getLeaf.compiled.rule.key}\` requires (${describeRequirement(getLeaf.compiled.rule.requirement)}), and frameworks run the GET handler for HEAD.`,
    hint: "Remove the rule: HEAD uses the rule for GET. If that rule is for a wider path, write one for GET of this path.",
  };
}

/** Describes a pair without a right order. With `isInside`, the deciding path is the narrower one. */
function describePair({ deciding, other, method, common }: Pair, isInside: boolean): ConfigurationIssue {
  const paths = describePaths(method, common);
  const { key, requirement } = deciding.compiled.rule;
  const decider = `\`${key}\` (${describeRequirement(requirement)}) would decide`;
  const isWritten = common.every((path) => isWritable(path, [deciding, other]));
  return {
    code: isInside ? "rule_outranked" : "rules_cross",
    path: optionPath(other.compiled.rule),
    message: isInside
      ? `doesn't decide ${paths}. ${decider}, because its path is narrower. But its method is wider, and a caller that it allows may not satisfy this rule.`
      : `also matches ${paths}. ${decider}, although neither path contains the other, and a caller that it allows may not satisfy this rule.`,
    hint: isWritten
      ? `Add ${paths} with what these requests require.`
      : "Change one of the two paths, or let both rules require the same.",
  };
}

const describePaths = (method: string, common: readonly Segments[]): string =>
  common.map((segments) => `\`${method} ${renderPattern({ segments, hasSlash: false })}\``).join(" and ");

/**
 * The paths that two mixed segments such as `/a-:x` and `/:y-b` have in common can't be written as one
 * pattern. In this case, a segment of the common pattern belongs to neither rule.
 */
const isWritable = (path: Segments, leaves: readonly Leaf[]): boolean =>
  path.every((segment) => leaves.some(({ segments }) => segments.includes(segment)));

/** How specific a rule's method is: 0 for the request's method, 1 for GET if that is HEAD, 2 for `*`. */
function methodRank({ rule }: CompiledRule, method: string): number {
  if (rule.method === method) return 0;
  return rule.method === "*" ? 2 : 1;
}
