import { type Decision, type ObservedRequest } from "scopegate";

/** One line for one decision: what was asked, who asked, what was decided by which rule. Never a token. */
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
