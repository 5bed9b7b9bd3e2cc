/** Finds rules, or a server, whose scopes aren't enforced, so that they don't stay unenforced by mistake. */
import type { CompiledTable } from "./compile-rules.ts";
import { renderRules, type Rule } from "./rule.ts";

/** A warning at startup, in an audit and on the policy page. */
export interface ReportOnlyFinding {
  readonly kind: "report_only";
  readonly severity: "warning";
  /** The report-only rules; empty if the server only reports and no rule has scopes. */
  readonly rules: readonly Rule[];
  readonly message: string;
  readonly hint: string;
}

export function findReportOnly({ rules, enforcement }: CompiledTable): readonly ReportOnlyFinding[] {
  const reported = Object.freeze(
    rules.map(({ rule }) => rule).filter((rule) => rule.enforcement === "report"),
  );
  const isServer = enforcement === "report";
  if (reported.length === 0 && !isServer) return [];
  const message = isServer
    ? "the resource server only reports: any valid token is enough, whatever scopes a rule requires, and for routes without a rule."
    : `report-only rules: ${reported.length} (${renderRules(reported)}). Their scopes aren't enforced.`;
  const fix = isServer ? 'remove enforcement: "report"' : "write the requirements without `report`";
  const hint = `When \`onDecision\` no longer receives \`reported\` decisions, ${fix}.`;
  return [{ kind: "report_only", severity: "warning", rules: reported, message, hint }];
}
