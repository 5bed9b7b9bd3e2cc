import type { OperationKey } from "../../core/policy/operation-key.ts";
import { appliesTo, type CompiledRule } from "../../core/policy/rule.ts";
import { RuleTree, type TreeNode } from "../../core/policy/rule-tree.ts";
import { overlappingLeaves } from "../../core/policy/walk-tree.ts";

/** Finds the rules that may match some requests of another rule, without comparing each pair of rules. */
export class MeetingRules {
  readonly #treesByMethod = new Map<string, RuleTree>();
  readonly #operationsByStart = new Map<string, CompiledRule[]>();
  /** Sorted, so that the texts with a common beginning are next to each other. */
  readonly #starts: readonly string[];
  readonly #places = new Map<CompiledRule, number>();

  constructor(rules: readonly CompiledRule[]) {
    for (const [place, compiled] of rules.entries()) {
      const { method } = compiled.rule;
      const { operation, alternatives } = compiled.pattern;
      this.#places.set(compiled, place);
      if (operation) {
        const start = startOf(operation);
        const sameStart = this.#operationsByStart.get(start) ?? [];
        sameStart.push(compiled);
        this.#operationsByStart.set(start, sameStart);
      }
      const tree = this.#treesByMethod.get(method) ?? new RuleTree();
      this.#treesByMethod.set(method, tree);
      for (const alternative of alternatives) tree.add(compiled, alternative);
    }
    this.#starts = [...this.#operationsByStart.keys()].sort();
  }

  /** Returns these rules in the order of the table, except those below nodes that `isSettled` names. */
  find(compiled: CompiledRule, isSettled?: (node: TreeNode) => boolean): readonly CompiledRule[] {
    const meeting = new Set(this.#findOperations(compiled));
    for (const [method, tree] of this.#treesByMethod) {
      if (!appliesTo({ method }, compiled.rule.method) && !appliesTo(compiled.rule, method)) continue;
      for (const { segments } of compiled.pattern.alternatives)
        for (const leaf of overlappingLeaves(tree.root, segments, isSettled)) meeting.add(leaf.compiled);
    }
    const placeOf = (other: CompiledRule): number => this.#places.get(other) ?? 0;
    return [...meeting].sort((a, b) => placeOf(a) - placeOf(b));
  }

  /** Of two operations that meet, one matches every name of the other, so both names begin alike. */
  #findOperations({ pattern: { operation } }: CompiledRule): readonly CompiledRule[] {
    if (!operation) return [];
    const start = startOf(operation);
    const starts: string[] = [];
    for (let length = 0; length < start.length; length += 1) starts.push(start.slice(0, length));
    for (let index = indexOf(start, this.#starts); this.#starts[index]?.startsWith(start); index += 1)
      starts.push(this.#starts[index] ?? "");
    return starts.flatMap((each) => this.#operationsByStart.get(each) ?? []);
  }
}

/**
 * Returns what all names of an operation begin with, wherever it's called: the text before `*`, or before its
 * first variable.
 */
const startOf = ({ identity }: OperationKey): string =>
  identity.replace(/^\/\S* /, "").split(/[*\uE000-\uE0FF]/, 1)[0] ?? "";

/** Returns where a text is, or would be, in a sorted array. */
function indexOf(text: string, sorted: readonly string[]): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? "") < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
