import { METHODS } from "node:http";
import { suggest } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import type { KeyLanguage } from "./key-language.ts";
import { MCP_MISSING } from "./operations.ts";
import type { Pattern } from "./pattern.ts";
import { isPattern, type PatternMistake } from "./parse-pattern.ts";
import { parseRulePattern } from "./rule-pattern.ts";

/** A parsed route key: the method (`*` for every method) and the pattern. */
export interface RouteKey {
  readonly method: string;
  readonly pattern: Pattern;
}

/** The mistake in a route key, and the fix. */
export interface RouteKeyMistake extends Pick<PatternMistake, "message" | "hint"> {
  readonly code: PatternMistake["code"] | "route_key_invalid" | "option_missing";
  /** The option that is missing. Absent if the key is wrong. */
  readonly path?: readonly string[];
}

const FORM = "Write `METHOD /pattern`, such as `GET /agents/:agent_id`, or `* /pattern` for every method.";

/**
 * Parses `METHOD /pattern`, or returns the mistake because of which no request can match it. Without
 * `language`, the key of an operation is a mistake. With `parsePattern`, it's a route of a router.
 */
export function parseRouteKey(
  key: string,
  language?: KeyLanguage,
  parse: (source: string) => Pattern | PatternMistake = parseRulePattern,
): RouteKey | RouteKeyMistake {
  if (!language && key.startsWith(`${OPERATION_METHOD} `))
    return {
      code: "option_missing",
      path: ["mcp"],
      message: `is missing, but the rule \`${key}\` needs it.`,
      hint: MCP_MISSING,
    };
  const operation = language?.parseKey(key);
  if (operation)
    return "message" in operation
      ? { code: "route_key_invalid", ...operation }
      : { method: OPERATION_METHOD, pattern: operation };
  if (!/^\S+ \S+$/.test(key)) {
    const path = key.startsWith("/") && !key.includes(" ") ? key : undefined;
    const hint = path === undefined ? FORM : `Write \`GET ${path}\`, or \`* ${path}\` for every method.`;
    return { code: "route_key_invalid", message: "isn't a route key.", hint };
  }
  const space = key.indexOf(" ");
  const method = key.slice(0, space);
  const source = key.slice(space + 1);
  const mistake = findMethodMistake(method, source);
  if (mistake) return { code: "route_key_invalid", ...mistake };
  const pattern = parse(source);
  if (isPattern(pattern)) return { method, pattern };
  const { code, message, hint } = pattern;
  return { code, message: `\`${source}\` ${message}`, hint };
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
