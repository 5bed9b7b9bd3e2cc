import { type AccessRequest, requireText } from "../request.ts";
import { type Decision } from "./decision.ts";
import { type Requirement } from "./requirement.ts";
import { type Rule } from "./rule.ts";

/** What to explain: a request, and the scopes of an imagined caller; without `scopes` one that has no token. */
export interface ExplainQuery extends Pick<
  AccessRequest,
  "method" | "matchedPattern" | "params" | "reading"
> {
  /** The target, read exactly as it is spelled. */
  readonly path: string;
  /** What an imagined caller is granted; left out: one without a token. */
  readonly scopes?: readonly string[];
}

/** How a request is decided, as data and as text. */
export interface Explanation {
  /** As it was asked. */
  readonly method: string;
  /** As it was asked. */
  readonly path: string;
  /** What would be decided. */
  readonly decision: Decision;
  /** For a terminal: the rule, what it asks, what satisfied it and what is missing. */
  readonly text: string;
}

/** @throws TypeError for what only a program that is not compiled can ask */
export function requireQuery({ path, scopes }: ExplainQuery): void {
  requireText(path, "server.explain takes { method, path, scopes }", "path");
  if (scopes === undefined || Array.isArray(scopes)) return;
  throw new TypeError('server.explain: `scopes` is no list: write scopes: ["agents:read"].');
}

export function explainDecision({ method, path }: ExplainQuery, decision: Decision): Explanation {
  const lines: readonly (readonly [string, string])[] = [
    ["rule", describeRule(decision.rule)],
    ["requires", describeRequirement(decision.rule?.requirement, decision.required)],
    ["granted", list(decision.granted)],
    ...decision.satisfied.map(
      ({ required, granted, by }) => ["satisfied", `${required} by ${granted} (${by})`] as const,
    ),
    ...(decision.missing.length > 0 ? [["missing", list(decision.missing)] as const] : []),
    ["decision", decision.allowed ? "allowed" : `refused: ${decision.rejection ?? decision.reason}`],
  ];
  const text = [`${method} ${path}`, ...lines.map(([name, value]) => `  ${name.padEnd(10)} ${value}`)].join(
    "\n",
  );
  return { method, path, decision, text };
}

const describeRule = (rule: Rule | undefined): string => (rule ? `${rule.key} (${rule.source})` : "none");

/** What a rule asks for, in words; with the scopes of one request where they are known. */
export function describeRequirement(
  requirement: Requirement | undefined,
  required: readonly string[] = [],
): string {
  if (requirement === "public") return "nothing";
  if (requirement === "optional") return "nothing, or a valid token";
  if (requirement === undefined) return "-";
  // Where no caller was weighed the scopes are shown as the rule writes them.
  if ("filtered" in requirement) return `${requirement.filtered}, for all or at least one id`;
  if ("anyOf" in requirement) return `one of ${list(required.length > 0 ? required : requirement.anyOf)}`;
  return requirement.length === 0 ? "a valid token" : list(required.length > 0 ? required : requirement);
}

const list = (items: readonly string[]): string => (items.length === 0 ? "-" : items.join(" "));
