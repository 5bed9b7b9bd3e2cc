/** Parses patterns; the only use of path-to-regexp. */
import { parse, pathToRegexp, stringify, type Token } from "path-to-regexp";
import { orUndefined } from "../errors.ts";
import { readPath, segmentsOf } from "../request.ts";
import { type Alternative, namesOf, type Pattern, type PatternSegment } from "./pattern.ts";
import type { SegmentPart } from "./segment.ts";
import { findSpelling, translateParameters } from "./pattern-dialects.ts";

/** The mistake in a pattern, and the fix. */
export interface PatternMistake {
  readonly code: "route_pattern_invalid" | "route_unreachable";
  readonly message: string;
  readonly hint: string;
  /** The pattern that was probably meant, in path-to-regexp's syntax. */
  readonly spelling?: string | undefined;
}

type FlatToken = Exclude<Token, { type: "group" }>;

const MAX_ALTERNATIVES = 64;

/** Parses a pattern, or returns the mistake why no request can match it. Only a route may repeat a name. */
export function parsePattern(source: string, mayRepeatNames = false): Pattern | PatternMistake {
  const tokens = parseTokens(source);
  if ("code" in tokens) return tokens;
  if (tokens.some(isForeign)) return describeForeign(source);
  const expanded = expandGroups(tokens);
  if (expanded.length > MAX_ALTERNATIVES)
    return invalid(
      `has more than ${MAX_ALTERNATIVES} combinations of optional groups.`,
      "Write it as several routes.",
    );
  const alternatives: Alternative[] = [];
  for (const flatTokens of expanded) {
    const alternative = readAlternative(flatTokens, source);
    if ("code" in alternative) return alternative;
    alternatives.push(alternative);
  }
  if (!mayRepeatNames && alternatives.some(repeatsName))
    return invalid("uses one parameter name twice.", "Give every parameter its own name.");
  const parameters = new Set(alternatives.flatMap(({ segments }) => segments.flatMap(parametersIn)));
  return { source, alternatives, parameters };
}

export const isPattern = (parsed: Pattern | PatternMistake): parsed is Pattern => "alternatives" in parsed;

const parametersIn = (segment: PatternSegment): readonly string[] =>
  segment.kind === "wildcard" ? [] : namesOf(segment);

function repeatsName({ segments }: Alternative): boolean {
  const names = segments.flatMap(namesOf);
  return new Set(names).size < names.length;
}

function parseTokens(source: string): readonly Token[] | PatternMistake {
  const tokens = tokensOf(source);
  if (tokens) return tokens;
  if (source === "*") return invalid("doesn't start with a slash.", "Write `/{*path}` for every path.");
  if (/\/\([\w.-]+(?:\|[\w.-]+)+\)/.test(source))
    return invalid("has alternatives in parentheses.", "Write one key for each of them.");
  const spelling = findSpelling(source, (candidate) => tokensOf(candidate) !== undefined);
  return mistakeWith("isn't a pattern of path-to-regexp.", spelling, SYNTAX);
}

/**
 * Returns whether a token is a parameter in another router's syntax: `{id}`, `{path...}`, `<int:id>`. Read
 * literally, it would match no request, and a wider rule would decide the route.
 */
function isForeign(token: Token): boolean {
  if (token.type === "text") return /[<>]/.test(token.value);
  if (token.type !== "group") return false;
  const [first] = token.tokens;
  const isOptionalText = first?.type === "text" && !/^[/.-]/.test(first.value);
  return !first || isOptionalText || token.tokens.some(isForeign);
}

function describeForeign(source: string): PatternMistake {
  const translated = translateParameters(source);
  const isTranslated = translated !== source && isPattern(parsePattern(translated));
  return mistakeWith(
    "writes a parameter in the syntax of another router.",
    isTranslated ? translated : undefined,
    "Write `:parameter` or, at the end, `/*wildcard`.",
  );
}

/** Returns the tokens of a pattern, or `undefined` if path-to-regexp rejects it. */
function tokensOf(source: string): readonly Token[] | undefined {
  return orUndefined(() => {
    const { tokens } = parse(source);
    pathToRegexp({ tokens });
    return tokens;
  });
}

const SYNTAX =
  "Write texts and `:parameters`, and at the end `{/*wildcard}` or `{/}`; escape other special characters with a backslash.";

function expandGroups(tokens: readonly Token[]): FlatToken[][] {
  let alternatives: FlatToken[][] = [[]];
  for (const token of tokens) {
    const tails = token.type === "group" ? [...expandGroups(token.tokens), []] : [[token]];
    alternatives = alternatives.flatMap((head) => tails.map((tail) => [...head, ...tail]));
    if (alternatives.length > MAX_ALTERNATIVES) return alternatives;
  }
  return alternatives;
}

function readAlternative(tokens: readonly FlatToken[], source: string): Alternative | PatternMistake {
  const [first] = tokens;
  if (first?.type !== "text" || !first.value.startsWith("/"))
    return invalid(
      "doesn't begin with a slash.",
      "Write the whole path, starting with `/` and including mount prefixes.",
    );
  const segments = splitSegments(tokens);
  if (segments.some((parts) => parts.length > 1 && parts.some(isWildcard)))
    return invalid(
      "has a wildcard that shares its segment.",
      "Let the wildcard be a whole segment: `/files{/*path}`.",
    );
  if (segments.filter((parts) => parts.some(isWildcard)).length > 1)
    return invalid(
      "has two wildcards.",
      "Use only one: routers divide a path between two wildcards differently.",
    );
  const hasSlash = segments.at(-1)?.length === 0;
  if (hasSlash) segments.pop();
  const mistake = findUnreachable(segments, source, tokens);
  if (mistake) return mistake;
  return { segments: segments.map(readSegment), hasSlash: hasSlash && segments.length > 0 };
}

/** Divides tokens at their slashes. The last segment is empty if a slash is at the end. */
function splitSegments(tokens: readonly FlatToken[]): SegmentPart[][] {
  const segments: SegmentPart[][] = [];
  let parts: SegmentPart[] = [];
  for (const token of tokens) {
    if (token.type !== "text") {
      parts.push(token);
      continue;
    }
    for (const [index, text] of token.value.split("/").entries()) {
      if (index > 0) {
        parts = [];
        segments.push(parts);
      }
      if (text !== "") appendText(parts, text);
    }
  }
  return segments;
}

/** Joins two strings that became adjacent when an optional group was removed. */
function appendText(parts: SegmentPart[], text: string): void {
  const last = parts.at(-1);
  if (typeof last === "string") parts.splice(-1, 1, last + text);
  else parts.push(text);
}

function readSegment(parts: readonly SegmentPart[]): PatternSegment {
  const [part = ""] = parts;
  if (parts.length > 1) return { kind: "mixed", parts };
  if (typeof part === "string") return { kind: "static", text: part };
  return { kind: part.type === "param" ? "parameter" : "wildcard", name: part.name };
}

/** A pattern whose sample path is refused or read as another path would never decide a request. */
function findUnreachable(
  segments: readonly (readonly SegmentPart[])[],
  source: string,
  tokens: readonly FlatToken[],
): PatternMistake | undefined {
  const sample = segments.map((parts) =>
    parts.map((part) => (typeof part === "string" ? part : "x")).join(""),
  );
  const samplePath = readPath(`/${sample.join("/")}`);
  // `//` is one empty segment here, but a path wouldn't have it.
  const isReadAsWritten = samplePath && segmentsOf(samplePath).join("/") === sample.join("/");
  if (isReadAsWritten && sample[0] !== "") return undefined;
  // A lone surrogate (half of a character) has no encoding.
  const encoded = orUndefined(() => source.replaceAll(/[^\x20-\x7e]+/g, encodeURI)) ?? source;
  const isUnencoded = encoded !== source && readPath(`/${sample.map(encodeURI).join("/")}`) !== undefined;
  return {
    code: "route_unreachable",
    message: source.includes("{")
      ? `matches \`${stringify({ tokens: [...tokens] })}\`, a path that is refused in every request.`
      : "is a path that is refused in every request.",
    hint: isUnencoded
      ? `Write it percent-encoded, as clients send it: \`${encoded}\`.`
      : "Write a path without empty or dot segments, query, fragment, semicolon, backslash and encoded slashes.",
  };
}

const isWildcard = (part: SegmentPart): boolean => typeof part !== "string" && part.type === "wildcard";

const mistakeWith = (message: string, spelling: string | undefined, otherwise: string): PatternMistake => ({
  ...invalid(message, spelling === undefined ? otherwise : `Write \`${spelling}\`.`),
  spelling,
});

const invalid = (message: string, hint: string): PatternMistake => ({
  code: "route_pattern_invalid",
  message,
  hint,
});
