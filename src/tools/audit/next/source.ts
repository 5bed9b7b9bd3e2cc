/** Reads what the modules of a Next.js application export, from their source text. */

/** A function of a `route` file that Next.js calls. */
export interface Handler {
  /** The name of its export; `*` if the exports can't be read. */
  readonly method: string;
  /** Whether the export is the result of `withScopes`. */
  readonly isWrapped: boolean;
  /** The option `route` of `withScopes`. */
  readonly route?: string | undefined;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const LITERAL = /(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)/.source;
const COMMENT_OR_STRING = new RegExp(`(${LITERAL})|/\\*[^]*?\\*/|//[^\\n]*`, "g");
const STRING = new RegExp(LITERAL, "g");
const MATCHER = new RegExp(`\\bmatcher\\s*:\\s*(\\[[^\\]]*\\]|${LITERAL})`);
const STRING_OR_PARENTHESIS = new RegExp(`${LITERAL}|[()]`, "g");

/**
 * The name of a variable or of a function, the names of a pattern or of a list; or an unreadable export. What
 * follows the type of a variable without a value may be another export.
 */
const EXPORT =
  /\bexport\s*(?:(const|let|var)\s*(?:\b(\w+)|\{([^{}]*)\})(?:\s*(?::(?:(?!\bexport\b)[^=]|=>)*)?=(?!>)\s*)?|(?:async\s+)?function\b[\s*]*(\w+)|\{([^}]*)\}|(\*|(?:const|let|var)\s*[[{]))/g;
const NEXT_VARIABLE = new RegExp(`,\\s*(${METHODS.join("|")})\\s*(?::[^=,;(){}]*)?=(?![=>])`, "g");

/**
 * Matches a value up to a comma, with up to three brackets around another value. It doesn't match a slash: a
 * regular expression may contain brackets and quotes.
 */
function valueOf(depth: number, separator = ""): string {
  const inner = depth === 0 ? "" : valueOf(depth - 1, ",|");
  const brackets = depth === 0 ? "" : String.raw`|\(${inner}\)|\{${inner}\}|\[${inner}\]`;
  return String.raw`(?:${separator}${LITERAL}|[^"'\u0060\\/(){}[\],]${brackets})*`;
}

/** A spread or a computed name after `route` could replace it, so only plain names are read. */
const OPTIONS = String.raw`\{\s*route:\s*(?:"([^"]*)"|'([^']*)'|\u0060([^\u0060$]*)\u0060)\s*(?:,\s*(?:(?!route\b)\w+\s*(?::${valueOf(3)})?)?)*\}`;
const WRAPPED = new RegExp(String.raw`^withScopes(?:<[^()]*>)?\(\s*[\w$.]+\s*,\s*(?:${OPTIONS})?`);

/** What may follow the whole value of a variable. Its type changes nothing. */
const CAST = /(?:\s*\b(?:as|satisfies)\s+[\w$.]+(?:<(?:[^<>()=;]|<[^<>()=;]*>)*>)?(?:\[\])*)*/.source;
const NEXT_STATEMENT =
  /[^\S\n]*\n\s*(?:export|import|const|let|var|async|function|class|interface|type|enum)\b/.source;
const END = new RegExp(String.raw`^${CAST}(?:\s*(?:[;,]|$)|${NEXT_STATEMENT})`);

export const withoutComments = (text: string): string => text.replace(COMMENT_OR_STRING, "$1");

/** Returns whether a module imports a function of `scopegate/fetch` under its own name. */
export const importsFunction = (text: string, name: string): boolean =>
  [...withoutComments(text).matchAll(/\bimport\s*\{([^}]*)\}\s*from\s*["']scopegate\/fetch["']/g)].some(
    ([, names = ""]) => names.split(",").some((imported) => imported.trim() === name),
  );

/** Finds the handlers of a `route` file. A handler that isn't recognized as wrapped counts as unwrapped. */
export function findHandlers(text: string): readonly Handler[] {
  const code = withoutComments(text);
  const hasWrapper = importsFunction(text, "withScopes");
  const handlers: Handler[] = [];
  for (const match of code.matchAll(EXPORT)) {
    const groups: readonly (string | undefined)[] = match.slice(1);
    const [keyword, variable, pattern = "", functionName, list, unreadable] = groups;
    const entries = [variable, functionName, pattern, list].join().split(",");
    if (unreadable !== undefined) entries.push("*");
    const value = code.slice(match.index + match[0].length);
    const isCall = hasWrapper && keyword === "const" && !pattern.includes("=") && isOneCall(value);
    const wrapped = isCall ? WRAPPED.exec(value) : null;
    const route = wrapped?.slice(1).find((written: string | undefined) => written !== undefined);
    for (const entry of entries) {
      // In a list or a pattern, the last name is exported: `{ handler as GET }`, or `{ get: GET = handler }`.
      const names = entry.replace(/=.*/s, "").match(/\w+|\*/g) ?? [];
      const [key = "", method = key] = [names[0], names.at(-1)];
      // Of `{ POST: GET }`, the handler has the route of POST.
      const ownRoute = key === method ? route : route && `${key} ${route}`;
      if (["*", ...METHODS].includes(method))
        handlers.push({ method, isWrapped: wrapped !== null, route: ownRoute });
    }
  }
  for (const [, method = ""] of code.matchAll(NEXT_VARIABLE)) handlers.push({ method, isWrapped: false });
  // A regular expression can look like the start of a comment, which would hide the next export.
  const isHiding = countExports(text) !== countExports(code);
  return handlers.length === 0 || isHiding ? [...handlers, { method: "*", isWrapped: false }] : handlers;
}

/** Returns whether the first call in some code is the end of its statement. */
function isOneCall(code: string): boolean {
  let depth = 0;
  for (const { 0: token, index } of code.matchAll(STRING_OR_PARENTHESIS)) {
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (token === ")" && depth === 0) return END.test(code.slice(index + 1));
  }
  return false;
}

const countExports = (text: string): number => text.match(/^[ \t]*export\b/gm)?.length ?? 0;

/** Returns the strings of `matcher`; none without a matcher, and `undefined` for anything but strings. */
export function readMatcher(module: string): readonly string[] | undefined {
  const code = withoutComments(module);
  if (!/\bmatcher\b/.test(code)) return [];
  const written = MATCHER.exec(code)?.[1] ?? "";
  const strings = written.match(STRING) ?? [];
  const isReadable = strings.length > 0 && /^[\s,[\]]*$/.test(written.replaceAll(STRING, ""));
  return isReadable ? strings.map((text) => text.slice(1, -1).replaceAll(/\\(.)/g, "$1")) : undefined;
}
