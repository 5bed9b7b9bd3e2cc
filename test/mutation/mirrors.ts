import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The test files for a source file, if they are not the one with its name. The most direct tests run first. */
const SPECIFIED_BY: Readonly<Record<string, readonly string[]>> = {
  "compile-rules": ["compile-rules", "report-only", "table"],
  decision: ["decision", "report-only", "pipeline"],
  implication: ["rule-order", "overrides"],
  merge: ["overrides"],
  "mixed-edges": ["rule-tree", "find-rules"],
  operation: ["operation", "route-key"],
  parameters: ["table", "rule-tree"],
  "parse-pattern": ["pattern"],
  "pattern-dialects": ["pattern", "route-comparison"],
  policy: ["pipeline", "explain", "server", "report-only", "operation"],
  "route-scopes": ["server", "report-only"],
  "route-key": ["route-key", "operation"],
  requirement: ["requirement", "table", "operation", "report-only", "table-findings"],
  "route-comparison": ["route-comparison", "table"],
  rule: ["compile-rules", "rule-order", "report-only", "audit"],
  "rule-tree": ["rule-tree", "find-rules", "table", "rule-order"],
  "table-entry": ["table-entry", "report-only", "compile-rules"],
  table: ["table", "pipeline", "batch", "operation", "find-rules"],
  satisfaction: ["decision", "pipeline"],
  "walk-tree": ["rule-order"],
  "find-rules": ["find-rules", "table"],
  "required-scope": ["requirement", "decision"],
  "scope-rules": ["scope", "has-scopes"],
  authenticate: ["pipeline", "server", "token-cache", "diagnostics", "grants"],
  request: ["request", "paths"],
  "claim-path": ["principal", "scope-sources", "tokens"],
  credential: ["credential", "rejected-facts"],
  "unverified-claims": ["rejected-facts"],
  grants: ["grants", "opaque-tokens"],
  rejection: ["opaque-tokens", "server"],
  "opaque-tokens": ["opaque-tokens", "requirements"],
  principal: ["principal", "claims", "tokens", "grants"],
  "required-claims": ["required-claims", "requirements"],
  ownership: ["grants"],
  problem: ["problem", "custom-body"],
  refusal: ["refusal", "custom-body"],
  scope: ["scope", "grants"],
  "scope-sets": ["scope-sets", "grants"],
  "revocation-check": ["revoke", "server", "until-expiry"],
  "issued-at": ["revoke", "claims", "tokens"],
  issuers: ["audience", "claimed-issuer", "isolation", "lifecycle", "settings"],
  revalidate: ["until-expiry"],
  "scope-sources": ["scope-sources", "principal"],
  "token-cache": ["token-cache", "token-cache-memory", "diagnostics"],
  "jwt-parts": ["jwt-parts", "tokens"],
  verifier: ["verifier", "claims", "tokens"],
};

/**
 * Runs only the test files that specify the mutated file. Tests of other files may only detect a mutant by
 * chance, and running them for every survivor would take an hour.
 */
export class Mirrors extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const [mutated, ...others] = [this.ctx.config.related ?? []].flat();
    if (mutated === undefined || others.length > 0) return sorted;
    const name = basename(mutated, ".ts");
    const testFiles = (SPECIFIED_BY[name] ?? [name]).map((test) => `${test}.test.ts`);
    return testFiles.flatMap((test) => sorted.filter(({ moduleId }) => basename(moduleId) === test));
  }
}
