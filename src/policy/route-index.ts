import { decodeSegment, type PathSegments } from "../request.ts";
import { createMixedMatcher } from "./mixed-segment.ts";
import { type PatternSegment, segmentIdentity } from "./pattern.ts";
import { type CompiledRule, methodsAsked, type RuleMatch } from "./rule.ts";
import { SegmentTrie, type TrieMatch, type TrieStep } from "./segment-trie.ts";

/** A rule that was found, and whether every router would capture the same parameters. */
export interface IndexMatch extends RuleMatch {
  readonly isCertain: boolean;
}

interface Leaf {
  readonly compiled: CompiledRule;
  /** The parameter names of this rule, in the order of the captures. */
  readonly names: readonly string[];
}

/** The rules of a table: a trie for each method. Paths are compared exactly as they are spelled. */
export class RouteIndex {
  readonly #tries = new Map<string, SegmentTrie<Leaf>>();

  constructor(rules: readonly CompiledRule[]) {
    for (const compiled of rules) {
      const { method } = compiled.rule;
      const trie = this.#tries.get(method) ?? new SegmentTrie<Leaf>();
      this.#tries.set(method, trie);
      for (const segments of compiled.pattern.alternatives) {
        const names = segments.flatMap(parameterNames);
        trie.insert(segments.map(toStep), { compiled, names });
      }
    }
  }

  /**
   * The narrowest rule for a path: of the exact method first, then of every method. `compared` are the segments in the
   * spelling that is looked for, `path` as the client spelled them.
   */
  find(method: string, compared: PathSegments, path: PathSegments = compared): IndexMatch | undefined {
    for (const asked of methodsAsked(method)) {
      const found = this.#tries.get(asked)?.find(compared, path);
      if (found) return toIndexMatch(found);
    }
    return undefined;
  }
}

export function toStep(segment: PatternSegment): TrieStep {
  switch (segment.kind) {
    case "static":
      return { kind: "static", text: segment.text };
    case "mixed":
      return { kind: "mixed", identity: segmentIdentity(segment), match: createMixedMatcher(segment.parts) };
    case "parameter":
    case "wildcard":
      return { kind: segment.kind };
  }
}

function parameterNames(segment: PatternSegment): readonly string[] {
  if (segment.kind === "static") return [];
  if (segment.kind !== "mixed") return [segment.name];
  return segment.parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]));
}

function toIndexMatch({ leaf, captures, isCertain }: TrieMatch<Leaf>): IndexMatch {
  return {
    compiled: leaf.compiled,
    isCertain,
    parameter(name) {
      const captured = captures[leaf.names.indexOf(name)];
      return captured === undefined ? "" : (decodeSegment(captured) ?? "");
    },
  };
}
