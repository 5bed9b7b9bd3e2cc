/** The table as a tree of segments. A lookup by the loosest spelling finds a segment in any spelling. */
import { hasTrailingSlash, type Path } from "../request.ts";
import type { Writable } from "../runtime/compact.ts";
import { readParameter } from "./parameters.ts";
import { type Alternative, identityOf, type PatternSegment, textBehind } from "./pattern.ts";
import { templatesOf } from "./requirement.ts";
import type { CompiledRule, RuleMatch } from "./rule.ts";
import {
  foldCase,
  loosen,
  type SegmentPart,
  type Spelled,
  type SpelledParts,
  spellParts,
} from "./segment.ts";

/** A node of the tree, for one position in a path. */
export interface TreeNode {
  readonly statics: Map<string, TextEdge>;
  /** The parameters with a text behind them, by this text in each spelling. */
  readonly endings: Map<string, TextEdge>;
  /** The lengths of these texts, the longest first. */
  endingLengths: readonly number[];
  parameter: TreeNode | undefined;
  /** The end of the patterns whose last segment is a wildcard. */
  wildcard: TreeNode | undefined;
  /** The rules of patterns that end here, by method. */
  readonly leaves: Map<string, Leaf>;
}

interface TextEdge {
  /** The text as the table spells it. */
  readonly text: string;
  readonly texts: SpelledParts;
  readonly node: TreeNode;
}

/** One rule at the end of one of its alternatives. */
export interface Leaf {
  readonly compiled: CompiledRule;
  /** The parameters that the scopes name. */
  readonly templates: readonly string[];
  /** Whether the pattern is written with a slash at its end, without one, or both. */
  withSlash: boolean;
  withoutSlash: boolean;
  readonly endsInWildcard: boolean;
  readonly segments: readonly PatternSegment[];
  /** Equal for patterns that are the same route. */
  readonly identity: string;
  /** The match that all requests share, if the rule reads nothing from the path. */
  readonly shared: readonly LeafMatch[] | undefined;
}

/** The match of a rule whose leaf a request has reached. */
export interface LeafMatch extends RuleMatch {
  /** `undefined` for an operation. */
  readonly leaf?: Leaf;
}

/** Returns the match of one rule. Its parameters are read from the path only when they are needed. */
export function matchOf(leaf: Leaf, path: Path): LeafMatch {
  const source = { path, segments: leaf.segments };
  return { compiled: leaf.compiled, leaf, source, parameter: (name) => readParameter(source, name) };
}

/** Returns whether a path ends as the pattern is written. */
export const endsAsWritten = (leaf: Leaf, path: Path): boolean =>
  hasTrailingSlash(path) ? leaf.withSlash : leaf.withoutSlash;

/**
 * Returns the rules that end at a node and apply to a method. The first one decides: the exact method comes
 * before `*`. Frameworks run the GET handler for HEAD, so for HEAD, GET also comes before `*`.
 */
export const leavesFor = ({ leaves }: TreeNode, method: string): readonly Leaf[] =>
  [leaves.get(method), method === "HEAD" ? leaves.get("GET") : undefined, leaves.get("*")].filter(
    (leaf) => leaf !== undefined,
  );

/** Returns the rule that ends at a node and decides requests of a method. */
export const leafFor = ({ leaves }: TreeNode, method: string): Leaf | undefined =>
  leaves.get(method) ?? (method === "HEAD" ? leaves.get("GET") : undefined) ?? leaves.get("*");

/**
 * Returns the parameters with a text behind them that a segment may match, the longest decoded text first. Of
 * two texts that a decoded segment ends with, one ends with the other, so the first one is the narrowest.
 */
export function endingsOf(node: TreeNode, segment: Spelled): readonly TextEdge[] {
  const texts = segment.decoded === segment.case ? [segment.case] : [segment.decoded, segment.case];
  const edges = new Set<TextEdge>();
  for (const length of node.endingLengths)
    for (const text of texts) {
      const edge = node.endings.get(text.slice(-length));
      if (edge) edges.add(edge);
    }
  return [...edges].sort((a, b) => lengthOf(b) - lengthOf(a));
}

/** Returns the length of the text behind a parameter, when it's decoded. */
export const lengthOf = ({ texts }: TextEdge): number => texts.at(-1)?.decoded.length ?? 0;

/** Returns the match of a rule in an array. It's shared if the rule reads no path. */
export const matchesOf = (leaf: Leaf, path: Path): readonly LeafMatch[] =>
  leaf.shared ?? [matchOf(leaf, path)];

/** Two spellings of one static segment at the same place in the table. */
export interface SpellingConflict {
  readonly written: string;
  readonly earlier: string;
}

export class RuleTree {
  readonly root = createNode();
  readonly #methods = new Set<string>();

  /**
   * Adds one alternative of a rule. Two rules that end at one node require the same; decisions name the rule
   * that is written only for this path.
   */
  add(compiled: CompiledRule, { segments, hasSlash }: Alternative): SpellingConflict | undefined {
    const { method } = compiled.rule;
    let node = this.root;
    let conflict: SpellingConflict | undefined;
    for (const segment of segments) {
      const step = stepInto(node, segment);
      node = step.node;
      conflict ??= step.conflict;
    }
    const earlier = node.leaves.get(method);
    const isEarlierKept = earlier && isAtLeastAsNarrow(earlier.compiled, compiled);
    const leaf = isEarlierKept ? earlier : createLeaf(compiled, segments, earlier);
    leaf[hasSlash ? "withSlash" : "withoutSlash"] = true;
    node.leaves.set(method, leaf);
    this.#methods.add(method);
    return conflict;
  }

  /** Returns the method, or `*` if the table has no rule for it: clients can invent methods. */
  ruledMethod(method: string): string {
    return method === "HEAD" || this.#methods.has(method) ? method : "*";
  }
}

/** `/docs` is narrower than `/docs{/*path}`. */
const isAtLeastAsNarrow = (earlier: CompiledRule, later: CompiledRule): boolean =>
  earlier.pattern.alternatives.length <= later.pattern.alternatives.length;

/** Creates the leaf of a rule. It also has the endings of the leaf that it replaces. */
function createLeaf(compiled: CompiledRule, segments: readonly PatternSegment[], replaced?: Leaf): Leaf {
  const templates = templatesOf(compiled.requirement);
  const leaf: Writable<Leaf> = {
    compiled,
    templates,
    withSlash: replaced?.withSlash ?? false,
    withoutSlash: replaced?.withoutSlash ?? false,
    endsInWildcard: segments.at(-1)?.kind === "wildcard",
    segments,
    identity: identityOf(segments),
    // An own property, so that a polluted prototype can't set it.
    shared: undefined,
  };
  if (templates.length === 0) leaf.shared = [{ compiled, leaf, parameter: () => "" }];
  return leaf;
}

const createNode = (): TreeNode => ({
  statics: new Map(),
  endings: new Map(),
  endingLengths: [],
  parameter: undefined,
  wildcard: undefined,
  leaves: new Map(),
});

/** Returns the node after a segment, and creates it if needed. */
function stepInto(
  node: TreeNode,
  segment: PatternSegment,
): { readonly node: TreeNode; readonly conflict?: SpellingConflict } {
  switch (segment.kind) {
    case "static": {
      const key = loosen(segment.text);
      const edge = node.statics.get(key) ?? createTextEdge(segment.text, [segment.text]);
      node.statics.set(key, edge);
      return stepAlong(edge, segment.text);
    }
    case "mixed": {
      const text = textBehind(segment);
      const [decoded, inCase] = [loosen(text), foldCase(text)];
      const edge =
        node.endings.get(decoded) ?? node.endings.get(inCase) ?? createTextEdge(text, segment.parts);
      node.endings.set(decoded, edge).set(inCase, edge);
      const lengths = new Set([...node.endingLengths, decoded.length, inCase.length]);
      node.endingLengths = [...lengths].sort((a, b) => b - a);
      return stepAlong(edge, text);
    }
    case "parameter":
      return { node: (node.parameter ??= createNode()) };
    case "wildcard":
      return { node: (node.wildcard ??= createNode()) };
  }
}

/** Returns the node after an edge, and the conflict if the edge spells the segment differently. */
const stepAlong = ({ node, text }: TextEdge, written: string): ReturnType<typeof stepInto> =>
  text === written ? { node } : { node, conflict: { written, earlier: text } };

const createTextEdge = (text: string, parts: readonly SegmentPart[]): TextEdge => ({
  text,
  texts: spellParts(parts),
  node: createNode(),
});
