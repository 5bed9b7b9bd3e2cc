import { METHODS } from "node:http";
import { suggest } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import { canonicalOf, findOperationMistake, hasArguments, isNamed, methodOf } from "./operation.ts";
import type { Pattern } from "./pattern.ts";
import { isPattern, parsePattern, type PatternMistake } from "./parse-pattern.ts";

/** A parsed route key: the method (`*` for every method) and the pattern. */
export interface RouteKey {
  readonly method: string;
  readonly pattern: Pattern;
}

/** The mistake in a route key, and the fix. */
export interface RouteKeyMistake extends Pick<PatternMistake, "message" | "hint"> {
  readonly code: PatternMistake["code"] | "route_key_invalid" | "route_method_unknown";
}

const FORM = "Write `METHOD /pattern`, such as `GET /agents/:agent_id`, or `* /pattern` for every method.";

/** Parses `METHOD /pattern`, or returns why no request can match it. */
export function parseRouteKey(key: string): RouteKey | RouteKeyMistake {
  if (key.startsWith(`${OPERATION_METHOD} `)) return parseOperationKey(key);
  // An operation of MCP in another form: `mcp tools/call search`, `POST tools/call search`.
  const [, operation = ""] = /^(?:\w+[ :])?([a-z].*)$/i.exec(key) ?? [];
  const isOperation = isNamed(methodOf(operation)) !== undefined;
  if (isOperation || !/^\S+ \S+$/.test(key)) {
    const path = key.startsWith("/") && !key.includes(" ") ? key : undefined;
    const keyHint = path === undefined ? FORM : `Write \`GET ${path}\`, or \`* ${path}\` for every method.`;
    const hint = isOperation ? `Write \`${OPERATION_METHOD} ${operation}\`.` : keyHint;
    return { code: "route_key_invalid", message: "is not a route key.", hint };
  }
  const space = key.indexOf(" ");
  const method = key.slice(0, space);
  const source = key.slice(space + 1);
  const mistake = findMethodMistake(method, source);
  if (mistake) return { code: "route_method_unknown", ...mistake };
  const pattern = parsePattern(source);
  if (isPattern(pattern)) return { method, pattern };
  return { ...pattern, message: `\`${source}\` ${pattern.message}` };
}

/** An operation has a name instead of a path: no segments, and any argument may fill a template. */
function parseOperationKey(key: string): RouteKey | RouteKeyMistake {
  const source = key.slice(OPERATION_METHOD.length + 1);
  const mistake = findOperationMistake(source) ?? findVariable(source) ?? findOtherSpelling(source);
  if (mistake) return { code: "route_key_invalid", ...mistake };
  const parameters = hasArguments(source) ? "any" : new Set<string>();
  return { method: OPERATION_METHOD, pattern: { source, alternatives: [], parameters } };
}

/** A whole name in one of the notations for a variable: `:id`, `{id}` or `<id>`. */
const PLACEHOLDER = /^(?::\w+|\{.*\}|<.*>)$/;

/** A part of a URI in one of these notations. URIs contain no braces or angle brackets (RFC 3986). */
const URI_PLACEHOLDER = /[{}<>]|\/:\w/;

/**
 * Finds a variable, which operations do not have. The key would match only its own text, so that the rule of
 * every name would decide what the key seems to guard. The name of a completion is the template itself.
 */
function findVariable(source: string): ReturnType<typeof findOperationMistake> {
  const method = methodOf(source);
  const name = source.slice(method.length + 1);
  const pattern = method.startsWith("resources/") ? URI_PLACEHOLDER : PLACEHOLDER;
  if (method === "completion/complete" || !pattern.test(name)) return undefined;
  return {
    message: `${JSON.stringify(name)} contains a variable, but the names of operations are compared exactly.`,
    hint: `Write \`${OPERATION_METHOD} ${method} *\` for every name, and check \`principal.has(...)\` in the handler, or write one key for each name.`,
  };
}

/** A URI in another spelling would be a second key for the same resource. */
function findOtherSpelling(source: string): ReturnType<typeof findOperationMistake> {
  const canonical = canonicalOf(source);
  if (canonical === source) return undefined;
  const hint = `Write \`${OPERATION_METHOD} ${canonical}\`.`;
  return { message: `\`${source}\` is not spelled as a URL is.`, hint };
}

/** Returns why no request has a method, and what to write instead. */
export function findMethodMistake(
  method: string,
  source: string,
): { readonly message: string; readonly hint: string } | undefined {
  if (method === "*" || METHODS.includes(method)) return undefined;
  const upper = method.toUpperCase();
  const message = `\`${method}\` is not a method that Node.js receives.`;
  if (upper === "ALL" || upper === "ANY") return { message, hint: `Write \`* ${source}\`.` };
  if (METHODS.includes(upper)) return { message, hint: `Write \`${upper}\`: methods are case-sensitive.` };
  return { message, hint: suggest(upper, METHODS, FORM) };
}
