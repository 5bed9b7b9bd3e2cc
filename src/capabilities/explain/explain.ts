/** How a request is decided, and why, as data and as text. */
import { describeConditions } from "../../core/policy/conditions/conditions.ts";
import { type Decision, refusalIn, rulesOf } from "../../core/policy/decision.ts";
import { describeRequirement, joinScopes } from "../../core/policy/describe.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { Rule } from "../../core/policy/rule.ts";
import type { AccessRequest } from "../../core/request.ts";

/** What to explain: a request, and the scopes of a hypothetical caller. */
export interface ExplainQuery extends Pick<AccessRequest, "method" | "matchedPattern" | "params"> {
  /** The target, read exactly as it's spelled. */
  readonly path: string;
  /** The scopes of the caller. If omitted, the caller has no token. */
  readonly scopes?: readonly string[];
  /** The claims of the caller, for conditions. Default: none. Only with `scopes`. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** How a request is decided, as data and as text. */
export interface Explanation {
  /** The method of the query. */
  readonly method: string;
  /** The path of the query. */
  readonly path: string;
  /** The decision that `check` would make. */
  readonly decision: Decision;
  /** For a terminal: the rules, what they require, what satisfied them and what is missing. */
  readonly text: string;
}

/** Explains by a policy alone, because the policy page has no server. */
export function explainByPolicy(policy: Policy, query: ExplainQuery): Explanation {
  const { path, scopes, claims, ...rest } = query;
  const caller = scopes && policy.callerWith(scopes, claims);
  const request = { ...rest, target: path };
  const deciding = rulesOf(policy.find(request, false).matches);
  return explainDecision(query, policy.decideFor(caller, request), deciding);
}

/** `deciding` are the rules whose scopes decide. Only the conditions of other rules apply. */
export function explainDecision(
  { method, path }: ExplainQuery,
  decision: Decision,
  deciding: readonly Rule[],
): Explanation {
  const { rules, required, granted, missing, satisfied } = decision;
  const lines = [`${method} ${path}`];
  const addLine = (name: string, value: string) => lines.push(explanationRow(name, value));
  for (const rule of rules) {
    addLine("rule", `${rule.key} (${rule.source}${rule.enforcement === "report" ? ", report-only" : ""})`);
    // A decision doesn't show which of several rules requires a scope.
    const scopes = describeRequirement(rule.requirement, deciding.length === 1 ? required : []);
    addLine("requires", deciding.includes(rule) ? scopes : "only its conditions");
    for (const condition of describeConditions(rule.conditions)) addLine("condition", condition);
  }
  const isAmbiguous = refusalIn(decision)?.reason === "request_ambiguous";
  if (rules.length === 0 && !isAmbiguous) addLine("rule", "none");
  addLine("granted", joinScopes(granted));
  for (const satisfaction of satisfied)
    addLine("satisfied", `${satisfaction.required} by ${satisfaction.granted} (${satisfaction.by})`);
  if (missing.length > 0) addLine("missing", joinScopes(missing));
  for (const scope of required.filter((text) => /:<[^:]*>:/.test(text)))
    addLine("note", `the id is missing or contains a colon: only a grant for every id covers ${scope}`);
  if (satisfied.some(({ by }) => by === "admin"))
    addLine("note", "the admin scope satisfies scopes, and nothing else");
  addLine("decision", describeDecision(decision));
  return { method, path, decision, text: lines.join("\n") };
}

/** Renders one line of an explanation. */
export const explanationRow = (name: string, value: string): string => `  ${name.padEnd(10)} ${value}`;

function describeDecision(decision: Decision): string {
  const refused = refusalIn(decision);
  if (!refused) return "allowed";
  const result = decision.allowed ? "allowed, reported" : "refused";
  const rejection = refused.rejection === undefined ? "" : ` (${refused.rejection})`;
  const condition =
    refused.condition === undefined ? "" : ` (${refused.condition} of \`${refused.rule?.key}\`)`;
  const cause = refused.reason === "request_ambiguous" ? `. ${String(refused.cause)}` : "";
  return `${result}: ${refused.reason}${rejection}${condition}${cause}`;
}
