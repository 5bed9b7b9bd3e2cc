/**
 * What scopegate promises about scopes, tables, paths and routes. Written to be read, not to be fast: it tries
 * every reading of a path, and imports nothing from the library. `npm run test:model` compares the two.
 */
import { decode, divide, type Divided, remember, subsetsOf } from "./helpers.ts";

/** Returns whether a granted scope covers a required one. `agents:read` is for every id, as `agents:*:read` is. */
export function covers(granted: string, required: string): boolean {
  const parts = partsOfScope(required);
  const [resource, id, action] = parts;
  // `agents:<any>:read` requires the id that is granted, whichever it is.
  const sought = id === "<any>" ? partsOfScope(granted)[1] : id;
  return granted === required || (parts.length > 0 && coversParts(granted, [resource, sought, action]));
}

/** Like `covers`, for a scope in parts. Its id comes from a path: it may be empty, be `*`, or contain colons. */
export function coversParts(
  granted: string,
  [resource, id, action]: readonly (string | undefined)[],
): boolean {
  const [grantedResource, grantedId, grantedAction] = partsOfScope(granted);
  const isForId = grantedId === "*" || grantedId === id;
  return grantedResource === resource && grantedAction === action && isForId;
}

/** A scope of another form, such as a URI, has no parts: it covers only itself. */
function partsOfScope(scope: string): readonly (string | undefined)[] {
  const parts = scope.startsWith("urn:") || scope.includes("://") ? [] : scope.split(":");
  if (parts.includes("")) return [];
  if (parts.length === 2) return [parts[0], "*", parts[1]];
  return parts.length === 3 ? parts : [];
}

/** Nothing ("public"), no token or a valid one ("optional"), or a token with all of these scopes. */
export type Requirement = "public" | "optional" | Texts;

/** An entry of a table. The method `*` stands for every method. */
export interface Rule {
  readonly method: string;
  readonly pattern: string;
  readonly requirement: Requirement;
}

type Table = readonly Rule[];
type Texts = readonly string[];
/** Returns whether a caller satisfies a requirement. `scopes` is `undefined` for a caller without a token. */
export function isSatisfied(requirement: Requirement, scopes: Texts | undefined): boolean {
  if (typeof requirement === "string") return true;
  const isGranted = (required: string): boolean => (scopes ?? []).some((scope) => covers(scope, required));
  return scopes !== undefined && requirement.every(isGranted);
}

/** Returns whether every caller who satisfies the first requirement satisfies the second one. */
export function implies(first: Requirement, second: Requirement): boolean {
  if (second === "public" || first === second) return true;
  if (first === "public" || first === "optional") return false;
  return second === "optional" || second.every((scope) => first.some((granted) => covers(granted, scope)));
}

/** Reads a target in origin form, without a query. Returns `undefined` if routers could read it in several ways. */
export function readTarget(target: string): Divided | undefined {
  if (!target.startsWith("/") || target.length > 8192) return undefined;
  const path = divide(target);
  return path.segments.every(isReadable) ? path : undefined;
}

function isReadable(segment: string): boolean {
  const decoded = decode(segment);
  if (decoded === undefined || decoded === "." || decoded === ".." || !/^[!-~]+$/.test(segment)) return false;
  return (
    !/[;#?]/.test(segment) && Array.from(decoded).every((char) => char >= " " && !"/\\\u007f".includes(char))
  );
}

/** A pattern with a group in braces stands for two patterns: with the group, and without it. */
export const alternativesOf = remember((pattern: string): readonly Divided[] => {
  const [, before, group, after] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  if (before === undefined) return [divide(pattern)];
  return [`${before}${group}${after}`, `${before}${after}`].map(divide);
});

const isWildcard = (segment: string | undefined): boolean => segment?.startsWith("*") ?? false;
const isParameter = (segment: string): boolean => /^:\w+$/.test(segment);
const isText = (segment: string): boolean => segment !== "" && !/[:*]/.test(segment);

const fold = (text: string): string => text.toUpperCase().toLowerCase();
const decodeOnce = (text: string): string => decode(text) ?? text;
/** The loosest spelling of a text: decoded as often as any router decodes it, in one letter case. */
const loosen = (text: string): string => fold(decodeOnce(decodeOnce(text)));

const withoutNames = (segment: string): string => segment.replace(/([:*])\w+/g, "$1");
/** Equal for patterns that are one route: names of parameters, letter case and encoding make no difference. */
const routeOf = remember((all: Texts): string =>
  all.map((text) => `/${loosen(withoutNames(text))}`).join(""),
);

/** `empty` is the value of a parameter: some routers match it, others match it only to a wildcard. */
type Spelling = "exact" | "case" | "decoded" | "empty";
/** Returns how a path spells the text of one segment of a pattern, or `undefined` for another text. */
function spellingOf(pattern: string, segment: string): Spelling | undefined {
  const matchesText = (spell: (text: string) => string): boolean => {
    const texts = pattern.split(/:\w+/).map((text) => spell(text).replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${texts.join(".+")}$`).test(spell(segment));
  };
  if (matchesText((text) => text)) return "exact";
  if (matchesText(fold)) return "case";
  return matchesText(loosen) ? "decoded" : undefined;
}

/** How a pattern matches a path: which of its texts are spelled differently, and how narrow each segment is. */
interface Match {
  readonly misspelled: ReadonlyMap<string, Spelling>;
  readonly ranks: Texts;
}

/** Text, text beside parameters (more text before less, then by alphabet), a parameter, a wildcard. */
function rankOf(segment: string): string {
  if (isText(segment) || isParameter(segment)) return isText(segment) ? "0" : "2";
  return isWildcard(segment)
    ? "3"
    : `${2 - loosen(segment.replace(/:\w+/g, "")).length / 1000} ${routeOf([segment])}`;
}
const REST_OF_WILDCARD = "4";
/** Matches the segments of a pattern with those of a path. A wildcard matches at least one segment. */
export const matchSegments = remember((pattern: Texts, path: Texts): Match | undefined => {
  const wildcard = pattern.findIndex(isWildcard);
  const surplus = path.length - pattern.length;
  if (surplus < 0 || (surplus > 0 && wildcard < 0)) return undefined;
  const misspelled = new Map<string, Spelling>();
  const ranks: string[] = [];
  for (const [index, segment] of pattern.entries()) {
    ranks.push(rankOf(segment));
    if (index === wildcard) ranks.push(...new Array<string>(surplus).fill(REST_OF_WILDCARD));
    if (index === wildcard) continue;
    const place = wildcard >= 0 && index > wildcard ? index + surplus : index;
    const text = path[place] ?? "";
    if (isParameter(segment) && text !== "") continue;
    const spelling = isParameter(segment) ? "empty" : spellingOf(segment, text);
    if (!spelling) return undefined;
    // A router treats one text at one place in one way, whichever rule it belongs to.
    if (spelling !== "exact") misspelled.set(`${place} ${routeOf(pattern.slice(0, index + 1))}`, spelling);
  }
  return { misspelled, ranks };
});

/** The methods of the rules for a request, the narrowest first. Frameworks run the GET handler for HEAD. */
const methodsFor = (method: string): Texts => (method === "HEAD" ? ["HEAD", "GET", "*"] : [method, "*"]);

/** A rule that some router could match to a path, and the alternative of its pattern that matches. */
export interface Candidate extends Match {
  readonly rule: Rule;
  readonly alternative: Divided;
  /** Whether the table writes this route, for this method, with a slash at the end or without, as the path does. */
  readonly endsAsWritten: boolean;
}

/** The alternatives of the rules for a method. Two with the same place are one route and one method. */
const writtenFor = remember((table: Table, method: string) =>
  table
    .filter((rule) => methodsFor(method).includes(rule.method))
    .flatMap((rule) => alternativesOf(rule.pattern).map((alternative) => ({ rule, alternative })))
    .map((entry) => ({ ...entry, place: `${entry.rule.method} ${routeOf(entry.alternative.segments)}` })),
);

/** Finds every rule that some router could match to a path. */
export function candidatesFor(table: Table, method: string, path: Divided): readonly Candidate[] {
  const written = writtenFor(table, method);
  return written.flatMap(({ rule, alternative, place }) => {
    const match = matchSegments(alternative.segments, path.segments);
    if (!match) return [];
    const samePlace = written.filter((other) => other.place === place);
    const endsAsWritten = samePlace.some((other) => other.alternative.hasSlash === path.hasSlash);
    return [{ ...match, rule, alternative, endsAsWritten }];
  });
}

/** The narrowest path decides; at one path, the exact method; of equal rules, the one without a group. */
export function narrowestOf(candidates: readonly Candidate[], method: string): Candidate | undefined {
  const orderOf = ({ ranks, rule }: Candidate): string =>
    [...ranks, methodsFor(method).indexOf(rule.method), alternativesOf(rule.pattern).length].join();
  return candidates.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))[0];
}

const isSpelled = ({ misspelled }: Match): boolean => misspelled.size === 0;
/** Finds the rules that some reading of a path reaches: a router accepts each misspelled text, or does not. */
function readingsOf(candidates: readonly Candidate[], method: string): readonly Candidate[] {
  const places = new Set(candidates.flatMap(({ misspelled }) => [...misspelled.keys()]));
  return subsetsOf([...places]).flatMap((accepted) => {
    const lenient = candidates.filter(({ misspelled }) =>
      [...misspelled.keys()].every((place) => accepted.includes(place)),
    );
    // For a strict router a slash at the end counts, except after a wildcard.
    const strict = lenient.filter(
      ({ endsAsWritten, alternative: { segments } }) => endsAsWritten || isWildcard(segments.at(-1)),
    );
    return [lenient, strict].flatMap((readable) => narrowestOf(readable, method) ?? []);
  });
}

/** What decides a request: all of some rules, no rule, or 400. Exact: no router can misread it, or it is unmapped. */
export interface Ruling {
  readonly kind: "rules" | "unmapped" | "ambiguous";
  readonly rules: ReadonlySet<Rule>;
  readonly isExact: boolean;
}
const AMBIGUOUS: Ruling = { kind: "ambiguous", rules: new Set(), isExact: false };
const MAX_RULES = 8;
/** The rules of a path, from the candidates for it: one if it is exact, or those of all its readings. */
export function rulesOfPath(candidates: readonly Candidate[], method: string, hasSlash: boolean): Ruling {
  const narrowest = narrowestOf(candidates, method);
  if (!narrowest) return { kind: "unmapped", rules: new Set(), isExact: true };
  const exact: Ruling = { kind: "rules", rules: new Set([narrowest.rule]), isExact: true };
  if (isSpelled(narrowest) && narrowest.endsAsWritten) return exact;
  const reached = readingsOf(candidates, method);
  const rules = new Set(reached.map(({ rule }) => rule));
  if (isSpelled(narrowest) && rules.size === 1 && !hasSlash) return exact;
  // A reading that decodes adds rules to those of other readings. Alone, it is not enough.
  if (reached.every(({ misspelled }) => [...misspelled.values()].includes("decoded"))) return AMBIGUOUS;
  const isOpen = [...rules].every(({ requirement }) => typeof requirement === "string");
  if (rules.size > MAX_RULES || (!isSpelled(narrowest) && isOpen)) return AMBIGUOUS;
  return { kind: "rules", rules, isExact: false };
}

/** If no matched route will be checked, an inexact path is refused. */
export const withoutRoute = (ofPath: Ruling): Ruling => (ofPath.isExact ? ofPath : AMBIGUOUS);
const withEmpty = remember((segments: Texts): Texts => [...segments, ""]);
/** Adds the narrowest rule that covers the matched route to the rules of the path. */
export function rulesOfRoute(
  table: Table,
  method: string,
  path: Divided,
  route: string,
  ofPath: Ruling,
): Ruling {
  // Fastify matches an empty parameter or wildcard after a trailing slash.
  const withEmptySegment = { segments: withEmpty(path.segments), hasSlash: false };
  const readings = path.hasSlash || path.segments.length === 0 ? [path, withEmptySegment] : [path];
  const rules = new Set(ofPath.rules);
  let isRoute = false;
  for (const { segments } of alternativesOf(route)) {
    const reading = readings.find((read) => matchSegments(segments, read.segments));
    if (!reading) continue;
    isRoute = true;
    const covering = ruleCovering(table, method, segments);
    if (!covering && !ofPath.isExact) return AMBIGUOUS;
    const isEmptyValue = covering && reading !== path;
    const further = isEmptyValue ? readingsOf(candidatesFor(table, method, reading), method) : [];
    for (const rule of [covering, ...further.map((candidate) => candidate.rule)]) if (rule) rules.add(rule);
  }
  if (!isRoute || ofPath.kind === "ambiguous") return AMBIGUOUS;
  return { kind: rules.size > 0 ? "rules" : "unmapped", rules, isExact: ofPath.isExact };
}

const sampleOf = remember((route: Texts): Texts => route.map((text) => text.replace(/[:*]\w+/g, "~sample")));
/** Finds the narrowest rule that covers a whole route. */
export function ruleCovering(table: Table, method: string, route: Texts): Rule | undefined {
  const sample = sampleOf(route);
  const covering = candidatesFor(table, method, { segments: sample, hasSlash: false }).filter(
    ({ alternative }) => isInside(route, alternative.segments),
  );
  return narrowestOf(covering, method)?.rule;
}

/** Returns whether every path of a route matches the segments `outer`. Only a wildcard covers a wildcard. */
function isInside([segment, ...rest]: Texts, outer: Texts): boolean {
  const [outerSegment, ...outerRest] = outer;
  if (segment === undefined || outerSegment === undefined) return segment === outerSegment;
  if (isWildcard(outerSegment)) return isInside(rest, outerRest) || isInside(rest, outer);
  const isCovered = isParameter(outerSegment) || spellingOf(outerSegment, withoutNames(segment));
  return !isWildcard(segment) && Boolean(isCovered) && isInside(rest, outerRest);
}

/** Returns whether two rules of one table are different routes, and spell their common texts in one way. */
export function areDistinct(rule: Rule, other: Rule): boolean {
  const isRepetition = isSubtreeOf(rule, other) || isSubtreeOf(other, rule);
  for (const { segments: a } of alternativesOf(rule.pattern))
    for (const { segments: b } of alternativesOf(other.pattern)) {
      if (rule.method === other.method && routeOf(a) === routeOf(b) && !isRepetition) return false;
      const place = a.findIndex((text, index) => withoutNames(text) !== withoutNames(b[index] ?? ""));
      if (place >= 0 && routeOf(a.slice(0, place + 1)) === routeOf(b.slice(0, place + 1))) return false;
    }
  return true;
}

/** `/docs{/*path}` may stand beside `/docs`, if both require the same. */
const isSubtreeOf = (subtree: Rule, root: Rule): boolean =>
  /(?:\/\{|\{\/)\*\w+\}$/.test(subtree.pattern) &&
  subtree.pattern.replace(/..\*\w+\}$/, "") === root.pattern.replace(/\/$/, "") &&
  JSON.stringify(subtree.requirement) === JSON.stringify(root.requirement);

/** Returns whether the deciding rule is narrower than each other matching rule, or requires at least as much. */
export function isOrdered(table: Table, method: string, path: Divided): boolean {
  const candidates = candidatesFor(table, method, path);
  const spelled = candidates.filter(isSpelled);
  const deciding = narrowestOf(spelled, method);
  if (!deciding) return true;
  // Two texts of the table that are one text in the loosest spelling have paths in common.
  const matching = deciding.rule === narrowestOf(candidates, method)?.rule ? candidates : spelled;
  const { rule, alternative } = deciding;
  // Frameworks run the GET handler for HEAD: that of the path, and that of a route in any spelling.
  const ofGet = narrowestOf(candidatesFor(table, "GET", path).filter(isSpelled), "GET")?.rule;
  for (const get of [ofGet, ruleCovering(table, "GET", alternative.segments)])
    if (rule.method === "HEAD" && get && !implies(rule.requirement, get.requirement)) return false;
  const methods = methodsFor(method);
  return matching.every((other) => {
    const isMethodNarrower = methods.indexOf(rule.method) <= methods.indexOf(other.rule.method);
    const isNarrower = isMethodNarrower && isInside(alternative.segments, other.alternative.segments);
    return isNarrower || implies(rule.requirement, other.rule.requirement);
  });
}
