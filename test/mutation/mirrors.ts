import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The test files for a source file, if they are not the one with its name. The most direct tests run first. */
const SPECIFIED_BY: Readonly<Record<string, readonly string[]>> = {
  "compile-rules": ["compile-rules", "table", "messages"],
  decision: ["decision", "pipeline"],
  implication: ["rule-order", "overrides"],
  "mixed-edges": ["rule-tree", "find-rules"],
  parameters: ["table", "rule-tree"],
  "parse-pattern": ["pattern", "messages"],
  "pattern-dialects": ["pattern", "route-comparison", "messages"],
  policy: ["policy", "pipeline", "explain", "server", "operation"],
  "route-scopes": ["server"],
  "route-key": ["route-key", "operation", "messages"],
  requirement: ["requirement", "table", "operation", "messages"],
  "route-comparison": ["route-comparison", "table"],
  rule: ["rule", "compile-rules", "rule-order"],
  "rule-tree": ["rule-tree", "find-rules", "table", "rule-order"],
  "table-entry": ["table-entry", "compile-rules"],
  table: ["table", "pipeline", "batches", "operation", "find-rules"],
  satisfaction: ["decision", "pipeline"],
  "walk-tree": ["rule-order"],
  "find-rules": ["find-rules", "table"],
  "required-scope": ["requirement", "decision", "messages"],
  "scope-rules": ["scope", "has-scopes", "messages"],
  authenticate: ["pipeline", "server", "token-cache", "diagnostics", "grants"],
  request: ["request", "paths"],
  "claim-path": ["claim-path", "principal", "scope-sources", "tokens"],
  credential: ["credential", "rejected-facts"],
  "unverified-claims": ["rejected-facts"],
  grants: ["grants", "opaque-tokens"],
  rejection: ["opaque-tokens", "server"],
  "opaque-tokens": ["opaque-tokens", "requirements"],
  principal: ["principal", "claims", "tokens", "grants"],
  "required-claims": ["required-claims", "requirements"],
  problem: ["problem", "custom-body"],
  refusal: ["refusal", "custom-body"],
  scope: ["scope", "grants"],
  "scope-sets": ["scope-sets", "grants"],
  "revocation-check": ["revoke", "server", "until-expiry"],
  "issued-at": ["revoke", "claims", "tokens"],
  issuers: ["audience", "claimed-issuer", "isolation", "lifecycle", "settings"],
  lifetime: ["until-expiry", "verifier", "claims"],
  "opaque-requirements": ["opaque-tokens", "requirements"],
  describe: ["rule-order", "overrides", "explain"],
  "scope-sources": ["scope-sources", "principal"],
  "token-cache": ["token-cache", "diagnostics"],
  "jwt-parts": ["jwt-parts", "tokens"],
  verifier: ["verifier", "claims", "tokens"],
  acr: ["step-up", "conditions", "restrictions"],
  "check-conditions": ["check-conditions", "restrictions"],
  condition: ["conditions", "where", "actors", "clients", "step-up", "restrictions"],
  conditions: ["conditions", "restrictions", "where", "actors", "clients", "step-up"],
  "conditioned-rules": ["restrictions"],
  evaluate: ["step-up", "where", "restrictions"],
  "max-auth-age": ["step-up", "conditions"],
  weakening: ["restrictions", "overrides"],
  where: ["where", "conditions"],
  clients: ["clients", "conditions"],
  "sender-constrained": ["sender-constraint", "conditions"],
  batch: ["batches"],
  "listed-route": ["table", "explain"],
  language: ["operation", "route-key", "messages"],
  operations: ["operation", "batches"],
  rules: ["batches", "restrictions"],
  "operation-key": ["operation", "route-key", "name-pattern", "messages"],
  "operation-methods": ["operation", "route-key", "messages"],
  "operation-rules": ["operation", "name-pattern"],
  actors: ["actors", "conditions", "principal"],
  "claim-values": ["where", "required-claims"],
  identification: ["principal", "pipeline"],
  revocation: ["revoke", "server"],
  "client-certificate": ["client-certificate", "certificates", "readings"],
  confirmation: ["sender-constraint", "rules"],
  dpop: ["dpop", "sender-constraint", "rules"],
  nonces: ["nonces", "sender-constraint"],
  proof: ["proof", "sender-constraint"],
  "public-key": ["public-key"],
  "sender-constraint": ["sender-constraint", "certificates", "rules"],
  "target-uri": ["target-uri"],
  "name-pattern": ["name-pattern", "messages"],
  overrides: ["overrides", "messages", "restrictions"],
  "rule-order": ["rule-order", "messages"],
  compare: ["shadow"],
};

/**
 * Runs only the test files that specify the mutated files. Tests of other files may only detect a mutant by
 * chance, and running them for every survivor would take an hour.
 */
export class Mirrors extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { related } = this.ctx.config;
    if (related === undefined) return sorted;
    const mutated = [related].flat().map((path) => basename(path, ".ts"));
    const testFiles = new Set(mutated.flatMap((name) => SPECIFIED_BY[name] ?? [name]));
    return [...testFiles].flatMap((test) =>
      sorted.filter(({ moduleId }) => basename(moduleId, ".test.ts") === test),
    );
  }
}
