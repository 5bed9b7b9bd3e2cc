import type { Decision, ObservedRequest } from "scopegate";

/**
 * Renders a decision as one line: the request, the result, the rule and the user. It never contains the
 * token.
 */
export function renderDecision(decision: Decision, { method, target }: ObservedRequest): string {
  const { rule, principal, missing } = decision;
  const answer = decision.allowed
    ? "allowed"
    : ["refused", decision.reason, decision.rejection].filter(Boolean).join(" ");
  return [
    `${method} ${target}`,
    answer,
    `rule=${rule ? `${JSON.stringify(rule.key)} (${rule.source})` : "none"}`,
    `user=${JSON.stringify(principal?.userId ?? null)}`,
    ...(missing.length > 0 ? [`missing=${missing.join(",")}`] : []),
  ].join(" ");
}
