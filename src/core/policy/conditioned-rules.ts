/** The rules with conditions have their own tree, so that tables without conditions search nothing. */
import type { Path } from "../request.ts";
import { collectMatching } from "./find-rules.ts";
import { divideRestrictions, lookUpOnce, type Restrictions, UNRESTRICTED } from "./restrictions.ts";
import { type CompiledRule, type Restriction, toRestriction } from "./rule.ts";
import { type LeafMatch, matchOf, RuleTree } from "./rule-tree.ts";

/** The rules of a table that have conditions. */
export class ConditionedRules {
  readonly #trees: readonly RuleTree[];

  /** `enforcedRules` is the table without its report-only rules. Its conditions apply as well. */
  constructor(rules: readonly CompiledRule[], enforcedRules: readonly CompiledRule[]) {
    const tables = rules === enforcedRules ? [rules] : [rules, enforcedRules];
    const conditioned = tables.map((table) => table.filter(({ conditions }) => conditions));
    this.#trees = conditioned.filter(({ length }) => length > 0).map(growTree);
  }

  /** Whether no rule has conditions. */
  get isEmpty(): boolean {
    return this.#trees.length === 0;
  }

  /** Finds the rules that match any reading of a path, and divides them by the rules that decide it. */
  forPath(method: string, path: Path, deciding: readonly LeafMatch[]): Restrictions {
    return this.isEmpty ? UNRESTRICTED : lookUpOnce(() => this.#lookUp(method, path, deciding));
  }

  #lookUp(method: string, path: Path, deciding: readonly LeafMatch[]): ReturnType<Restrictions> {
    // Most rules are in both tables.
    const byRule = new Map<string, Restriction>();
    for (const tree of this.#trees)
      for (const leaf of collectMatching(tree, method, path)) {
        const { rule, isReport } = leaf.compiled;
        const [restriction] = toRestriction(matchOf(leaf, path), path);
        if (restriction) byRule.set(`${rule.key} ${isReport}`, restriction);
      }
    return divideRestrictions([...byRule.values()], deciding);
  }
}

function growTree(rules: readonly CompiledRule[]): RuleTree {
  const tree = new RuleTree();
  for (const compiled of rules)
    for (const alternative of compiled.pattern.alternatives) tree.add(compiled, alternative);
  return tree;
}
