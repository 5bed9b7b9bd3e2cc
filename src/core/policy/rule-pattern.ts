/**
 * The patterns of rules. Routers read more forms, but what two patterns of these have in common is always one
 * pattern, or no path.
 */
import { isPattern, parsePattern, type PatternMistake } from "./parse-pattern.ts";
import { type Alternative, identityOf, namesOf, type Pattern, type PatternSegment } from "./pattern.ts";
import { includeRoot } from "./pattern-dialects.ts";
import { renderPattern } from "./render-pattern.ts";

type Segments = readonly PatternSegment[];

/**
 * Parses the pattern of a rule: texts, parameters, and parameters with a text behind them, and at the end
 * `/*name`, `{/*name}` or `{/}`. Returns the mistake if it has another form, or if no request can match it.
 */
export function parseRulePattern(source: string): Pattern | PatternMistake {
  const pattern = parsePattern(source);
  if (!isPattern(pattern)) {
    const meant = pattern.spelling === undefined ? pattern : parsePattern(pattern.spelling);
    return isPattern(meant) ? { ...pattern, hint: hintFor(meant) } : pattern;
  }
  // A slash may also be optional behind a wildcard.
  const body = source.endsWith("{/}") ? source.slice(0, -3) : source;
  const trimmed = body.lastIndexOf("*") > body.lastIndexOf("/") ? parsePattern(body) : pattern;
  const message = describeForm(isPattern(trimmed) ? trimmed : pattern);
  return message === undefined ? pattern : { code: "route_pattern_invalid", message, hint: hintFor(pattern) };
}

function describeForm({ alternatives }: Pattern): string | undefined {
  if (alternatives.some(({ segments }) => !segments.every(isSimple)))
    return "has a segment that isn't a text, a parameter, or a parameter with a text behind it.";
  if (alternatives.some(({ segments }) => findWildcard(segments) < segments.length - 1))
    return "has a wildcard before its end.";
  const [longest, shorter, ...others] = alternatives;
  if (others.length > 0 || (longest && shorter && !isShortened(longest, shorter)))
    return "has an optional part other than `{/*name}` or `{/}` at its end.";
  return undefined;
}

const isSimple = (segment: PatternSegment): boolean =>
  segment.kind !== "mixed" || (segment.parts.length === 2 && typeof segment.parts[1] === "string");

/** Returns the index of the first wildcard, or of the last segment. */
function findWildcard(segments: Segments): number {
  const index = segments.findIndex(({ kind }) => kind === "wildcard");
  return index < 0 ? segments.length - 1 : index;
}

/** Returns whether a path is another one without the wildcard, or without the slash, at its end. */
function isShortened({ segments }: Alternative, shorter: Alternative): boolean {
  const isWild = segments.at(-1)?.kind === "wildcard";
  const rest = isWild ? segments.slice(0, -1) : segments;
  return !(isWild && shorter.hasSlash) && identityOf(rest) === identityOf(shorter.segments);
}

/** Shows how to write a pattern of a router as a rule. */
function hintFor({ alternatives }: Pattern): string {
  const paths = alternatives.map(({ segments }) => segments);
  const narrow = simplify(paths);
  const wide = rulePatternsFor(paths);
  const written = `Write ${narrow.length > 1 ? "a key for each path: " : ""}${list(narrow)}`;
  if (narrow.join() !== wide.join()) return `${written}, or ${list(wide)} for all paths below.`;
  const isSame = narrow.length > 1 || paths.flat().every(isSimple);
  return `${written}${isSame ? "" : ", which matches every text there"}.`;
}

const list = (patterns: readonly string[]): string => patterns.map((text) => `\`${text}\``).join(" and ");

/** Returns the narrowest patterns of rules that match all paths of a route's alternatives. */
export const rulePatternsFor = (paths: readonly Segments[]): readonly string[] =>
  simplify(paths.map((segments) => segments.slice(0, findWildcard(segments) + 1)));

/** Renders paths, with a parameter for each segment that no rule can have at its place. */
function simplify(paths: readonly Segments[]): readonly string[] {
  const texts = paths.map((segments) => {
    const simple = segments.map((segment, index): PatternSegment => {
      const isLast = index === segments.length - 1;
      if (segment.kind === "wildcard" ? isLast : isSimple(segment)) return segment;
      return { kind: "parameter", name: namesOf(segment)[0] ?? "" };
    });
    return renderPattern({ segments: simple, hasSlash: false });
  });
  const hasSubtree = (root: string) => texts.some((text) => text !== root && rootOf(text) === root);
  return [...new Set(texts)]
    .filter((text) => !hasSubtree(text))
    .map((text) => (rootOf(text) !== text && texts.includes(rootOf(text)) ? includeRoot(text) : text));
}

/** Returns the pattern of the path above a wildcard. */
const rootOf = (text: string): string => text.replace(/\/\*[^/]*$/, "") || "/";
