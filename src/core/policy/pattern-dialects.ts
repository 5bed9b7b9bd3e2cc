/** The pattern syntax of other routers and tools, translated to the syntax of the table. */

/** Parameters of OpenAPI, Go, ASP.NET, Flask and Fiber. The second value is the sign of the name here. */
const FOREIGN_PARAMETERS: readonly (readonly [RegExp, string])[] = [
  [/:(\w+)<[^<>]*>/g, ":"],
  [/\{(\w+)\.\.\.\}|<path:(\w+)>/g, "*"],
  [/\{(\w+)(?::[^{}]*)?\}|<(?:\w+:)?(\w+)>/g, ":"],
];

const REWRITES: readonly ((source: string) => string)[] = [
  (source) => includeRoot(source.replace(/\/(?:\*+|\(\.\*\)|:\w+\*)(?=\/|$)/, "/*path")),
  (source) => source.replace(/^\/:(\w+)\?/, "/{:$1}").replace(/\/:\w+\?/, (part) => `{${part.slice(0, -1)}}`),
  (source) => source.replaceAll(/(:\w+)\((?:[^()]|\([^()]*\))*\)/g, "$1"),
];

/** Translates the parameters of other routers to the syntax of the table. */
export function translateParameters(source: string): string {
  const translated = FOREIGN_PARAMETERS.reduce(
    (text, [parameter, sign]) =>
      text.replaceAll(parameter, (...match: readonly unknown[]) => sign + nameFor(match)),
    source,
  );
  return translated === source ? source : includeRoot(translated);
}

/** The author of a wildcard at the end usually means the path above it, too: `/files{/*path}`. */
const includeRoot = (source: string): string =>
  source.replace(/^\/(\*\w+)$/, "/{$1}").replace(/(?<=.)\/(\*\w+)$/, "{/$1}");

/** A name that text follows directly would be longer without quotation marks. */
function nameFor(match: readonly unknown[]): string {
  const [whole, ...groups] = match;
  const name = String(groups.find((group) => typeof group === "string"));
  const [offset, text] = groups.slice(groups.findIndex((group) => typeof group === "number"));
  const next = String(text).charAt(Number(offset) + String(whole).length);
  return /\w/.test(next) ? `"${name}"` : name;
}

/** Finds a valid pattern that an invalid one was probably meant to be. */
export function findSpelling(source: string, isPattern: (candidate: string) => boolean): string | undefined {
  return REWRITES.map((rewrite) => rewrite(source)).find(
    (candidate) => candidate.startsWith("/") && isPattern(candidate),
  );
}

/**
 * Translates a pattern from the syntax of path-to-regexp before version 8 (Express 4, older Koa routers).
 * Regular expressions that cannot match a slash are left out, so that the result matches at least the same
 * paths. A pattern that cannot be translated stays invalid.
 */
export const modernize = (source: string): string =>
  source
    .replaceAll(/(:\w+)\(((?:[^()]|\([^()]*\))*)\)/g, (whole, name: string, expression: string) =>
      WITHOUT_SLASH.test(expression) ? name : whole,
    )
    .replaceAll(/\/(:\w+)\?/g, "{/$1}")
    .replace(/\/:(\w+)[*+]$/, "/*$1")
    .replace(/^\*$/, "/*")
    .replace(/\/(?:\*|\(\.\*\))$/, "/{*path}")
    // Also without a slash at the beginning, which routers of path-to-regexp 8 allow.
    .replace(/^\{?(\*\w+)\}?$/, "/{$1}")
    .replace(/^\{\/([^{}]+)\}/, "/{$1}");

/**
 * Regular expressions of letters, digits, classes of them and repetitions. None of them matches a slash. A
 * `*` may, because path-to-regexp 0.1 replaces it by `(.*)`.
 */
const WITHOUT_SLASH = /^(?:\\[dw]|[\w|+?{},-]|\[(?:[\w-]|\\[dw])+\]|[()])+$/;
