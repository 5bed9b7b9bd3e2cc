import { decodeSegment } from "../path.ts";
import { readCaptures } from "./captures.ts";
import { createMixedMatcher } from "./mixed-segment.ts";
import { type PatternSegment, segmentIdentity } from "./pattern.ts";
import { type CompiledRule, methodsAsked, type RuleMatch } from "./rule.ts";
import { type Replacements, SegmentTrie, type TrieStep } from "./segment-trie.ts";

/** A rule that was found, and whether every router would capture the same parameters. */
export interface IndexMatch extends RuleMatch {
  readonly isCertain: boolean;
}

/** What is found at the end of a path: a match, or how to make it where the path gives it parameters. */
type Leaf = IndexMatch | CapturingRoute;

/** The tries that decide a method, in order. */
interface MethodTries {
  readonly method: string;
  readonly tries: readonly SegmentTrie<Leaf>[];
}

/** The rules of a table: a trie for each method. Paths are compared exactly as they are spelled. */
export class RouteIndex {
  /** The few methods of a table, compared sooner than looked up. Every other one has the tries of `*`. */
  readonly #methods: readonly MethodTries[];
  readonly #others: readonly SegmentTrie<Leaf>[];

  constructor(rules: readonly CompiledRule[]) {
    const own = new Map<string, SegmentTrie<Leaf>>();
    for (const compiled of rules) {
      const { method } = compiled.rule;
      const trie = own.get(method) ?? new SegmentTrie<Leaf>();
      own.set(method, trie);
      for (const segments of compiled.pattern.alternatives) {
        const steps = segments.map(toStep);
        trie.insert(steps, createLeaf(compiled, segments.flatMap(parameterNames), steps));
      }
    }
    for (const trie of own.values()) trie.pack();
    const triesOf = (method: string) =>
      [...new Set(methodsAsked(method))].flatMap((asked) => own.get(asked) ?? []);
    this.#methods = [...own.keys(), "HEAD"].map((method) => ({ method, tries: triesOf(method) }));
    this.#others = triesOf("*");
  }

  /**
   * The narrowest rule for a path: of the exact method first, then of every method. Segments may be compared as other texts;
   * parameters are as the client spelled them.
   */
  find(method: string, path: string, replacements?: Replacements): IndexMatch | undefined {
    for (const trie of this.#triesOf(method)) {
      const leaf = trie.find(path, replacements);
      if (leaf) return leaf instanceof CapturingRoute ? new CapturedMatch(leaf, path) : leaf;
    }
    return undefined;
  }

  #triesOf(method: string): readonly SegmentTrie<Leaf>[] {
    for (const one of this.#methods) if (one.method === method) return one.tries;
    return this.#others;
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

function createLeaf(compiled: CompiledRule, names: readonly string[], steps: readonly TrieStep[]): Leaf {
  if (names.length > 0) return new CapturingRoute(compiled, names, steps);
  return { compiled, isCertain: true, parameter: () => "" };
}

class CapturingRoute {
  readonly compiled: CompiledRule;
  readonly #hasMixed: boolean;
  readonly #names: readonly string[];
  readonly #steps: readonly TrieStep[];

  /** `names` are those of the parameters of this rule, in the order of the captures. */
  constructor(compiled: CompiledRule, names: readonly string[], steps: readonly TrieStep[]) {
    this.compiled = compiled;
    this.#hasMixed = steps.some(({ kind }) => kind === "mixed");
    this.#names = names;
    this.#steps = steps;
  }

  isCertain(path: string): boolean {
    return !this.#hasMixed || readCaptures(this.#steps, path).isCertain;
  }

  parameter(path: string, name: string): string {
    const index = this.#names.indexOf(name);
    const captured = index < 0 ? undefined : readCaptures(this.#steps, path).texts[index];
    return captured === undefined ? "" : (decodeSegment(captured) ?? "");
  }
}

/** Few routes ask for their parameters: they are read when they are asked for. */
class CapturedMatch implements IndexMatch {
  readonly compiled: CompiledRule;
  readonly isCertain: boolean;
  readonly #route: CapturingRoute;
  readonly #path: string;

  constructor(route: CapturingRoute, path: string) {
    this.compiled = route.compiled;
    this.isCertain = route.isCertain(path);
    this.#route = route;
    this.#path = path;
  }

  parameter(name: string): string {
    return this.#route.parameter(this.#path, name);
  }
}
