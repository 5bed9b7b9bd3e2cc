import { type Key, parse, pathToRegexp, type Token } from "path-to-regexp";
import { attempt } from "../errors.ts";
import { readTarget } from "../request.ts";
import { findSpelling, translateParameters } from "./pattern-dialects.ts";

/** One segment of a pattern. `narrowness` orders the kinds: static, mixed, parameter, wildcard. */
export type PatternSegment =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "mixed"; readonly parts: readonly SegmentPart[] }
  | { readonly kind: "parameter"; readonly name: string }
  | { readonly kind: "wildcard"; readonly name: string };

/** Text, or a parameter that fills the place between two texts. */
export type SegmentPart = string | Key;

/** A pattern with its optional groups written out: it matches what any of its alternatives matches. */
export interface Pattern {
  readonly source: string;
  readonly alternatives: readonly (readonly PatternSegment[])[];
  readonly parameters: ReadonlySet<string>;
}

/** What is wrong with a pattern, and how to write it. */
export interface PatternMistake {
  readonly code: "route_pattern_invalid" | "route_unreachable";
  readonly message: string;
  readonly hint: string;
}

type FlatToken = Exclude<Token, { type: "group" }>;

const MAX_ALTERNATIVES = 64;

/** Parses a pattern in path-to-regexp's syntax to segments, or says why no request can match it. */
export function parsePattern(source: string): Pattern | PatternMistake {
  const translated = translateParameters(source);
  if (translated !== undefined)
    return invalid("writes a parameter in another syntax.", `Write \`${translated}\`.`);
  const parsed = parseTokens(source);
  if ("code" in parsed) return parsed;
  const flat = expandGroups(parsed.tokens);
  if (flat.length > MAX_ALTERNATIVES) {
    return invalid(
      `has more than ${MAX_ALTERNATIVES} combinations of optional groups.`,
      "Write it as several routes.",
    );
  }
  const alternatives: PatternSegment[][] = [];
  for (const alternative of flat) {
    const segments = readSegments(alternative, source);
    if (!Array.isArray(segments)) return segments;
    alternatives.push(segments);
  }
  const names = flat.map(parameterNames);
  if (names.some((own) => new Set(own).size < own.length)) {
    return invalid("names one parameter twice.", "Give every parameter a name of its own.");
  }
  return { source, alternatives, parameters: new Set(names.flat()) };
}

export const isPattern = (parsed: Pattern | PatternMistake): parsed is Pattern => "alternatives" in parsed;

/** The alternatives of a pattern without parameter names: two keys that share one have a route in common. */
export const alternativeIdentities = (pattern: Pattern): readonly string[] =>
  pattern.alternatives.map(alternativeIdentity);

/** The identity of one alternative. */
export const alternativeIdentity = (segments: readonly PatternSegment[]): string =>
  segments.map((segment) => `/${segmentIdentity(segment)}`).join("");

/** The identity of one segment. Parameters are written as control characters, which no segment can hold. */
export function segmentIdentity(segment: PatternSegment): string {
  switch (segment.kind) {
    case "static":
      return segment.text;
    case "mixed":
      return segment.parts.map((part) => (typeof part === "string" ? part : "\u0001")).join("");
    case "parameter":
      return "\u0001";
    case "wildcard":
      return "\u0002";
  }
}

function parseTokens(source: string): { readonly tokens: readonly Token[] } | PatternMistake {
  const tokens = tokensOf(source);
  if (tokens) return { tokens };
  const spelling = findSpelling(source, (candidate) => tokensOf(candidate) !== undefined);
  return invalid(
    "is not a pattern of path-to-regexp.",
    spelling === undefined ? SYNTAX : `Write \`${spelling}\`.`,
  );
}

/** The tokens of a pattern, or `undefined` where path-to-regexp does not take it. */
function tokensOf(source: string): readonly Token[] | undefined {
  return attempt(() => {
    const { tokens } = parse(source);
    pathToRegexp({ tokens });
    return tokens;
  });
}

const SYNTAX =
  "Write `/static`, `/:parameter`, `/*wildcard` and `{/:optional}`; escape other special characters with a backslash.";

const parameterNames = (tokens: readonly FlatToken[]): string[] =>
  tokens.flatMap((token) => ("name" in token ? [token.name] : []));

function expandGroups(tokens: readonly Token[]): FlatToken[][] {
  let alternatives: FlatToken[][] = [[]];
  for (const token of tokens) {
    const tails = token.type === "group" ? [...expandGroups(token.tokens), []] : [[token]];
    alternatives = alternatives.flatMap((head) => tails.map((tail) => [...head, ...tail]));
    if (alternatives.length > MAX_ALTERNATIVES) return alternatives;
  }
  return alternatives;
}

function readSegments(tokens: readonly FlatToken[], source: string): PatternSegment[] | PatternMistake {
  const [first] = tokens;
  if (first?.type !== "text" || !first.value.startsWith("/")) {
    return invalid(
      "does not begin with a slash.",
      "Write the whole path from `/` on, mount prefix included.",
    );
  }
  const segments: SegmentPart[][] = [];
  let parts: SegmentPart[] = [];
  for (const token of tokens) {
    if (token.type !== "text") {
      parts.push(token);
      continue;
    }
    for (const [index, text] of token.value.split("/").entries()) {
      if (index > 0) segments.push((parts = []));
      if (text !== "") appendText(parts, text);
    }
  }
  if (segments.some((parts) => parts.length > 1 && parts.some(isWildcard))) {
    return invalid(
      "has a wildcard that shares its segment.",
      "Let the wildcard be a whole segment: `/files/*path`.",
    );
  }
  if (segments.filter((parts) => parts.some(isWildcard)).length > 1) {
    return invalid("has two wildcards.", "Write one: routers divide a path between two in different ways.");
  }
  if (segments.length === 1 && segments.flat().length === 0) return [];
  return unreachableSegments(segments, source) ?? segments.map(readSegment);
}

/** Texts that an optional group left side by side are one text. */
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

/** A pattern whose own sample path is refused, or read as another path, would never be asked. */
function unreachableSegments(
  segments: readonly (readonly SegmentPart[])[],
  source: string,
): PatternMistake | undefined {
  const sample = segments.map((parts) =>
    parts.map((part) => (typeof part === "string" ? part : "x")).join(""),
  );
  const read = readTarget(`/${sample.join("/")}`);
  if (read?.length === sample.length && read.every((segment, index) => segment === sample[index]))
    return undefined;
  const encoded = source.replaceAll(/[^\x20-\x7e]+/g, encodeURI);
  const isForeign = encoded !== source && readTarget(`/${sample.map(encodeURI).join("/")}`) !== undefined;
  return {
    code: "route_unreachable",
    message: "is a path that no request is let through with.",
    hint: isForeign
      ? `Write it percent-encoded, as it travels: \`${encoded}\`.`
      : "Write a path without empty and dot segments, query, fragment, backslash and encoded slashes.",
  };
}

const isWildcard = (part: SegmentPart): boolean => typeof part !== "string" && part.type === "wildcard";

const invalid = (message: string, hint: string): PatternMistake => ({
  code: "route_pattern_invalid",
  message,
  hint,
});
