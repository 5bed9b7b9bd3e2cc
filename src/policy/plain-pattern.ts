import { type PathSegments } from "../request.ts";
import { type Alternative } from "./containment.ts";
import { isPattern, parsePattern, type PatternSegment, type SegmentPart } from "./pattern.ts";
import { modernize } from "./pattern-dialects.ts";
import { toStep } from "./route-index.ts";
import { SegmentTrie } from "./segment-trie.ts";

/** A pattern without optional groups. */
export interface PlainPattern {
  /** In path-to-regexp's syntax. */
  readonly source: string;
  /** Whether some router could take a path for one of it: letter case and a trailing slash make no other path. */
  readonly matches: (path: PathSegments) => boolean;
  /** Whether every router takes a path for one of it. */
  readonly isSureOf: (path: PathSegments) => boolean;
}

/**
 * A pattern of a router with its optional groups written out, in the syntax of today or before version 8; none where it
 * cannot be read.
 */
export function writeOut(source: string): readonly PlainPattern[] {
  const current = parsePattern(source);
  const pattern = isPattern(current) ? current : parsePattern(modernize(source));
  if (!isPattern(pattern)) return [];
  return pattern.alternatives.map((alternative) => {
    const findLoosely = createFinder(inLowerCase(alternative));
    const find = createFinder(alternative);
    return {
      source: alternative.length === 0 ? "/" : alternative.map((segment) => `/${render(segment)}`).join(""),
      matches: (path) => {
        const folded = path.map((segment) => segment.toLowerCase());
        return findLoosely(folded) || findLoosely(otherEnd(folded));
      },
      // An older pattern may have lost an expression.
      isSureOf: (path) => pattern === current && find(path),
    };
  });
}

/** What stands for a path that is an expression: it is no pattern. */
export const EXPRESSION = "/(expression)";

/**
 * The same; a pattern that cannot be read is taken for every path below the segments in front that can. A guard that cannot
 * tell what a route matches asks for what covers all that it may.
 */
export function writeOutWidely(source: string): readonly PlainPattern[] {
  const read = writeOut(source);
  return read.length > 0 ? read : writeOut(widen(source));
}

function widen(source: string): string {
  const segments = source.startsWith("/") ? source.slice(1).split("/") : [];
  const unreadable = segments.findIndex((segment) => !/^(?:[\w\-.~%@!$&',;=]+|:\w+)$/.test(segment));
  const head = segments
    .slice(0, unreadable < 0 ? segments.length : unreadable)
    .map((segment, index) => (segment.startsWith(":") ? `/:part${index}` : `/${segment}`));
  return head.length === 0 ? "/{*rest}" : `${head.join("")}{/*rest}`;
}

/** A pattern with its static texts in lower case, for routers that ignore it. */
export const inLowerCase = (alternative: Alternative): Alternative =>
  alternative.map((segment) =>
    segment.kind === "static" ? { ...segment, text: segment.text.toLowerCase() } : segment,
  );

/** A text as a pattern that matches it alone. */
export const literalPattern = (text: string): string => text.replaceAll(/[{}()[\]+?!:*\\]/g, "\\$&");

function createFinder(alternative: Alternative): (path: PathSegments) => boolean {
  const trie = new SegmentTrie<true>();
  trie.insert(alternative.map(toStep), true);
  return (path) => trie.find(`/${path.join("/")}`) !== undefined;
}

/** With a trailing slash where there is none, and without it. */
const otherEnd = (path: PathSegments): PathSegments =>
  path.at(-1) === "" ? path.slice(0, -1) : [...path, ""];

function render(segment: PatternSegment): string {
  switch (segment.kind) {
    case "static":
      return literalPattern(segment.text);
    case "mixed":
      return segment.parts.map(renderPart).join("");
    case "parameter":
      return renderPart({ type: "param", name: segment.name });
    case "wildcard":
      return renderPart({ type: "wildcard", name: segment.name });
  }
}

function renderPart(part: SegmentPart): string {
  if (typeof part === "string") return literalPattern(part);
  return `${part.type === "param" ? ":" : "*"}"${part.name.replaceAll(/["\\]/g, "\\$&")}"`;
}
