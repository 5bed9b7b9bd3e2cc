/** The rules with conditions have their own tree, so that tables without conditions search nothing. */
import type { ConditionedRules, PlacedRule, Requests } from "../../core/policy/condition-language.ts";
import { identityOf } from "../../core/policy/pattern.ts";
import { joinRestrictions, lookUpOnce } from "../../core/policy/join-restrictions.ts";
import type { DividedRestrictions } from "../../core/policy/restrictions.ts";
import { type CompiledRule, type Restriction, type Rule, ruleIdentity } from "../../core/policy/rule.ts";
import { type LeafMatch, matchOf, RuleTree } from "../../core/policy/rule-tree.ts";
import type { Path } from "../../core/request.ts";
import { bindScope } from "../../core/scopes/required-scope.ts";
import { checkConditions } from "./check-conditions.ts";
import { collectCovering, collectMatching } from "./matching-rules.ts";
import { areConditionsMet, decideByConditions } from "./evaluate.ts";
import { addDeciding, divideRestrictions, toRestriction } from "./restrictions.ts";

/** Collects the rules of a table that have conditions; `undefined` if none has. */
export function collectConditioned(rules: readonly CompiledRule[]): ConditionedRules | undefined {
  const conditioned = rules.filter(({ conditions }) => conditions);
  if (conditioned.length === 0) return undefined;
  const tree = growTree(conditioned);
  return {
    check: checkConditions,
    forPath: (method, path, deciding) => lookUpOnce(() => findRestrictions(tree, method, path, deciding)),
    forOperation(matches, place, deciding) {
      const restrictions = matches.flatMap((match) => toRestriction(match, place));
      const divided = divideRestrictions(restrictions, deciding);
      return () => divided;
    },
    addRoute: (ofPath, added, ofReadings) => joinRestrictions([addDeciding(ofPath, added), ...ofReadings]),
    alsoAt: (deciding, requests, sample) =>
      placesOfAlso(tree, deciding, requests).flatMap(({ compiled, segments }) =>
        (compiled.conditions?.also.scopes ?? []).map((scope) => bindScope(scope, sample(segments)).text),
      ),
    decide: decideByConditions,
    areMet: areConditionsMet,
  };
}

/** Finds the rules that match any reading of a path, and divides them by the rules that decide it. */
function findRestrictions(
  tree: RuleTree,
  method: string,
  path: Path,
  deciding: readonly LeafMatch[],
): DividedRestrictions {
  // A rule with optional groups may match a path several times.
  const byRule = new Map<Rule, Restriction>();
  for (const leaf of collectMatching(tree, method, path)) {
    const [restriction] = toRestriction(matchOf(leaf, path), path, method);
    if (restriction) byRule.set(leaf.compiled.rule, restriction);
  }
  return divideRestrictions([...byRule.values()], deciding);
}

/** Finds the rules that match all of the requests, except those that have `deciding` as an exception. */
function placesOfAlso(
  tree: RuleTree,
  deciding: PlacedRule,
  { method, segments }: Requests,
): readonly PlacedRule[] {
  const identity = ruleIdentity(deciding.compiled.rule.method, identityOf(deciding.segments));
  // An operation is in no tree.
  return [deciding, ...collectCovering(tree, method, segments)].filter(
    ({ compiled }) => !compiled.conditions?.except.has(identity),
  );
}

function growTree(rules: readonly CompiledRule[]): RuleTree {
  const tree = new RuleTree();
  for (const compiled of rules)
    for (const alternative of compiled.pattern.alternatives) tree.add(compiled, alternative);
  return tree;
}
