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

const COMMENT_OR_STRING =
  /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[^]*?\*\/|\/\/[^\n]*/g;

/** The names of a variable, of a pattern, of a function, or of a list; or `*`. */
const EXPORT =
  /\bexport\s*(?:(?:const|let|var)\s+(?:(\w+)|\{([^}]*)\})\s*(?::[^=]*)?=\s*|(?:async\s+)?function\b[\s*]*(\w+)|\{([^}]*)\}|(\*))/g;
const NEXT_VARIABLE = new RegExp(`,\\s*(${METHODS.join("|")})\\s*(?::[^=,;(){}]*)?=(?![=>])`, "g");
const WRAPPED =
  /withScopes(?:<[^()]*>)?\(\s*[\w$.]+\s*,\s*(?:\{\s*route:\s*(?:"([^"]*)"|'([^']*)'|`([^`$]*)`))?/y;

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
    const [variable, pattern, functionName, list, all] = groups;
    const names = [variable, functionName, all, ...(pattern ?? list ?? "").split(",").map(exportedName)];
    WRAPPED.lastIndex = match.index + match[0].length;
    const wrapped = hasWrapper && functionName === undefined ? WRAPPED.exec(code) : null;
    const route = wrapped?.slice(1).find((written: string | undefined) => written !== undefined);
    for (const method of names)
      if (method !== undefined && ["*", ...METHODS].includes(method))
        handlers.push({ method, isWrapped: wrapped !== null, route });
  }
  for (const [, method = ""] of code.matchAll(NEXT_VARIABLE)) handlers.push({ method, isWrapped: false });
  // A regular expression can look like the start of a comment, which would hide the next export.
  const isHiding = countExports(text) !== countExports(code);
  return handlers.length === 0 || isHiding ? [...handlers, { method: "*", isWrapped: false }] : handlers;
}

/** In a list or a pattern, the last name is exported: `{ handler as GET }`, or `{ get: GET }`. */
const exportedName = (entry: string): string | undefined => entry.match(/\w+/g)?.at(-1);

const countExports = (text: string): number => text.match(/^[ \t]*export\b/gm)?.length ?? 0;

/** Returns the strings of `matcher`; none without a matcher, and `undefined` for anything but strings. */
export function readMatcher(module: string): readonly string[] | undefined {
  const code = withoutComments(module);
  if (!/\bmatcher\b/.test(code)) return [];
  const written = /\bmatcher\s*:\s*(\[[^\]]*\]|(["'`])(?:\\.|(?!\2).)*\2)/.exec(code)?.[1] ?? "";
  const strings = written.match(STRING) ?? [];
  const isReadable = strings.length > 0 && /^[\s,[\]]*$/.test(written.replaceAll(STRING, ""));
  return isReadable ? strings.map((text) => text.slice(1, -1).replaceAll(/\\(.)/g, "$1")) : undefined;
}

const STRING = /(["'`])(?:\\.|(?!\1).)*\1/g;
