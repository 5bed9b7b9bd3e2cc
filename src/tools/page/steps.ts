/** The steps of one decision, for a picture: target, rule, token, scopes, conditions, response. */
import { describeShadow, type Explanation } from "../../capabilities/explain/explain.ts";
import { describeConditions } from "../../capabilities/conditions/conditions.ts";
import { describeRequirement } from "../../core/policy/describe.ts";
import { createProblem } from "../../core/response/problem.ts";

/** The step that ends a decision, by reason; other reasons are about scopes. */
const ENDS: Readonly<Record<string, number>> = {
  request_ambiguous: 0,
  route_unmapped: 1,
  credential_missing: 2,
  caller_not_allowed: 4,
  authentication_insufficient: 4,
};

/** Where a rule is written, in words of its reader. */
const PLACES = {
  custom: "your rule",
  override: "your rule, for one of the base table",
  default: "base table",
};

/** `unmappedStatus` is the status of a refusal for a request without a rule. */
export function stepsOf({ decision }: Explanation, unmappedStatus: 403 | 404 = 403) {
  const { rules, satisfied, missing, principal, shadow } = decision;
  const problem = decision.allowed ? undefined : createProblem(decision, unmappedStatus);
  const hasConditions = rules.some(({ conditions }) => conditions);
  const end = problem ? (ENDS[problem.code] ?? 3) : Infinity;
  const refused = decision.allowed ? undefined : decision;
  const unmet =
    refused?.condition === undefined
      ? []
      : [`✗ ${refused.condition} of ${refused.rule?.key} isn't satisfied`];
  const asked = rules.map(
    (rule) =>
      `${rule.key} (${PLACES[rule.source]}): ${[describeRequirement(rule.requirement), ...describeConditions(rule.conditions)].join("; ")}`,
  );
  const scopes = satisfied.map(({ required, granted, by }) => `✓ ${required} by ${granted} (${by})`);
  const texts = [
    ["Target", decision.allowed || end > 0 ? "has one reading" : String(decision.cause)],
    ["Rule", ...asked],
    ["Token", principal ? "valid" : "none"],
    ["Scopes", ...scopes, ...missing.map((scope) => `✗ ${scope} is missing`)],
    ...(hasConditions ? [["Conditions", ...unmet] as const] : []),
    [
      "Response",
      problem ? `${problem.status} ${problem.title}: ${problem.code}` : "allowed",
      ...(shadow ? [`shadow: ${describeShadow(shadow)}`] : []),
    ],
  ] as const;
  return texts.map(([name, ...lines], index) => {
    if (index < end || !problem) return { name, state: "passed", lines: lines.length > 0 ? lines : ["none"] };
    // The steps between the failed one and the response weren't taken.
    if (index > end && index < texts.length - 1) return { name, state: "skipped", lines: [] };
    return { name, state: "failed", lines: lines.length > 0 ? lines : ["none"] };
  });
}
