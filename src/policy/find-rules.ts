/** Three look-ups in the tree: the rule of a path, the rules of all its readings, the rule of a route. */
import { type Path } from "../request.ts";
import { type PatternSegment, segmentIdentity } from "./pattern.ts";
import { endsAsWritten, type Leaf, type RuleTree, type TreeNode } from "./rule-tree.ts";
import { loosen, spellingOf, spellingOfMixed } from "./segment.ts";

/** The narrowest rule for a path, and whether the path spells every static text as the table does. */
export interface PathRule {
  readonly leaf: Leaf | undefined;
  readonly isExact: boolean;
}

interface Walk {
  readonly path: Path;
  method: string;
  leaf: Leaf | undefined;
  isExact: boolean;
}

/** Finds a path's narrowest rule: method before `*`; from the left, static, mixed, parameter, wildcard. */
export function findPathRule(tree: RuleTree, method: string, path: Path): PathRule {
  const walk: Walk = { path, method, leaf: undefined, isExact: true };
  for (const asked of tree.methodsFor(method)) {
    walk.method = asked;
    walk.leaf = findLeaf(tree.root, 1, walk);
    if (walk.leaf) break;
  }
  return walk;
}

/** `start` is where a segment begins, or after the end of the path. */
function findLeaf(node: TreeNode, start: number, walk: Walk): Leaf | undefined {
  const { path } = walk;
  if (start > path.end) {
    const leaf = node.leaves.get(walk.method);
    if (leaf && !endsAsWritten(leaf, path)) walk.isExact = false;
    return leaf;
  }
  const end = endOfSegment(path, start);
  return (
    (node.statics.size > 0 || node.mixed.length > 0 ? findByText(node, start, end, walk) : undefined) ??
    (node.parameter && findLeaf(node.parameter, end + 1, walk)) ??
    (node.wildcard && findBehindWildcard(node.wildcard, end, walk))
  );
}

function findByText(node: TreeNode, start: number, end: number, walk: Walk): Leaf | undefined {
  const { path } = walk;
  const segment = path.text.slice(start, end);
  const edge = node.statics.get(path.isPlain ? segment : loosen(segment));
  const found = edge && findLeaf(edge.node, end + 1, walk);
  if (found) {
    if (edge.text !== segment) walk.isExact = false;
    return found;
  }
  for (const { parts, node: next } of node.mixed) {
    const spelling = spellingOfMixed(segment, parts);
    const leaf = spelling && findLeaf(next, end + 1, walk);
    if (!leaf) continue;
    if (spelling !== "exact") walk.isExact = false;
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

/** The rules that some reading of a path reaches. */
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
  const found: Collected = { path, method, isStrict: false, leaves: new Set(), isMapped: false };
  for (const isStrict of [false, true]) {
    found.isStrict = isStrict;
    for (const asked of tree.methodsFor(method)) {
      found.method = asked;
      if (collect(tree.root, 1, found, false)) break;
    }
  }
  return found;
}

interface Collected {
  readonly path: Path;
  method: string;
  /** Whether the trailing slash counts. */
  isStrict: boolean;
  readonly leaves: Set<Leaf>;
  isMapped: boolean;
}

/** Returns whether every reading finds a rule here, so that none continues to a wider rule. */
function collect(node: TreeNode, start: number, found: Collected, isDecoded: boolean): boolean {
  const { path } = found;
  if (start > path.end) {
    const leaf = node.leaves.get(found.method);
    // A wildcard at the end of a pattern also matches a trailing slash, even in strict routers.
    if (!leaf || (found.isStrict && !leaf.endsInWildcard && !endsAsWritten(leaf, path))) return false;
    found.leaves.add(leaf);
    found.isMapped ||= !isDecoded;
    return true;
  }
  const end = endOfSegment(path, start);
  const segment = path.text.slice(start, end);
  const edge = node.statics.get(loosen(segment));
  const steps = [
    ...(edge ? [{ node: edge.node, spelling: spellingOf(segment, edge.text) }] : []),
    ...node.mixed.map((mixed) => ({ node: mixed.node, spelling: spellingOfMixed(segment, mixed.parts) })),
  ];
  for (const { node: next, spelling } of steps) {
    if (!spelling) continue;
    const isSure = collect(next, end + 1, found, isDecoded || spelling === "decoded");
    if (isSure && spelling === "exact") return true;
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
  for (const asked of tree.methodsFor(method)) {
    const leaf = findCovering(tree.root, route, 0, asked);
    if (leaf) return leaf;
  }
  return undefined;
}

export function findCovering(
  node: TreeNode,
  route: readonly PatternSegment[],
  index: number,
  method: string,
): Leaf | undefined {
  const segment = route[index];
  if (!segment) return node.leaves.get(method);
  const go = (next: TreeNode | undefined, to = index + 1) => next && findCovering(next, route, to, method);
  const lengths = node.wildcard?.lengths.map((length) => route.length - length) ?? [];
  return (
    (segment.kind === "static" ? go(node.statics.get(loosen(segment.text))?.node) : undefined) ??
    node.mixed
      .filter(({ identity, parts }) =>
        segment.kind === "static"
          ? spellingOfMixed(loosen(segment.text), parts) !== undefined
          : identity === segmentIdentity(segment),
      )
      .map((edge) => go(edge.node))
      .find((leaf) => leaf !== undefined) ??
    (segment.kind === "wildcard" ? undefined : go(node.parameter)) ??
    lengths
      .map((end) => (end > index ? go(node.wildcard?.node, end) : undefined))
      .find((leaf) => leaf !== undefined)
  );
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
