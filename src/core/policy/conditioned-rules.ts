/** The rules of a table that have conditions, in a tree of their own: other tables search nothing. */
import type { Path } from "../request.ts";
import { collectMatching } from "./find-rules.ts";
import { divideRestrictions, type Restrictions, toRestriction, UNRESTRICTED } from "./restrictions.ts";
import type { CompiledRule } from "./rule.ts";
import { type LeafMatch, matchOf, RuleTree } from "./rule-tree.ts";

/** The rules of a table that have conditions. */
export class ConditionedRules {
  readonly #trees: readonly RuleTree[];

  /** `hiddenRules` are those that report-only rules leave enforced. */
  constructor(rules: readonly CompiledRule[], hiddenRules: readonly CompiledRule[]) {
    const conditioned = [rules, hiddenRules].map((all) => all.filter(({ conditions }) => conditions));
    this.#trees = conditioned.filter(({ length }) => length > 0).map(growTree);
  }

  /** Whether no rule has conditions. */
  get isEmpty(): boolean {
    return this.#trees.length === 0;
  }

  /** Finds those that match some reading of a path, and divides them by the rules that decide the path. */
  forPath(method: string, path: Path, deciding: readonly LeafMatch[]): Restrictions {
    if (this.isEmpty) return UNRESTRICTED;
    const leaves = this.#trees.flatMap((tree) => collectMatching(tree, method, path));
    const restrictions = leaves.flatMap((leaf) => toRestriction(matchOf(leaf, path)));
    return divideRestrictions(restrictions, deciding);
  }
}

function growTree(rules: readonly CompiledRule[]): RuleTree {
  const tree = new RuleTree();
  for (const compiled of rules)
    for (const alternative of compiled.pattern.alternatives) tree.add(compiled, alternative);
  return tree;
}
