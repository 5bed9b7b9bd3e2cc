/** The table as a tree of segments. A lookup by the loosest spelling finds a segment in any spelling. */
import { hasTrailingSlash, type Path } from "../request.ts";
import { readParameter } from "./parameters.ts";
import { type Alternative, identityOf, type PatternSegment, segmentIdentity } from "./pattern.ts";
import { scopesOf, templatesOf } from "./requirement.ts";
import type { CompiledRule, RuleMatch } from "./rule.ts";
import { MixedEdges } from "./mixed-edges.ts";
import { loosen, type SegmentPart, type Spelled, type SpelledParts, spellParts } from "./segment.ts";

/** A node of the tree, for one position in a path. */
export interface TreeNode {
  readonly statics: Map<string, TextEdge>;
  /** Segments that mix static parts and parameters. Those with more static characters come first. */
  readonly mixed: MixedEdge[];
  /** An index of `mixed`; `undefined` until it's first needed, and after a change. */
  mixedIndex: MixedEdges<MixedEdge> | undefined;
  parameter: TreeNode | undefined;
  wildcard: WildcardEdge | undefined;
  /** The rules of patterns that end here, by method. */
  readonly leaves: Map<string, Leaf>;
}

interface TextEdge {
  /** The segment as the table spells it. */
  readonly text: string;
  readonly texts: SpelledParts;
  readonly node: TreeNode;
}

interface MixedEdge extends TextEdge {
  readonly identity: string;
  readonly parts: readonly SegmentPart[];
}

interface WildcardEdge {
  readonly node: TreeNode;
  /** For patterns with a wildcard: the numbers of segments after it, the largest first. */
  lengths: readonly number[];
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
  /** For a report-only rule: the rule that decides without it, if that has scopes. */
  enforced: Leaf | undefined;
  /** The match that all requests share, if the rule reads nothing from the path. */
  shared: readonly LeafMatch[] | undefined;
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

/** Returns the mixed segments of a node that a segment of a path may match, the narrowest first. */
export function mixedFor(node: TreeNode, segment: Spelled): readonly MixedEdge[] {
  if (node.mixed.length < 2) return node.mixed;
  return (node.mixedIndex ??= new MixedEdges(node.mixed)).candidates(segment);
}

/** Returns the matches of a rule and of the rule that it leaves enforced. Shared if they read no path. */
export function matchesOf(leaf: Leaf, path: Path): readonly LeafMatch[] {
  if (leaf.shared) return leaf.shared;
  const match = matchOf(leaf, path);
  return leaf.enforced ? [match, matchOf(leaf.enforced, path)] : [match];
}

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
    for (const [index, segment] of segments.entries()) {
      const step = stepInto(node, segment, segments.length - index - 1);
      node = step.node;
      conflict ??= step.conflict;
    }
    const earlier = node.leaves.get(method);
    const isEarlierKept = earlier && isAtLeastAsNarrow(earlier.compiled, compiled);
    const leaf = isEarlierKept ? earlier : createLeaf(compiled, segments, earlier);
    leaf[hasSlash ? "withSlash" : "withoutSlash"] = true;
    shareMatches(leaf);
    node.leaves.set(method, leaf);
    this.#methods.add(method);
    return conflict;
  }

  /** Adds the rule that a report-only rule leaves enforced. */
  enforce(leaf: Leaf, enforced: Leaf | undefined): void {
    if (!enforced || scopesOf(enforced.compiled.requirement).length === 0) return;
    leaf.enforced = enforced;
    shareMatches(leaf);
  }

  /**
   * Returns the method, or `*` if the table has no rule for it. Clients can invent methods: they aren't
   * remembered.
   */
  ruledMethod(method: string): string {
    return method === "HEAD" || this.#methods.has(method) ? method : "*";
  }
}

/** Creates the matches of all requests, if no rule reads anything from the path. */
function shareMatches(leaf: Leaf): void {
  const leaves = leaf.enforced ? [leaf, leaf.enforced] : [leaf];
  leaf.shared = undefined;
  if (leaves.every(({ templates }) => templates.length === 0))
    leaf.shared = leaves.map((matched) => ({
      compiled: matched.compiled,
      leaf: matched,
      parameter: () => "",
    }));
}

/** `/docs` is narrower than `/docs{/*path}`. */
const isAtLeastAsNarrow = (earlier: CompiledRule, later: CompiledRule): boolean =>
  earlier.pattern.alternatives.length <= later.pattern.alternatives.length;

/** Creates the leaf of a rule. It also has the endings of the leaf that it replaces. */
const createLeaf = (compiled: CompiledRule, segments: readonly PatternSegment[], replaced?: Leaf): Leaf => ({
  compiled,
  templates: templatesOf(compiled.requirement),
  withSlash: replaced?.withSlash ?? false,
  withoutSlash: replaced?.withoutSlash ?? false,
  endsInWildcard: segments.at(-1)?.kind === "wildcard",
  segments,
  identity: identityOf(segments),
  // Own properties, so that a polluted prototype can't set them.
  enforced: undefined,
  shared: undefined,
});

const createNode = (): TreeNode => ({
  statics: new Map(),
  mixed: [],
  mixedIndex: undefined,
  parameter: undefined,
  wildcard: undefined,
  leaves: new Map(),
});

/** Returns the node after a segment, which `segmentsAfter` others follow, and creates it if needed. */
function stepInto(
  node: TreeNode,
  segment: PatternSegment,
  segmentsAfter: number,
): { readonly node: TreeNode; readonly conflict?: SpellingConflict } {
  switch (segment.kind) {
    case "static": {
      const key = loosen(segment.text);
      const edge = node.statics.get(key) ?? createTextEdge([segment.text]);
      node.statics.set(key, edge);
      return stepAlong(edge, segment.text);
    }
    case "mixed":
      return stepAlong(
        mixedEdgeFor(node, segment.parts, segmentIdentity(segment)),
        writeParts(segment.parts),
      );
    case "parameter":
      return { node: (node.parameter ??= createNode()) };
    case "wildcard": {
      const edge = (node.wildcard ??= { node: createNode(), lengths: [] });
      edge.lengths = [...new Set([...edge.lengths, segmentsAfter])].sort((a, b) => b - a);
      return edge;
    }
  }
}

/** Returns the node after an edge, and the conflict if the edge spells the segment differently. */
const stepAlong = ({ node, text }: TextEdge, written: string): ReturnType<typeof stepInto> =>
  text === written ? { node } : { node, conflict: { written, earlier: text } };

const createTextEdge = (parts: readonly SegmentPart[]): TextEdge => ({
  text: writeParts(parts),
  texts: spellParts(parts),
  node: createNode(),
});

function mixedEdgeFor(node: TreeNode, parts: readonly SegmentPart[], identity: string): MixedEdge {
  const existing = node.mixed.find((edge) => edge.identity === identity);
  if (existing) return existing;
  const edge = { ...createTextEdge(parts), identity, parts };
  node.mixed.push(edge);
  node.mixed.sort((a, b) => compareNarrowness(a.identity, b.identity));
  node.mixedIndex = undefined;
  return edge;
}

const writeParts = (parts: readonly SegmentPart[]): string =>
  parts.map((part) => (typeof part === "string" ? part : ":")).join("");

/**
 * Sorts mixed segments: those with more static characters come first. Parameters don't count: `:a.j` is
 * narrower than `:a.:b`. The order in the table doesn't count either.
 */
const compareNarrowness = (a: string, b: string): number => textLength(b) - textLength(a) || (a < b ? -1 : 1);

const textLength = (identity: string): number => identity.replaceAll("\u0001", "").length;
