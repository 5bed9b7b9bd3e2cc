/** The pattern syntax of other routers and tools, translated to the syntax of the table. */

/** `/files/{id}` and `/files/<id>` are parameters in OpenAPI and Flask. Here they are a group and text. */
const FOREIGN_PARAMETER = /\/(?:\{(\w+)\}|<(\w+)>)(?=\/|$)/g;

const REWRITES: readonly ((source: string) => string)[] = [
  (source) => source.replace(/\/(?:\*+|\(\.\*\)|:\w+\*)(?=\/|$)/, "/*path"),
  (source) => source.replace(/^\/:(\w+)\?/, "/{:$1}").replace(/\/:\w+\?/, (part) => `{${part.slice(0, -1)}}`),
  (source) => source.replaceAll(/(:\w+)\((?:[^()]|\([^()]*\))*\)/g, "$1"),
];

/** Translates parameters of OpenAPI and Flask; `undefined` for a pattern that has none. */
export function translateParameters(source: string): string | undefined {
  const translated = source.replaceAll(FOREIGN_PARAMETER, "/:$1$2");
  return translated === source ? undefined : translated;
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
    .replace(/\/(?:\*|\(\.\*\))$/, "/{*path}");

/** Regular expressions of letters, digits, classes of them and repetitions. None of them matches a slash. */
const WITHOUT_SLASH = /^(?:\\[dw]|[\w|+*?{},-]|\[(?:[\w-]|\\[dw])+\]|[()])+$/;
