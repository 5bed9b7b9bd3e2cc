/**
 * The table as one tree of segments. Static texts are keyed by their loosest spelling, so that one look-up finds a text
 * however a path spells it.
 */
import { decodeSegment, loosen, type SegmentPart, spellingOfMixed } from "./segment.ts";
import { hasTrailingSlash, segmentsOf } from "../request.ts";
import { type Alternative, identityOf, type PatternSegment, segmentIdentity } from "./pattern.ts";
import { type CompiledRule, methodsAsked, type ParameterReader } from "./rule.ts";

/** What the tree has at one place of a path. */
export interface TreeNode {
  readonly statics: Map<string, { readonly text: string; readonly node: TreeNode }>;
  /** Segments that mix text and parameters, those with more text first. */
  readonly mixed: MixedEdge[];
  parameter: TreeNode | undefined;
  wildcard: WildcardEdge | undefined;
  /** The rules of patterns that end here, by method. */
  readonly leaves: Map<string, Leaf>;
}

interface MixedEdge {
  readonly identity: string;
  readonly parts: readonly SegmentPart[];
  readonly node: TreeNode;
}

interface WildcardEdge {
  readonly node: TreeNode;
  /** How many segments the patterns have behind the wildcard, the most first. */
  lengths: readonly number[];
}

/** One rule at the end of one of its alternatives. */
export interface Leaf {
  readonly compiled: CompiledRule;
  readonly parameters: ReadonlyMap<string, ParameterReader>;
  /** Whether the pattern is written with a slash at its end, without one, or both. */
  readonly endings: Set<boolean>;
  readonly endsInWildcard: boolean;
  /** The same for two patterns that are one route. */
  readonly identity: string;
}

/** Two spellings of one text at the same place of the table. */
export interface SpellingConflict {
  readonly written: string;
  readonly earlier: string;
}

export class RuleTree {
  readonly root = createNode();
  readonly #methods = new Map<string, readonly string[]>();
  readonly #own = new Set<string>();

  /** Adds one alternative of a rule. Where two rules end at the same place, the first one stays. */
  add(compiled: CompiledRule, { segments, hasSlash }: Alternative): SpellingConflict | undefined {
    const { method } = compiled.rule;
    let node = this.root;
    let conflict: SpellingConflict | undefined;
    for (const [index, segment] of segments.entries()) {
      const step = descend(node, segment, segments.length - index - 1);
      node = step.node;
      conflict ??= step.conflict;
    }
    const leaf = node.leaves.get(method) ?? {
      compiled,
      parameters: parameterReaders(segments),
      endings: new Set<boolean>(),
      endsInWildcard: segments.at(-1)?.kind === "wildcard",
      identity: identityOf(segments),
    };
    if (leaf.compiled === compiled) leaf.endings.add(hasSlash);
    node.leaves.set(method, leaf);
    this.#own.add(method);
    this.#methods.clear();
    return conflict;
  }

  /** The methods whose rules decide a request, in order, as far as the table has rules for them. */
  methodsFor(method: string): readonly string[] {
    const known = this.#methods.get(method);
    if (known) return known;
    const methods = methodsAsked(method).filter((one) => this.#own.has(one));
    // Node accepts few methods, but a program may pass any string.
    if (this.#methods.size < 100) this.#methods.set(method, methods);
    return methods;
  }
}

const createNode = (): TreeNode => ({
  statics: new Map(),
  mixed: [],
  parameter: undefined,
  wildcard: undefined,
  leaves: new Map(),
});

function descend(
  node: TreeNode,
  segment: PatternSegment,
  behind: number,
): { readonly node: TreeNode; readonly conflict?: SpellingConflict } {
  switch (segment.kind) {
    case "static": {
      const key = loosen(segment.text);
      const edge = node.statics.get(key) ?? { text: segment.text, node: createNode() };
      node.statics.set(key, edge);
      if (edge.text === segment.text) return edge;
      return { node: edge.node, conflict: { written: segment.text, earlier: edge.text } };
    }
    case "mixed": {
      const identity = segmentIdentity(segment);
      const known = node.mixed.find((edge) => edge.identity === identity);
      const edge = known ?? { identity, parts: segment.parts, node: createNode() };
      if (!known) {
        node.mixed.push(edge);
        node.mixed.sort((a, b) => narrowerFirst(a.identity, b.identity));
      }
      const [written, earlier] = [writeParts(segment.parts), writeParts(edge.parts)];
      return written === earlier ? edge : { node: edge.node, conflict: { written, earlier } };
    }
    case "parameter":
      return { node: (node.parameter ??= createNode()) };
    case "wildcard": {
      const edge = (node.wildcard ??= { node: createNode(), lengths: [] });
      edge.lengths = [...new Set([...edge.lengths, behind])].sort((a, b) => b - a);
      return edge;
    }
  }
}

const writeParts = (parts: readonly SegmentPart[]): string =>
  parts.map((part) => (typeof part === "string" ? part : ":")).join("");

/** The order must not depend on the order of writing. Parameters do not count: `:a.j` is narrower than `:a.:b`. */
const narrowerFirst = (a: string, b: string): number => textLength(b) - textLength(a) || (a < b ? -1 : 1);

const textLength = (identity: string): number => identity.replaceAll("\u0001", "").length;

/** Where in a path each parameter is: counted from the start, and behind a wildcard from the end. */
function parameterReaders(segments: readonly PatternSegment[]): ReadonlyMap<string, ParameterReader> {
  const wildcard = segments.findIndex(({ kind }) => kind === "wildcard");
  return new Map(
    segments.flatMap((segment, index): [string, ParameterReader][] => {
      const place = wildcard >= 0 && index > wildcard ? index - segments.length : index;
      switch (segment.kind) {
        case "static":
          return [];
        case "parameter":
          return [[segment.name, (path) => decodeSegment(segmentsOf(path).at(place) ?? "")]];
        case "mixed":
          return readersOfMixed(segment.parts, place);
        case "wildcard":
          return [[segment.name, restReader(index, segments.length - index - 1)]];
      }
    }),
  );
}

/** The one parameter of a mixed segment; empty where the path does not spell the texts around it exactly. */
function readersOfMixed(parts: readonly SegmentPart[], place: number): [string, ParameterReader][] {
  const keys = parts.filter((part) => typeof part !== "string");
  const [key] = keys;
  if (!key || keys.length > 1) return [];
  const at = parts.indexOf(key);
  const [before = "", after = ""] = [parts[at - 1], parts[at + 1]].map((part) => part as string | undefined);
  const read: ParameterReader = (path) => {
    const segment = segmentsOf(path).at(place) ?? "";
    if (spellingOfMixed(segment, parts) !== "exact") return "";
    return decodeSegment(segment.slice(before.length, segment.length - after.length));
  };
  return [[key.name, read]];
}

/** What a wildcard takes; empty where the path ends with a slash, which only some routers count as a part of it. */
const restReader =
  (index: number, behind: number): ParameterReader =>
  (path) => {
    if (hasTrailingSlash(path)) return "";
    const segments = segmentsOf(path);
    return segments
      .slice(index, segments.length - behind)
      .map(decodeSegment)
      .join("/");
  };
