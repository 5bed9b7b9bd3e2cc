/** How a request is decided, and why, as data and as text. */
import { type Decision, rulesOf, withShadow } from "../../core/policy/decision.ts";
import { describeRequirement, joinScopes } from "../../core/policy/describe.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { Comparison, FindRules } from "../../core/policy/shadow.ts";
import type { Governing } from "../../core/policy/governing.ts";
import type { AccessRequest } from "../../core/request.ts";
import type { Principal } from "../../core/token/principal.ts";

/** What to explain: a request, and the scopes of a hypothetical caller. */
export interface ExplainQuery extends Pick<AccessRequest, "method" | "matchedPattern" | "params"> {
  /** The target, read exactly as it's spelled. */
  readonly path: string;
  /**
   * The scopes of the caller, without those that its issuer can't grant: the ceiling of a trust record isn't
   * applied. If omitted, the caller has no token.
   */
  readonly scopes?: readonly string[];
  /** The claims of the caller, for conditions. Default: none. Only with `scopes`. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /**
   * The tenant of the caller's issuer, for `{ tenant: true }`. Default: none. Only with `scopes`. Its
   * `unless` needs the `scopes` of an issuer in the options: the only one, or the one in the claim `iss`.
   */
  readonly tenant?: string;
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
export function explainByPolicy(policy: Policy, query: ExplainQuery, shadow?: Comparison): Explanation {
  const { path, scopes, claims, tenant, ...rest } = query;
  const caller = scopes && policy.callerWith(scopes, claims, tenant);
  const request = { ...rest, target: path };
  const find: FindRules = (asked) => asked.find(request, false);
  const decision = policy.decideFor(caller, request);
  const compared = withShadow(decision, shadow?.compare(decision, find, request));
  return explainDecision(query, compared, find(policy));
}

/** The scopes of the rules that match decide. Only the conditions of other rules apply. */
export function explainDecision(
  { method, path }: ExplainQuery,
  decision: Decision,
  { matches, restrictions }: Pick<Governing, "matches" | "restrictions">,
): Explanation {
  const { rules, required, granted, missing, satisfied } = decision;
  const deciding = rulesOf(matches);
  const compiled = [...matches, ...restrictions().active].map((match) => match.compiled);
  const lines = [`${method} ${path}`];
  const addLine = (name: string, value: string) => lines.push(explanationRow(name, value));
  for (const rule of rules) {
    addLine("rule", `${rule.key} (${rule.source})`);
    // A decision doesn't show which of several rules requires a scope.
    const scopes = describeRequirement(rule.requirement, deciding.length === 1 ? required : []);
    addLine("requires", deciding.includes(rule) ? scopes : "only its conditions");
    const { conditions } = compiled.find((match) => match.rule === rule) ?? {};
    for (const condition of conditions?.described ?? []) addLine("condition", condition);
  }
  const isAmbiguous = !decision.allowed && decision.reason === "request_ambiguous";
  if (rules.length === 0 && !isAmbiguous) addLine("rule", "none");
  addLine("granted", joinScopes(granted));
  for (const satisfaction of satisfied)
    addLine("satisfied", `${satisfaction.required} by ${satisfaction.granted} (${satisfaction.by})`);
  if (missing.length > 0) addLine("missing", joinScopes(missing));
  for (const scope of required.filter((text) => /:<[^:]*>:/.test(text)))
    addLine("note", `the id is missing or contains a colon: only a grant for every id covers ${scope}`);
  if (satisfied.some(({ by }) => by === "admin"))
    addLine("note", "the admin scope satisfies scopes, and nothing else");
  const refusing = compiled.find(({ rule }) => rule === decision.rule)?.conditions;
  if (isRefusedByWhere(decision) && refusing?.all.some(({ readsTenant }) => readsTenant))
    addLine("note", describeTenant(decision.principal));
  addLine("decision", describeDecision(decision));
  const { shadow } = decision;
  if (shadow) addLine("shadow", describeShadow(shadow));
  return { method, path, decision, text: lines.join("\n") };
}

const isRefusedByWhere = (decision: Decision): boolean => !decision.allowed && decision.condition === "where";

const describeTenant = (principal: Principal | undefined): string =>
  principal?.tenant === undefined
    ? "the caller has no tenant, because its issuer has none"
    : `the tenant of the caller is ${principal.tenant}`;

/** Renders one line of an explanation. */
export const explanationRow = (name: string, value: string): string => `  ${name.padEnd(10)} ${value}`;

/** Describes what the table of `shadow` decides, and by which rules. */
export const describeShadow = (shadow: Decision | "undecided"): string =>
  shadow === "undecided"
    ? shadow
    : [describeDecision(shadow), ...shadow.rules.map(({ key }) => `rule \`${key}\``)].join("; ");

function describeDecision(decision: Decision): string {
  if (decision.allowed) return "allowed";
  const { reason, rule } = decision;
  const rejection = decision.rejection === undefined ? "" : ` (${decision.rejection})`;
  const condition = decision.condition === undefined ? "" : ` (${decision.condition} of \`${rule?.key}\`)`;
  const cause = reason === "request_ambiguous" ? `. ${String(decision.cause)}` : "";
  return `refused: ${reason}${rejection}${condition}${cause}`;
}
