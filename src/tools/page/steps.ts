/** The steps of one decision, for a picture: target, rule, credential, scopes, answer. */
import { describeRequirement, type Explanation } from "../../core/policy/explain.ts";
import { createProblem } from "../../core/response/problem.ts";

/** The step that ends a decision; other reasons are about scopes. */
const ENDS: Readonly<Record<string, number>> = {
  request_ambiguous: 0,
  route_unmapped: 1,
  credential_missing: 2,
};

/** `unmappedStatus` is the status of a refusal because no rule matches. */
export function stepsOf({ decision }: Explanation, unmappedStatus: 403 | 404 = 403) {
  const { rules, satisfied, missing, principal } = decision;
  const problem = decision.allowed ? undefined : createProblem(decision, unmappedStatus);
  const end = problem ? (ENDS[problem.code] ?? 3) : 4;
  const reported = decision.allowed ? decision.reported : undefined;
  const allowed = reported ? `allowed, reported: ${reported.reason}` : "allowed";
  const asked = rules.map(
    ({ key, source, enforcement, requirement }) =>
      `${key} (${source}${enforcement === "report" ? ", report-only" : ""}): ${describeRequirement(requirement)}`,
  );
  const scopes = satisfied.map(({ required, granted, by }) => `✓ ${required} by ${granted} (${by})`);
  const texts = [
    ["Target", decision.allowed || end > 0 ? "has one reading" : String(decision.cause)],
    ["Rule", ...asked],
    ["Credential", principal ? "a valid token" : "no token"],
    ["Scopes", ...scopes, ...missing.map((scope) => `✗ ${scope} is missing`)],
    ["Answer", problem ? `${problem.status} ${problem.title}: ${problem.code}` : allowed],
  ] as const;
  return texts.map(([name, ...lines], index) => {
    if (index < end || !problem) return { name, state: "passed", lines: lines.length > 0 ? lines : ["none"] };
    // The steps between the failed one and the answer were not taken.
    if (index > end && index < texts.length - 1) return { name, state: "skipped", lines: [] };
    return { name, state: "failed", lines: lines.length > 0 ? lines : ["none"] };
  });
}
