/** Looks up rules in the tree: for a path, for all its readings, and for a route. */
import type { Path } from "../request.ts";
import { type PatternSegment, segmentIdentity } from "./pattern.ts";
import {
  endingsOf,
  endsAsWritten,
  type Leaf,
  leafFor,
  leavesFor,
  type RuleTree,
  type TreeNode,
} from "./rule-tree.ts";
import { compareParts, Spelled } from "./segment.ts";

/** The narrowest rule for a path, and how the path differs from the rule's pattern. */
export interface PathRule {
  readonly leaf: Leaf | undefined;
  /** Whether the path spells every static segment as the table does. */
  readonly isSpelled: boolean;
  /** Whether the path also ends as the pattern is written: with a slash, or without one. */
  readonly isExact: boolean;
}

/** A request, and the segments of its path that have been read, by where they begin. */
export interface PathWalk {
  readonly path: Path;
  readonly method: string;
  /** `undefined` for a plain path, whose segments have only one spelling. */
  readonly spelledSegments: Map<number, Spelled> | undefined;
}

interface PathRuleWalk extends PathWalk {
  /** `false` if the path spells a static segment of the rule differently; set only once the rule is found. */
  isSpelled: boolean;
}

/**
 * Finds the narrowest rule for a path and a method. From the left, a static segment is narrower than a mixed
 * one, then come parameters, then wildcards. `checkOrder` rejects tables in which another rule should decide.
 */
export function findPathRule(tree: RuleTree, method: string, path: Path): PathRule {
  const spelledSegments = path.isPlain ? undefined : new Map<number, Spelled>();
  const walk: PathRuleWalk = { path, method, spelledSegments, isSpelled: true };
  const leaf = findLeaf(tree.root, 1, walk);
  const { isSpelled } = walk;
  return { leaf, isSpelled, isExact: isSpelled && (!leaf || endsAsWritten(leaf, path)) };
}

/** `start` is where a segment begins, or a position after the end of the path. */
function findLeaf(node: TreeNode, start: number, walk: PathRuleWalk): Leaf | undefined {
  const { path } = walk;
  if (start > path.end) return leafFor(node, walk.method);
  const end = endOfSegment(path, start);
  const hasTexts = node.statics.size > 0 || node.endings.size > 0;
  return (
    (hasTexts ? findLeafByText(node, start, end, walk) : undefined) ??
    (node.parameter && findLeaf(node.parameter, end + 1, walk)) ??
    (node.wildcard && leafFor(node.wildcard, walk.method))
  );
}

function findLeafByText(node: TreeNode, start: number, end: number, walk: PathRuleWalk): Leaf | undefined {
  const { text, isPlain } = walk.path;
  const exact = text.slice(start, end);
  const edge = node.statics.get(isPlain ? exact : spellAt(walk, start, end).decoded);
  const staticLeaf = edge && findLeaf(edge.node, end + 1, walk);
  if (staticLeaf) {
    if (edge.text !== exact) walk.isSpelled = false;
    return staticLeaf;
  }
  if (node.endings.size === 0) return undefined;
  const segment = spellAt(walk, start, end);
  for (const ending of endingsOf(node, segment)) {
    const spelling = compareParts(segment, ending.texts);
    const leaf = spelling && findLeaf(ending.node, end + 1, walk);
    if (!leaf) continue;
    if (spelling !== "exact") walk.isSpelled = false;
    return leaf;
  }
  return undefined;
}

/** A path whose spelling reaches more rules is an attack. */
export const MAX_RULES = 8;

/** The rules that some reading of a path reaches; at most one more than `MAX_RULES`. */
export interface Readings {
  readonly leaves: ReadonlySet<Leaf>;
  /** Whether a reading reaches a rule without decoding a static segment. */
  readonly isMapped: boolean;
}

/**
 * Collects the rules that routers may apply to a path that isn't spelled as in the table. For each segment, a
 * router may or may not accept another spelling. The trailing slash may or may not count.
 */
export function collectReadings(tree: RuleTree, method: string, path: Path): Readings {
  // Written out, because a spread would take longer than the search.
  const walk: ReadingsWalk = {
    path,
    method,
    spelledSegments: new Map(),
    isStrict: false,
    leaves: new Set(),
    isMapped: false,
  };
  collectAt(tree.root, 1, walk, false);
  // If every rule ends as the path does, a router to which the slash counts finds the same rules.
  if ([...walk.leaves].every((leaf) => endsStrictly(leaf, path))) return walk;
  walk.isStrict = true;
  collectAt(tree.root, 1, walk, false);
  return walk;
}

interface ReadingsWalk extends PathWalk {
  /** Whether the trailing slash counts. */
  isStrict: boolean;
  readonly leaves: Set<Leaf>;
  isMapped: boolean;
}

/** Returns whether every reading finds a rule here, so that none continues to a wider rule. */
function collectAt(node: TreeNode, start: number, walk: ReadingsWalk, isDecoded: boolean): boolean {
  const { path } = walk;
  if (start > path.end) return collectLeaf(node, walk, isDecoded);
  const end = endOfSegment(path, start);
  const segment = spellAt(walk, start, end);
  for (const edge of edgesFor(node, segment)) {
    const spelling = compareParts(segment, edge.texts);
    if (!spelling) continue;
    const isCertain = collectAt(edge.node, end + 1, walk, isDecoded || spelling === "decoded");
    // Every router accepts an exact spelling. With too many rules, the request is refused, so there's no need
    // to collect the others.
    if ((isCertain && spelling === "exact") || walk.leaves.size > MAX_RULES) return true;
  }
  // Some routers match an empty segment to a wildcard, but not to a parameter.
  if (node.parameter && collectAt(node.parameter, end + 1, walk, isDecoded) && end > start) return true;
  return node.wildcard !== undefined && collectLeaf(node.wildcard, walk, isDecoded);
}

/** Returns the texts, and the parameters with a text behind them, that a segment may match. */
export function edgesFor(node: TreeNode, segment: Spelled): ReturnType<typeof endingsOf> {
  const edge = node.statics.get(segment.decoded);
  const endings = endingsOf(node, segment);
  return edge ? [edge, ...endings] : endings;
}

function collectLeaf(node: TreeNode, walk: ReadingsWalk, isDecoded: boolean): boolean {
  const { method, path, isStrict } = walk;
  const leaf = isStrict
    ? leavesFor(node, method).find((strict) => endsStrictly(strict, path))
    : leafFor(node, method);
  if (!leaf) return false;
  walk.leaves.add(leaf);
  walk.isMapped ||= !isDecoded;
  return true;
}

/** A wildcard at the end of a pattern also matches a trailing slash, even in strict routers. */
const endsStrictly = (leaf: Leaf, path: Path): boolean => leaf.endsInWildcard || endsAsWritten(leaf, path);

/**
 * Finds the narrowest rule that covers a whole route; below a mount, every rule that may be the narrowest.
 * The first `mountLength` segments are static, because only the request's spelling of the mount is known. In
 * the application, each of them may be static or a parameter, and a wildcard may match several. A request
 * must not be able to choose the rule by how it spells the mount.
 */
export function findRouteRules(
  tree: RuleTree,
  method: string,
  route: readonly PatternSegment[],
  mountLength = 0,
): readonly Leaf[] {
  const leaves = new Set<Leaf>();
  collectCovering(tree.root, 0, { method, route, mountLength, leaves });
  return [...leaves];
}

interface CoveringSearch {
  readonly method: string;
  readonly route: readonly PatternSegment[];
  readonly mountLength: number;
  readonly leaves: Set<Leaf>;
}

/** Collects rules below a node that cover the segments from `index` on. Returns whether it found one. */
function collectCovering(node: TreeNode, index: number, search: CoveringSearch): boolean {
  const { method, route, mountLength, leaves } = search;
  const segment = route[index];
  if (!segment) {
    const leaf = leafFor(node, method);
    if (leaf) leaves.add(leaf);
    return leaf !== undefined;
  }
  for (const child of childrenFor(node, segment)) {
    const isCovered = collectCovering(child, index + 1, search);
    if (isCovered && index >= mountLength) return true;
  }
  if (!node.wildcard) return false;
  const leaf = leafFor(node.wildcard, method);
  if (leaf) leaves.add(leaf);
  return leaf !== undefined;
}

/** Visits the nodes whose segment matches all that one segment of a route matches, the narrowest first. */
export function* childrenFor(node: TreeNode, segment: PatternSegment): Iterable<TreeNode> {
  if (segment.kind === "wildcard") return;
  // One character stands for each parameter, and no text of a rule contains it.
  const text = new Spelled(segmentIdentity(segment), true);
  for (const edge of edgesFor(node, text)) if (compareParts(text, edge.texts)) yield edge.node;
  if (node.parameter) yield node.parameter;
}

/** Reads a segment only once, however many rules it's compared with: it may have thousands of characters. */
export function spellAt({ path, spelledSegments }: PathWalk, start: number, end: number): Spelled {
  if (!spelledSegments) return new Spelled(path.text.slice(start, end), true);
  let segment = spelledSegments.get(start);
  if (!segment) {
    segment = new Spelled(path.text.slice(start, end), path.isPlain);
    spelledSegments.set(start, segment);
  }
  return segment;
}

export function endOfSegment({ text, end }: Path, start: number): number {
  const slash = text.indexOf("/", start);
  return slash < 0 ? end : slash;
}
