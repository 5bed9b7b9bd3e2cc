/**
 * Checks that the order of the rules is total: if several rules match a request, the one that decides must be
 * the most specific by its path and by its method, or require at least what the others require. Otherwise no
 * order is right, because each order fails open for one of the rules (docs/decisions/0027-order-of-rules.md).
 */
import type { ConfigurationIssue, Report } from "../errors.ts";
import { findRouteRules } from "./find-rules.ts";
import { type CheckedTable, implies } from "./implication.ts";
import { commonPatterns, covers } from "./overlap.ts";
import { identityOf, namesOf, type PatternSegment, segmentIdentity } from "./pattern.ts";
import { renderPattern } from "./render-pattern.ts";
import { describeRequirement } from "./describe.ts";
import { commonMethod, type CompiledRule, optionPath } from "./rule.ts";
import type { Leaf, TreeNode } from "./rule-tree.ts";
import { laterLeaves, leavesInOrder, overlappingLeaves } from "./walk-tree.ts";

type Segments = readonly PatternSegment[];

/** Two rules that match the same paths of one method. The first one decides them. */
interface Pair {
  readonly deciding: Leaf;
  readonly other: Leaf;
  readonly method: string;
  readonly common: Segments;
}

/** One wrong rule can conflict with thousands of others. The first issues are enough to find it. */
const MAX_ISSUES = 20;

/** Reports pairs of rules without a right order, and HEAD rules that require less than GET. */
export function checkOrder(table: CheckedTable, report: Report): void {
  const reportedTexts = new Set<string>();
  for (const issue of findOrderIssues(table)) {
    if (reportedTexts.size === MAX_ISSUES) return;
    const text = JSON.stringify(issue);
    if (!reportedTexts.has(text)) report(issue);
    reportedTexts.add(text);
  }
}

function* findOrderIssues(table: CheckedTable): Iterable<ConfigurationIssue> {
  const reportedPairs = new Set<string>();
  const samples = new Map<TreeNode, readonly Leaf[]>();
  const apart = new Map<TreeNode, Map<string, boolean>>();
  for (const leaf of leavesInOrder(table.tree.root)) {
    const headIssue = findWeakerHead(table, leaf);
    if (headIssue) yield headIssue;
    const requests = { method: leaf.compiled.rule.method, segments: leaf.segments };
    const isSettled = (node: TreeNode, rest: Segments): boolean =>
      isApart(node, rest, apart) ||
      samplesBelow(node, samples).every((sample) => implies(leaf, sample, requests, table));
    for (const other of laterLeaves(table.tree.root, leaf.segments, isSettled)) {
      const issue = findPairIssue(table, leaf, other);
      const pairKey = `${leaf.compiled.rule.key}\n${other.compiled.rule.key}`;
      if (!issue || reportedPairs.has(pairKey)) continue;
      reportedPairs.add(pairKey);
      yield issue;
    }
  }
}

/** Returns whether the rules below a node have no path in common with the rest of a pattern. */
function isApart(
  node: TreeNode,
  rest: Segments,
  resultsByNode: Map<TreeNode, Map<string, boolean>>,
): boolean {
  const results = resultsByNode.get(node) ?? new Map<string, boolean>();
  resultsByNode.set(node, results);
  const identity = identityOf(rest);
  const result =
    results.get(identity) ?? overlappingLeaves(node, rest)[Symbol.iterator]().next().done === true;
  results.set(identity, result);
  return result;
}

/**
 * Returns a rule for each requirement below a node, so that thousands of rules that require the same aren't
 * compared one by one. A requirement with a parameter is the same only for the same part of the path.
 */
function samplesBelow(node: TreeNode, samplesByNode: Map<TreeNode, readonly Leaf[]>): readonly Leaf[] {
  const earlier = samplesByNode.get(node);
  if (earlier) return earlier;
  const samples = new Map<string, Leaf>();
  for (const leaf of leavesInOrder(node)) {
    const places = leaf.templates.map((name) =>
      leaf.segments.map((segment) => namesOf(segment).includes(name) && segmentIdentity(segment)),
    );
    samples.set(JSON.stringify([leaf.compiled.rule.requirement, places]), leaf);
  }
  const result = [...samples.values()];
  samplesByNode.set(node, result);
  return result;
}

function findPairIssue(table: CheckedTable, deciding: Leaf, other: Leaf): ConfigurationIssue | undefined {
  const method = commonMethod(deciding.compiled, other.compiled);
  if (method === undefined || deciding.compiled === other.compiled) return undefined;
  const isInside = covers(other.segments, deciding.segments);
  if (isInside && methodRank(deciding.compiled, method) <= methodRank(other.compiled, method))
    return undefined;
  // The paths that two rules have in common are always one pattern.
  const [segments] = commonPatterns(deciding.segments, other.segments);
  if (!segments) return undefined;
  const decider = findRouteRules(table.tree, method, segments)[0]?.compiled;
  const isDecidedByThird = decider && decider !== deciding.compiled && decider !== other.compiled;
  if (isDecidedByThird || implies(deciding, other, { method, segments }, table)) return undefined;
  return describePair({ deciding, other, method, common: segments }, isInside);
}

/** Frameworks run the GET handler for HEAD, so its rule must not require less than the rule for GET. */
function findWeakerHead(table: CheckedTable, head: Leaf): ConfigurationIssue | undefined {
  const { segments } = head;
  const { method } = head.compiled.rule;
  if (method !== "HEAD") return undefined;
  const getLeaf = findRouteRules(table.tree, "GET", segments)[0];
  if (!getLeaf || implies(head, getLeaf, { method, segments }, table)) return undefined;
  return {
    code: "rule_outranked",
    path: optionPath(head.compiled.rule),
    message: `doesn't require what \`${getLeaf.compiled.rule.key}\` requires (${describeRequirement(getLeaf.compiled.rule.requirement)}), and frameworks run the GET handler for HEAD.`,
    hint: "Remove the rule: HEAD uses the rule for GET. If that rule is for a wider path, write one for GET of this path.",
  };
}

/** Describes a pair without a right order. With `isInside`, the deciding path is the narrower one. */
function describePair({ deciding, other, method, common }: Pair, isInside: boolean): ConfigurationIssue {
  const paths = `\`${method} ${renderPattern({ segments: common, hasSlash: false })}\``;
  const { key, requirement } = deciding.compiled.rule;
  const decider = `\`${key}\` (${describeRequirement(requirement)}) would decide`;
  return {
    code: isInside ? "rule_outranked" : "rules_cross",
    path: optionPath(other.compiled.rule),
    message: isInside
      ? `doesn't decide ${paths}. ${decider}, because its path is narrower. But its method is wider, and a caller that it allows may not satisfy this rule.`
      : `also matches ${paths}. ${decider}, although neither path contains the other, and a caller that it allows may not satisfy this rule.`,
    hint: `Add ${paths} with what these requests require.`,
  };
}

/** How specific a rule's method is: 0 for the request's method, 1 for GET if that is HEAD, 2 for `*`. */
export function methodRank({ rule }: CompiledRule, method: string): number {
  if (rule.method === method) return 0;
  return rule.method === "*" ? 2 : 1;
}
