/** What people write who come from another router, and how it is written here. */

/** `/files/{id}` and `/files/<id>`: a parameter to other tools, an optional or a plain text here. */
const FOREIGN_PARAMETER = /\/(?:\{(\w+)\}|<(\w+)>)(?=\/|$)/g;

const REWRITES: readonly ((source: string) => string)[] = [
  (source) => source.replace(/\/(?:\*+|\(\.\*\)|:\w+\*)(?=\/|$)/, "/*path"),
  (source) => source.replace(/^\/:(\w+)\?/, "/{:$1}").replace(/\/:\w+\?/, (part) => `{${part.slice(0, -1)}}`),
  (source) => source.replaceAll(/(:\w+)\((?:[^()]|\([^()]*\))*\)/g, "$1"),
];

/** A pattern with the parameters of OpenAPI or Flask written as ours, or `undefined` when it has none of those. */
export function translateParameters(source: string): string | undefined {
  const translated = source.replaceAll(FOREIGN_PARAMETER, "/:$1$2");
  return translated === source ? undefined : translated;
}

/** The way to write a pattern that is none; only what is a pattern itself is offered. */
export function findSpelling(source: string, isPattern: (candidate: string) => boolean): string | undefined {
  return REWRITES.map((rewrite) => rewrite(source)).find(
    (candidate) => candidate.startsWith("/") && isPattern(candidate),
  );
}

/**
 * A pattern in the syntax of path-to-regexp before version 8 (Express 4, older Koa routers) in that of today. Expressions
 * are left out where they take no slash, so that it matches at least the same paths; what has no equal stays, and is no pattern.
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

/** Expressions of letters, digits, classes of those and repetitions: none of them takes a slash. */
const WITHOUT_SLASH = /^(?:\\[dw]|[\w|+*?{},-]|\[(?:[\w-]|\\[dw])+\]|[()])+$/;
