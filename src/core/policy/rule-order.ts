/**
 * Whether the order of the rules is total: where several rules match a request, the one that decides is the
 * most specific by its path and by its method, or requires at least what the others require. Otherwise no
 * order is right: each of them fails open for one of the two rules (docs/decisions/0027-order-of-rules.md).
 */
import { type ConfigurationIssue, type Report } from "../errors.ts";
import { type CompiledTable } from "./compile-rules.ts";
import { type ScopeRules } from "../scopes/scope.ts";
import { findRouteRule } from "./find-rules.ts";
import { implies, type ImplicationRules } from "./implication.ts";
import { commonPatterns, covers } from "./overlap.ts";
import { type PatternSegment } from "./pattern.ts";
import { renderPattern } from "./render-pattern.ts";
import { describeRequirement } from "./explain.ts";
import { type CompiledRule, optionOf } from "./rule.ts";
import { type Leaf, type RuleTree } from "./rule-tree.ts";
import { leavesInOrder, overlappingLeaves } from "./walk-tree.ts";

type Segments = readonly PatternSegment[];

/** Two rules that match the same requests of one method. The first one decides them. */
interface Pair {
  readonly deciding: Leaf;
  readonly other: Leaf;
  readonly method: string;
  /** What both rules match, without what a third rule decides, and without what `deciding` implies. */
  readonly common: readonly Segments[];
}

/** One wrong rule can conflict with thousands of others. The first issues are enough to find it. */
const MAX_ISSUES = 20;

/** Reports pairs of rules without a right order, and HEAD rules that require less than GET: at most 20. */
export function checkOrder(
  { tree, enforcement }: CompiledTable,
  scopeRules: ScopeRules,
  report: Report,
): void {
  const implication = { scopeRules, isReportOnly: enforcement === "report" };
  let issues = 0;
  for (const issue of findMistakes(tree, implication)) {
    report(issue);
    issues += 1;
    if (issues === MAX_ISSUES) return;
  }
}

function* findMistakes(tree: RuleTree, implication: ImplicationRules): Iterable<ConfigurationIssue> {
  const positions = new Map([...leavesInOrder(tree.root)].map((leaf, index) => [leaf, index]));
  const reported = new Set<string>();
  for (const [leaf, position] of positions) {
    const weaker = findWeakerHead(tree, leaf, implication);
    if (weaker) yield weaker;
    for (const other of overlappingLeaves(tree.root, leaf.segments)) {
      // Each pair once, from the path that is tried first. At one path, the exact method decides.
      const isEarlier = (positions.get(other) ?? 0) <= position;
      if (isEarlier || other.identity === leaf.identity) continue;
      const issue = findMistake(tree, leaf, other, implication);
      const key = `${leaf.compiled.rule.key}\n${other.compiled.rule.key}`;
      if (!issue || reported.has(key)) continue;
      reported.add(key);
      yield issue;
    }
  }
}

function findMistake(
  tree: RuleTree,
  deciding: Leaf,
  other: Leaf,
  implication: ImplicationRules,
): ConfigurationIssue | undefined {
  const method = commonMethod(deciding.compiled, other.compiled);
  if (method === undefined || deciding.compiled === other.compiled) return undefined;
  const isInside = covers(other.segments, deciding.segments);
  if (isInside && rankOf(deciding.compiled, method) <= rankOf(other.compiled, method)) return undefined;
  const common = commonPatterns(deciding.segments, other.segments).filter((path) => {
    // A pattern that stands for more paths than it matches does not show which rule decides the others.
    const decider = isWritable(path, [deciding, other])
      ? findRouteRule(tree, method, path)?.compiled
      : undefined;
    const isThird = decider && decider !== deciding.compiled && decider !== other.compiled;
    return !isThird && !implies(deciding, other, path, implication);
  });
  if (common.length === 0) return undefined;
  const pair = { deciding, other, method, common };
  return isInside ? outranked(pair) : crossing(pair);
}

/** Frameworks run the handler of GET for HEAD, so a rule for HEAD must not require less than that of GET. */
function findWeakerHead(
  tree: RuleTree,
  head: Leaf,
  implication: ImplicationRules,
): ConfigurationIssue | undefined {
  if (head.compiled.rule.method !== "HEAD") return undefined;
  const get = findRouteRule(tree, "GET", head.segments);
  if (!get || implies(head, get, head.segments, implication)) return undefined;
  return {
    code: "rule_outranked",
    path: placeOf(head.compiled),
    message: `requires less than \`${get.compiled.rule.key}\`, and frameworks run the handler of GET for HEAD.`,
    hint: "Remove the rule: HEAD uses the rule of GET. Or require at least the same.",
  };
}

function outranked({ deciding, other, method, common }: Pair): ConfigurationIssue {
  return {
    code: "rule_outranked",
    path: placeOf(other.compiled),
    message: `does not decide ${describePaths(method, common)}. ${describeDeciding(deciding)}, because its path is narrower. But its method is wider, and a caller that it allows may not satisfy this rule.`,
    hint: suggestKeys({ deciding, other, method, common }),
  };
}

function crossing({ deciding, other, method, common }: Pair): ConfigurationIssue {
  return {
    code: "rules_cross",
    path: placeOf(other.compiled),
    message: `also matches ${describePaths(method, common)}. ${describeDeciding(deciding)}, although neither path contains the other, and a caller that it allows may not satisfy this rule.`,
    hint: suggestKeys({ deciding, other, method, common }),
  };
}

const describeDeciding = ({ compiled: { rule } }: Leaf): string =>
  `\`${rule.key}\` (${describeRequirement(rule.requirement)}) would decide`;

const describePaths = (method: string, common: readonly Segments[]): string =>
  common.map((path) => `\`${keyOf(method, path)}\``).join(" and ");

/**
 * What two mixed segments such as `/a-:x` and `/:y-b` have in common cannot be written as one pattern. Then a
 * segment of the common pattern belongs to none of the rules.
 */
const isWritable = (path: Segments, leaves: readonly Leaf[]): boolean =>
  path.every((segment) => leaves.some(({ segments }) => segments.includes(segment)));

function suggestKeys({ deciding, other, method, common }: Pair): string {
  return common.every((path) => isWritable(path, [deciding, other]))
    ? `Add ${describePaths(method, common)} with what these requests require.`
    : "Change one of the two paths, or let both rules require the same.";
}

const keyOf = (method: string, segments: Segments): string =>
  `${method} ${renderPattern({ segments, hasSlash: false })}`;

const placeOf = ({ rule }: CompiledRule): ConfigurationIssue["path"] => [optionOf(rule.source), rule.key];

/** Returns the most specific method that both rules apply to; `undefined` if there is none. */
function commonMethod({ rule: first }: CompiledRule, { rule: second }: CompiledRule): string | undefined {
  if (first.method === second.method || second.method === "*") return first.method;
  if (first.method === "*") return second.method;
  const methods = [first.method, second.method];
  return methods.includes("HEAD") && methods.includes("GET") ? "HEAD" : undefined;
}

/** How specific the method of a rule is: 0 for the method of a request, 1 for GET of HEAD, 2 for `*`. */
function rankOf({ rule }: CompiledRule, method: string): number {
  if (rule.method === method) return 0;
  return rule.method === "*" ? 2 : 1;
}
