/** The pattern syntax of other routers and tools, translated to the syntax of the table. */

/** Parameters of OpenAPI, Go, ASP.NET, Flask and Fiber. The second value is the sign of the name here. */
const FOREIGN_PARAMETERS: readonly (readonly [RegExp, string])[] = [
  [/:(\w+)<[^<>]*>/g, ":"],
  [/\{(\w+)\.\.\.\}|<path:(\w+)>/g, "*"],
  [/\{(\w+)(?::[^{}]*)?\}|<(?:\w+:)?(\w+)>/g, ":"],
];

/** Routes as hosts write them: the folders of Next.js and SvelteKit, h3, and API Gateway. */
const HOST_SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/\/\([\w-]+\)(?=\/|$)/g, ""],
  [/\/\[\[\.\.\.(\w+)\]\]/, "{/*$1}"],
  [/\/(?:\[\.\.\.(\w+)\]|\*\*:(\w+)|\{(\w+)\+\})/, "/*$1$2$3"],
  [/\/\*\*$/, "/*_"],
  [/\/\[\[(\w+)(?:=\w+)?\]\]/g, "{/:$1}"],
  [/\/(?:\[(\w+)(?:=\w+)?\]|\{(\w+)\})/g, "/:$1$2"],
  [/^\{\/([^{}]+)\}$|^$/, "/{$1}"],
  [/\{\}$/, ""],
];

const translateHost = (route: string): string =>
  HOST_SPELLINGS.reduce((text, [spelling, written]) => text.replace(spelling, written), route);

/** Translates a route that a host reports. Its parameters show whether a wildcard has a segment. */
export const fromHost = (route: string): string => includeRoot(translateHost(route));

const REWRITES: readonly ((source: string) => string)[] = [
  (source) => includeRoot(source.replace(/\/(?:\*+|\(\.\*\)|:\w+\*)(?=\/|$)/, "/*path")),
  (source) => source.replaceAll(/(?:\/:\w+\?)+/g, nestGroups).replace(/^\{\/:/, "/{:"),
  (source) => source.replaceAll(/(:\w+)\((?:[^()]|\([^()]*\))*\)/g, "$1"),
  (source) => (/\/\[|\+\}/.test(source) ? translateHost(source) : ""),
];

/** Of several optional parameters, routers fill the first ones: `/:a?/:b?` is `{/:a{/:b}}`. */
const nestGroups = (run: string): string =>
  run.replaceAll("/:", "{/:").replaceAll("?", "") + "}".repeat(run.split("?").length - 1);

/** Translates the parameters of other routers to the syntax of the table. */
export function translateParameters(source: string): string {
  const translated = FOREIGN_PARAMETERS.reduce(
    (text, [parameter, sign]) =>
      text.replaceAll(parameter, (...match: readonly unknown[]) => sign + nameFor(match)),
    source,
  );
  return translated === source ? source : includeRoot(translated);
}

/** With a wildcard at the end, the path above it is usually meant too: `/files{/*path}`. */
export const includeRoot = (source: string): string =>
  source.replace(/^\/(\*\w+)$/, "/{$1}").replace(/(?<=.)\/(\*\w+)$/, "{/$1}");

/** Quoted if characters follow directly, because they would become part of the name. */
function nameFor(match: readonly unknown[]): string {
  const [whole, ...groups] = match;
  const name = String(groups.find((group) => typeof group === "string"));
  const [offset, text] = groups.slice(groups.findIndex((group) => typeof group === "number"));
  const next = String(text).charAt(Number(offset) + String(whole).length);
  return /\w/.test(next) ? `"${name}"` : name;
}

/** Finds the valid pattern that was probably meant by an invalid one. */
export function findSpelling(source: string, isPattern: (candidate: string) => boolean): string | undefined {
  return REWRITES.map((rewrite) => rewrite(source)).find(
    (candidate) => candidate.startsWith("/") && isPattern(candidate),
  );
}

/**
 * Translates a pattern from the syntax of path-to-regexp before version 8 (Express 4, older Koa routers).
 * Regular expressions that can't match a slash are left out, so that the result matches at least the same
 * paths. A pattern that can't be translated stays invalid.
 */
export const modernize = (source: string): string =>
  source
    .replaceAll(/(:\w+)\(((?:[^()]|\([^()]*\))*)\)/g, (whole, name: string, expression: string) =>
      WITHOUT_SLASH.test(expression) ? name : whole,
    )
    .replaceAll(/\/(:\w+)\?/g, "{/$1}")
    .replace(/\/:(\w+)\*$/, "{/*$1}")
    .replace(/\/:(\w+)[*+]$/, "/*$1")
    .replace(/^\*$/, "/*")
    .replace(/\/(?:\*|\(\.\*\))$/, "/{*path}")
    // Routers with path-to-regexp 8 also allow a pattern without a slash at the beginning.
    .replace(/^\{?(\*\w+)\}?$/, "/{$1}")
    .replace(/^\{\/([^{}]+)\}/, "/{$1}");

/**
 * Regular expressions of letters, digits, classes of them and repetitions, none of which matches a slash. `*`
 * is excluded, because path-to-regexp 0.1 replaces it with `(.*)`.
 */
const WITHOUT_SLASH = /^(?:\\[dw]|[\w|+?{},-]|\[(?:[\w-]|\\[dw])+\]|[()])+$/;
