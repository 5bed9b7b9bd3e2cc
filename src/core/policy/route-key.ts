import { METHODS } from "node:http";
import { suggest } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import { parseOperationKey, splitOperation } from "./operation-key.ts";
import { MCP_METHODS, type OperationMethods } from "./operation-methods.ts";
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

/** Parses `METHOD /pattern`, or returns the mistake because of which no request can match it. */
export function parseRouteKey(key: string, methods = MCP_METHODS): RouteKey | RouteKeyMistake {
  if (key.startsWith(`${OPERATION_METHOD} `)) return parseOperation(key, methods);
  // An operation of MCP, written differently: `mcp tools/call search`, `POST tools/call search`.
  const [, operation = ""] = /^(?:\w+[ :])?([a-z].*)$/i.exec(key) ?? [];
  const isOperation = methods.get(splitOperation(operation).method) !== undefined;
  if (isOperation || !/^\S+ \S+$/.test(key)) {
    const path = key.startsWith("/") && !key.includes(" ") ? key : undefined;
    const keyHint = path === undefined ? FORM : `Write \`GET ${path}\`, or \`* ${path}\` for every method.`;
    const hint = isOperation ? `Write \`${OPERATION_METHOD} ${operation}\`.` : keyHint;
    return { code: "route_key_invalid", message: "isn't a route key.", hint };
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
function parseOperation(key: string, methods: OperationMethods): RouteKey | RouteKeyMistake {
  const source = key.slice(OPERATION_METHOD.length + 1);
  const operation = parseOperationKey(source, methods);
  if ("message" in operation) return { code: "route_key_invalid", ...operation };
  const isUri = methods.get(operation.method)?.nameParameter === "uri";
  const isNamed = methods.isNamed(operation.method) ?? true;
  const parameters = isNamed && !isUri ? "any" : new Set(operation.pattern?.variables);
  return { method: OPERATION_METHOD, pattern: { source, alternatives: [], parameters, operation } };
}

/** Explains why no request has this method, and what to write instead. */
export function findMethodMistake(
  method: string,
  source: string,
): { readonly message: string; readonly hint: string } | undefined {
  if (method === "*" || METHODS.includes(method)) return undefined;
  const upper = method.toUpperCase();
  const message = `\`${method}\` isn't a method that Node.js receives.`;
  if (upper === "ALL" || upper === "ANY") return { message, hint: `Write \`* ${source}\`.` };
  if (METHODS.includes(upper)) return { message, hint: `Write \`${upper}\`: methods are case-sensitive.` };
  return { message, hint: suggest(upper, METHODS, FORM) };
}
