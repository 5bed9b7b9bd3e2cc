import { type Decision } from "./decision.ts";
import { type Rule } from "./rule.ts";

/** What to explain: a request, and the scopes of an imagined caller; without `scopes` one that has no token. */
export interface ExplainQuery {
  readonly method: string;
  readonly path: string;
  readonly scopes?: readonly string[];
}

/** How a request is decided, as data and as text. */
export interface Explanation {
  readonly method: string;
  readonly path: string;
  readonly decision: Decision;
  /** For a terminal: the rule, what it asks, what satisfied it and what is missing. */
  readonly text: string;
}

export function explainDecision({ method, path }: ExplainQuery, decision: Decision): Explanation {
  const lines: readonly (readonly [string, string])[] = [
    ["rule", describeRule(decision.rule)],
    ["requires", describeRequirement(decision)],
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

function describeRequirement({ rule, required }: Decision): string {
  if (typeof rule?.requirement === "string")
    return rule.requirement === "public" ? "nothing" : "nothing, or a valid token";
  if (!rule || required.length > 0) return list(required);
  return describeAsked(rule.requirement);
}

/** Where no token was looked at, what the rule asks is shown as it is written. */
function describeAsked(requirement: Exclude<Rule["requirement"], string>): string {
  if ("filtered" in requirement) return `${requirement.filtered}, for all or at least one id`;
  if ("anyOf" in requirement) return `one of ${list(requirement.anyOf)}`;
  return requirement.length === 0 ? "a valid token" : list(requirement);
}

const list = (items: readonly string[]): string => (items.length === 0 ? "-" : items.join(" "));
