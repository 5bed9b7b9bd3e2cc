/** Names of operations with a variable part: `docs_*`, and URI templates of resources (RFC 6570). */
import { orUndefined } from "../../core/errors.ts";
import type { KeyMistake } from "../../core/policy/key-language.ts";

/** A string that a name contains, or a variable. */
type NamePart = string | Variable;

interface Variable {
  readonly name: string;
  /** `segment` matches no slash and no comma, `query` no ampersand. `end` is a `rest` that may be empty. */
  readonly kind: "segment" | "query" | "rest" | "end";
}

/** The name in a key, with a variable part, compiled. */
export interface NamePattern {
  readonly source: string;
  readonly parts: readonly NamePart[];
  /** The names of its variables: `docs_*` has none. */
  readonly variables: readonly string[];
  /** Equal for patterns that differ only in the names of variables. */
  readonly identity: string;
}

/**
 * Characters that stand for all values of a variable: only a variable that matches all of these values
 * matches the character.
 */
const PLACEHOLDERS = { segment: "\uE000", query: "\uE001", rest: "\uE002", end: "\uE002" } as const;

/** Returns the pattern of `docs*`: all names that begin with the string before the asterisk, and `docs`. */
export function parsePrefix(source: string): NamePattern {
  const parts = [source.slice(0, -1), { name: "", kind: "end" as const }];
  return { source, parts, variables: [], identity: source };
}

const EXPRESSION = /\{([^{}]*)\}/;
const OPERATOR = /^[+#./?&]/;

/**
 * Parses a template as both versions of the official SDK match it, which is only a part of RFC 6570: `{?a,b}`
 * needs its parameters in this order, and `{a,b}` outside a query loses its second name.
 */
export function parseTemplate(source: string): NamePattern | KeyMistake {
  const parts: NamePart[] = [];
  for (const [index, piece] of source.split(EXPRESSION).entries()) {
    if (index % 2 === 0) {
      if (/[{}]/.test(piece))
        return { message: "has a brace without a matching brace.", hint: TEMPLATE_FORM };
      if (piece !== "") parts.push(piece);
      continue;
    }
    const expression = parseExpression(piece);
    if ("message" in expression) return expression;
    parts.push(...expression.parts);
  }
  const variables = parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]));
  const repeated = variables.find((name, index) => variables.indexOf(name) !== index);
  if (repeated !== undefined)
    return { message: `has the variable \`${repeated}\` twice.`, hint: "Give each variable its own name." };
  const pattern = { source, parts, variables, identity: fillPlaceholders(parts) };
  return findOtherSpelling(pattern) ?? pattern;
}

const TEMPLATE_FORM =
  "Write `{name}` for one segment of the URI, or `{+name}` for the rest of it, with one name in each pair of braces.";

function parseExpression(text: string): { readonly parts: readonly NamePart[] } | KeyMistake {
  const operator = OPERATOR.exec(text)?.[0] ?? "";
  const names = text.slice(operator.length).split(",");
  if (!names.every((name) => /^[^\s*:%{}]+$/.test(name)))
    return { message: `has \`{${text}}\`, which doesn't always have one value.`, hint: TEMPLATE_FORM };
  if (operator === "?" || operator === "&")
    return {
      parts: names.flatMap((name, index) => [
        `${index === 0 ? operator : "&"}${name}=`,
        { name, kind: "query" as const },
      ]),
    };
  const [name = "", ...otherNames] = names;
  if (otherNames.length > 0)
    return {
      message: `has \`{${text}}\`, but servers match only its first name.`,
      hint: `Write ${names.map((each) => `{${operator}${each}}`).join(",")}.`,
    };
  if (operator === "+" || operator === "#") return { parts: [{ name, kind: "rest" }] };
  return { parts: operator === "" ? [{ name, kind: "segment" }] : [operator, { name, kind: "segment" }] };
}

/** Renders a pattern with a value instead of each variable. */
const fill = (parts: readonly NamePart[], valueFor: (variable: Variable) => string): string =>
  parts.map((part) => (typeof part === "string" ? part : valueFor(part))).join("");

/** Returns a name that a pattern matches. */
export const fillName = ({ parts }: NamePattern, valueOf: (variable: string) => string): string =>
  fill(parts, ({ name }) => valueOf(name));

const fillPlaceholders = (parts: readonly NamePart[]): string =>
  fill(parts, ({ kind }) => PLACEHOLDERS[kind]);

/** Servers compare a template with the URI as the URL standard spells it. */
function findOtherSpelling({ source, parts }: Pick<NamePattern, "source" | "parts">): KeyMistake | undefined {
  const samples = ["x", "1"].map((value) => fill(parts, () => value));
  if (samples.some((sample) => orUndefined(() => new URL(sample).href) === sample)) return undefined;
  const spelled = orUndefined(() => new URL(source).href.replaceAll("%7B", "{").replaceAll("%7D", "}"));
  return {
    message: `\`${source}\` matches no URI, because it isn't spelled as a URL is.`,
    hint:
      spelled === undefined || spelled === source
        ? "Write a scheme and the rest of the URI: `docs://{name}`, `file:///{+path}`."
        : `Write \`${spelled}\`.`,
  };
}

/** Returns whether the wider pattern is known to match every name that the narrower one matches. */
export const contains = (wider: NamePattern, narrower: NamePattern): boolean =>
  matchName(wider, fillPlaceholders(narrower.parts)) !== undefined;

/**
 * Returns whether a server may match a name that the official SDK doesn't match: `{name}` with a comma, and
 * query parameters in another order, repeated, or missing.
 */
export function mayMatch(pattern: NamePattern, name: string): boolean {
  if (name.includes(",") && matchName(pattern, name, "with commas")) return true;
  const parts: NamePart[] = [];
  for (const part of pattern.parts) {
    const [path = "", query] = typeof part === "string" ? part.split("?", 2) : [];
    if (query !== undefined) {
      const beforeQuery = { ...pattern, parts: path === "" ? parts : [...parts, path] };
      return matchName(beforeQuery, name.split(/[?&]/, 1)[0] ?? "", "with commas") !== undefined;
    }
    parts.push(part);
  }
  return false;
}

/** How strictly a name is compared. Some servers also match commas where the official SDK doesn't. */
type Strictness = "as the SDK" | "with commas";

/**
 * Matches a name, and returns the values of the variables; `undefined` if it doesn't match. As in the regular
 * expressions of the SDK, each variable takes as much as it can, from left to right. Unlike them, it takes
 * linear time: the longest end of each part is found once, from right to left.
 */
export function matchName(
  { parts, variables }: NamePattern,
  name: string,
  strictness: Strictness = "as the SDK",
): ReadonlyMap<string, string> | undefined {
  const [first] = parts;
  if (typeof first === "string" && !name.startsWith(first)) return undefined;
  if (parts.length === 1 && typeof first === "string") return name === first ? new Map() : undefined;
  let ends = new Int32Array(name.length + 1).fill(-1);
  ends[name.length] = name.length;
  const endsOfParts: Int32Array[] = [];
  for (const part of parts.toReversed()) {
    ends =
      typeof part === "string" ? endsOfText(part, name, ends) : endsOfVariable(part, name, ends, strictness);
    endsOfParts.unshift(ends);
  }
  if (ends[0] === -1) return undefined;
  const values = new Map<string, string>();
  let start = 0;
  for (const [index, part] of parts.entries()) {
    const end = endsOfParts[index]?.[start] ?? -1;
    if (typeof part !== "string" && variables.includes(part.name))
      values.set(part.name, valueOf(name.slice(start, end)));
    start = end;
  }
  return values;
}

/** Handlers may or may not decode an escape, and may split a list, so these values aren't certain. */
const valueOf = (text: string): string => (/[%,]/.test(text) ? "" : text);

function endsOfText(text: string, name: string, next: Int32Array): Int32Array<ArrayBuffer> {
  const ends = new Int32Array(name.length + 1).fill(-1);
  for (let at = name.indexOf(text); at >= 0; at = name.indexOf(text, at + 1))
    if (next[at + text.length] !== -1) ends[at] = at + text.length;
  return ends;
}

/** A variable matches at least one character, except at the end of `docs*`. */
function endsOfVariable(
  variable: Variable,
  name: string,
  next: Int32Array,
  strictness: Strictness,
): Int32Array<ArrayBuffer> {
  if (variable.kind === "end") return new Int32Array(name.length + 1).fill(name.length);
  const ends = new Int32Array(name.length + 1).fill(-1);
  let longest = -1;
  for (let start = name.length - 1; start >= 0; start -= 1) {
    if (!allows(variable, name.charAt(start), strictness)) longest = -1;
    else if (longest === -1 && next[start + 1] !== -1) longest = start + 1;
    ends[start] = longest;
  }
  return ends;
}

function allows({ kind }: Variable, character: string, strictness: Strictness): boolean {
  if (kind === "rest") return true;
  if (kind === "query") return !["&", PLACEHOLDERS.segment, PLACEHOLDERS.rest].includes(character);
  if (["/", PLACEHOLDERS.query, PLACEHOLDERS.rest].includes(character)) return false;
  return character !== "," || strictness === "with commas";
}
