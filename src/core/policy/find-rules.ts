/** Three look-ups in the tree: the rule of a path, the rules of all its readings, the rule of a route. */
import { type Path } from "../request.ts";
import { coversMixed } from "./overlap.ts";
import { type PatternSegment } from "./pattern.ts";
import {
  endsAsWritten,
  type Leaf,
  leafFor,
  leavesFor,
  mixedFor,
  type RuleTree,
  type TreeNode,
} from "./rule-tree.ts";
import { compareParts, loosen, Spelled, spellingOf } from "./segment.ts";

/** The narrowest rule for a path, and how the path differs from the pattern of the rule. */
export interface PathRule {
  readonly leaf: Leaf | undefined;
  /** Whether the path spells every static text as the table does. */
  readonly isSpelled: boolean;
  /** Whether the path also ends as the pattern is written: with a slash, or without one. */
  readonly isExact: boolean;
}

interface Walk {
  readonly path: Path;
  /** The segments that were read before, by where they begin. */
  readonly spelled: Map<number, Spelled>;
  readonly method: string;
  isSpelled: boolean;
}

/**
 * Finds the rule of the narrowest path that has a rule for the method: from the left, static, mixed,
 * parameter, wildcard. `checkOrder` rejects tables in which another rule should have decided.
 */
export function findPathRule(tree: RuleTree, method: string, path: Path): PathRule {
  const walk: Walk = { path, method, isSpelled: true, spelled: new Map() };
  const leaf = findLeaf(tree.root, 1, walk);
  const { isSpelled } = walk;
  return { leaf, isSpelled, isExact: isSpelled && (!leaf || endsAsWritten(leaf, path)) };
}

/** `start` is where a segment begins, or after the end of the path. */
function findLeaf(node: TreeNode, start: number, walk: Walk): Leaf | undefined {
  const { path } = walk;
  if (start > path.end) return leafFor(node, walk.method);
  const end = endOfSegment(path, start);
  return (
    (node.statics.size > 0 || node.mixed.length > 0 ? findByText(node, start, end, walk) : undefined) ??
    (node.parameter && findLeaf(node.parameter, end + 1, walk)) ??
    (node.wildcard && findBehindWildcard(node.wildcard, end, walk))
  );
}

function findByText(node: TreeNode, start: number, end: number, walk: Walk): Leaf | undefined {
  const segment = spellAt(walk, start, end);
  const edge = node.statics.get(segment.decoded);
  const found = edge && findLeaf(edge.node, end + 1, walk);
  if (found) {
    if (edge.text !== segment.exact) walk.isSpelled = false;
    return found;
  }
  for (const { texts, node: next } of mixedFor(node, segment)) {
    const spelling = compareParts(segment, texts);
    const leaf = spelling && findLeaf(next, end + 1, walk);
    if (!leaf) continue;
    if (spelling !== "exact") walk.isSpelled = false;
    return leaf;
  }
  return undefined;
}

/** A wildcard matches the segment that ends at `firstEnd`, and as few more as the pattern allows. */
function findBehindWildcard(
  { node, lengths }: NonNullable<TreeNode["wildcard"]>,
  firstEnd: number,
  walk: Walk,
): Leaf | undefined {
  for (const length of lengths) {
    const end = endWithout(walk.path, length);
    if (end < firstEnd) continue;
    const leaf = findLeaf(node, end + 1, walk);
    if (leaf) return leaf;
  }
  return undefined;
}

/** A path whose spelling reaches more rules is an attack. */
export const MAX_RULES = 8;

/** The rules that some reading of a path reaches; at most one more than `MAX_RULES`. */
export interface Readings {
  readonly leaves: ReadonlySet<Leaf>;
  /** Whether a reading reaches a rule without decoding the spelling of a static text. */
  readonly isMapped: boolean;
}

/**
 * Collects the rules that routers may apply to a path not spelled as in the table. At each segment, a router
 * may or may not accept another spelling of the text in the table. The trailing slash may or may not count.
 */
export function collectReadings(tree: RuleTree, method: string, path: Path): Readings {
  const found: Collected = {
    path,
    method,
    spelled: new Map(),
    isStrict: false,
    leaves: new Set(),
    isMapped: false,
  };
  for (const isStrict of [false, true]) {
    found.isStrict = isStrict;
    collect(tree.root, 1, found, false);
  }
  return found;
}

interface Collected {
  readonly path: Path;
  readonly spelled: Map<number, Spelled>;
  readonly method: string;
  /** Whether the trailing slash counts. */
  isStrict: boolean;
  readonly leaves: Set<Leaf>;
  isMapped: boolean;
}

/** The request is refused, so that counting the rest of the rules would only take time. */
const isFull = ({ leaves }: Collected): boolean => leaves.size > MAX_RULES;

/** Returns whether every reading finds a rule here, so that none continues to a wider rule. */
function collect(node: TreeNode, start: number, found: Collected, isDecoded: boolean): boolean {
  const { path } = found;
  if (start > path.end) {
    // A wildcard at the end of a pattern also matches a trailing slash, even in strict routers.
    const leaf = leavesFor(node, found.method).find(
      (one) => !found.isStrict || one.endsInWildcard || endsAsWritten(one, path),
    );
    if (!leaf) return false;
    found.leaves.add(leaf);
    found.isMapped ||= !isDecoded;
    return true;
  }
  const end = endOfSegment(path, start);
  const segment = spellAt(found, start, end);
  const edge = node.statics.get(segment.decoded);
  const steps = [
    ...(edge ? [{ node: edge.node, spelling: spellingOf(segment.exact, edge.text) }] : []),
    ...mixedFor(node, segment).map(({ node: next, texts }) => ({
      node: next,
      spelling: compareParts(segment, texts),
    })),
  ];
  for (const { node: next, spelling } of steps) {
    if (!spelling) continue;
    const isSure = collect(next, end + 1, found, isDecoded || spelling === "decoded");
    if ((isSure && spelling === "exact") || isFull(found)) return true;
  }
  if (node.parameter && collect(node.parameter, end + 1, found, isDecoded)) return true;
  const { node: next, lengths = [] } = node.wildcard ?? {};
  return lengths.some((length) => {
    const rest = endWithout(path, length);
    return next !== undefined && rest >= end && collect(next, rest + 1, found, isDecoded);
  });
}

/** Finds the narrowest rule that covers a whole route: its pattern matches every path of the route. */
export function findRouteRule(
  tree: RuleTree,
  method: string,
  route: readonly PatternSegment[],
): Leaf | undefined {
  return findCovering(tree.root, route, 0, method);
}

export function findCovering(
  node: TreeNode,
  route: readonly PatternSegment[],
  index: number,
  method: string,
): Leaf | undefined {
  const segment = route[index];
  if (!segment) return leafFor(node, method);
  const go = (next: TreeNode | undefined, to = index + 1) => next && findCovering(next, route, to, method);
  const lengths = node.wildcard?.lengths.map((length) => route.length - length) ?? [];
  return (
    (segment.kind === "static" ? go(node.statics.get(loosen(segment.text))?.node) : undefined) ??
    node.mixed
      .filter(
        ({ parts }) => (segment.kind === "static" || segment.kind === "mixed") && coversMixed(parts, segment),
      )
      .map((edge) => go(edge.node))
      .find((leaf) => leaf !== undefined) ??
    (segment.kind === "wildcard" ? undefined : go(node.parameter)) ??
    lengths
      .map((end) => (end > index ? go(node.wildcard?.node, end) : undefined))
      .find((leaf) => leaf !== undefined)
  );
}

/** Reads a segment once, however many rules it is compared with: it may have thousands of characters. */
function spellAt({ path, spelled }: Pick<Walk, "path" | "spelled">, start: number, end: number): Spelled {
  const known = spelled.get(start);
  if (known) return known;
  const segment = new Spelled(path.text.slice(start, end), path.isPlain);
  spelled.set(start, segment);
  return segment;
}

function endOfSegment({ text, end }: Path, start: number): number {
  const slash = text.indexOf("/", start);
  return slash < 0 ? end : slash;
}

/** Returns the end of a path without its last `count` segments; 0 or less if it has fewer segments. */
function endWithout({ text, end }: Path, count: number): number {
  let rest = end;
  for (let left = count; left > 0 && rest > 0; left -= 1) rest = text.lastIndexOf("/", rest - 1);
  return rest;
}
