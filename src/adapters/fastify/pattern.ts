import { literalPattern, quoteName, unquote } from "../../core/policy/pattern-text.ts";

/**
 * Converts a Fastify route (find-my-way's syntax) to a pattern in path-to-regexp's syntax that matches at
 * least the same paths. Regular expressions are left out, and the last wildcard is named `*`, as in
 * `request.params`. No rule covers a wildcard that shares its segment: no pattern can express it.
 */
export function toPattern(url: string): string {
  if (url === "*") return '/*"*"';
  const segments = emptyExpressions(url.slice(1)).split("/");
  return segments
    .map((segment) => {
      const isOptional = segment.endsWith("?") && segment.includes(":");
      const pattern = `/${(isOptional ? segment.slice(0, -1) : segment).replace(TOKEN, toPart)}`;
      return isOptional ? `{${pattern}}` : pattern;
    })
    .join("");
}

/** Converts a Fastify route for the table: its wildcard is named `path`, unless a parameter has this name. */
export function toWrittenPattern(url: string): string {
  const pattern = toPattern(url);
  return unquote(pattern.includes(':"path"') ? pattern : pattern.replace(/\*"\*"$/, "*path"));
}

const patterns = new Map<string, string>();

/** Returns the pattern of a route. An application has few, so they are cached. */
export function patternOf(url: string): string {
  let pattern = patterns.get(url);
  if (pattern === undefined) patterns.set(url, (pattern = toWrittenPattern(url)));
  return pattern;
}

/** Replaces the regular expression after a parameter with `()`, because it may contain slashes and colons. */
function emptyExpressions(url: string): string {
  let left = "";
  let depth = 0;
  for (const char of url) {
    if (char === "(" && (depth > 0 || PARAMETER_AT_END.test(left))) depth += 1;
    if (depth === 0 || (depth === 1 && char === "(")) left += char;
    if (char === ")" && depth > 0) {
      depth -= 1;
      if (depth === 0) left += char;
    }
  }
  return left;
}

/** A name ends where find-my-way ends it. A double colon is a colon in the static text. */
const PARAMETER_AT_END = /(?:^|[^:])(?:::)*:[^:/\-.(]+$/;

const TOKEN = /::|\*|:([^:/\-.(]+)(?:\(\))?|.[^:*]*/gs;

function toPart(token: string, name: string | undefined): string {
  if (token === "::") return "\\:";
  if (token === "*") return '*"*"';
  return name === undefined ? literalPattern(encodeURI(token).replaceAll("%25", "%")) : `:${quoteName(name)}`;
}
