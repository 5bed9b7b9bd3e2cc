import { decodeSegment, type PathReading, type PathSegments } from "../request.ts";
import { mixedSegmentMatcher, type PatternSegment, segmentIdentity } from "./pattern.ts";
import { type CompiledRule, methodsAsked, type RuleMatch } from "./rule.ts";
import { SegmentTrie, type TrieMatch, type TrieStep } from "./segment-trie.ts";

/** A path reading that may also take `%61` for `a` before it compares. */
export interface IndexReading extends PathReading {
  readonly decode: boolean;
}

interface Leaf {
  readonly compiled: CompiledRule;
  /** The parameter names of this rule, in the order of the captures. */
  readonly names: readonly string[];
}

/** The rules of a table, indexed for one way to read a path: a trie for each method. */
export class RouteIndex {
  readonly #reading: IndexReading;
  readonly #tries = new Map<string, SegmentTrie<Leaf>>();

  constructor(rules: readonly CompiledRule[], reading: IndexReading) {
    this.#reading = reading;
    for (const compiled of rules) {
      const { method } = compiled.rule;
      const trie = this.#tries.get(method) ?? new SegmentTrie<Leaf>();
      this.#tries.set(method, trie);
      for (const segments of compiled.pattern.alternatives) this.#insert(trie, compiled, segments);
    }
  }

  /** The narrowest rule for a path: of the exact method first, then of every method. */
  find(method: string, path: PathSegments): RuleMatch | undefined {
    const trimmed = this.#reading.ignoreTrailingSlash && path.at(-1) === "" ? path.slice(0, -1) : path;
    const compared = trimmed.map((segment) => this.#spell(segment));
    for (const asked of methodsAsked(method)) {
      const found = this.#tries.get(asked)?.find(compared, trimmed);
      if (found) return toRuleMatch(found);
    }
    return undefined;
  }

  #insert(trie: SegmentTrie<Leaf>, compiled: CompiledRule, segments: readonly PatternSegment[]): void {
    const names: string[] = [];
    const steps: TrieStep[] = [];
    for (const segment of segments) {
      // A trailing slash is an empty static segment: a reading that ignores it in paths ignores it in patterns.
      if (this.#reading.ignoreTrailingSlash && segment.kind === "static" && segment.text === "") continue;
      steps.push(this.#toStep(segment, names));
    }
    trie.insert(steps, { compiled, names });
  }

  #toStep(segment: PatternSegment, names: string[]): TrieStep {
    switch (segment.kind) {
      case "static":
        return { kind: "static", text: this.#spell(segment.text) };
      case "mixed": {
        const { regexp, names: own } = mixedSegmentMatcher(segment.parts, this.#reading.ignoreCase);
        names.push(...own);
        return { kind: "mixed", identity: this.#spell(segmentIdentity(segment)), regexp };
      }
      case "parameter":
      case "wildcard":
        names.push(segment.name);
        return { kind: segment.kind };
    }
  }

  #spell(segment: string): string {
    const text = this.#reading.decode ? (decodeSegment(segment) ?? segment) : segment;
    return this.#reading.ignoreCase ? text.toLowerCase() : text;
  }
}

function toRuleMatch({ leaf, captures }: TrieMatch<Leaf>): RuleMatch {
  return {
    compiled: leaf.compiled,
    parameter(name) {
      const captured = captures[leaf.names.indexOf(name)];
      return captured === undefined ? "" : (decodeSegment(captured) ?? "");
    },
  };
}
