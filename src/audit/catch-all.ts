/** Rules that let everyone in at every path: with one, a route that is forgotten in the table is open. */
import { type CompiledRule } from "../policy/rule.ts";
import { alternativesOf } from "./coverage.ts";
import { type AuditFinding } from "./report.ts";
import { strengthOf } from "./weakness.ts";

/** What an audit is to accept. */
export interface AuditOptions {
  /**
   * Keys of rules that are `"public"` or `"optional"` for every path on purpose. For a single-page
   * application: `["GET /{*path}"]`. Default: none, so that such a rule is an error.
   */
  readonly publicCatchAll?: readonly string[];
}

/** @throws TypeError for a key that is no such rule: an exception must not outlive its rule */
export function findCatchAlls(
  rules: readonly CompiledRule[],
  { publicCatchAll: meant = [] }: AuditOptions,
): readonly AuditFinding[] {
  const given: unknown = meant;
  if (!Array.isArray(given))
    throw new TypeError(
      'audit takes `publicCatchAll` as an array: write { publicCatchAll: ["GET /{*path}"] }.',
    );
  const found = rules.filter(isOpenEverywhere).map(({ rule }) => rule);
  const unknown = meant.find((key) => found.every((rule) => rule.key !== key));
  if (unknown !== undefined)
    throw new TypeError(
      `audit received ${JSON.stringify(unknown)} as \`publicCatchAll\`, which is not a public or optional rule for every path. Write the key of such a rule, or remove it.`,
    );
  return found
    .filter(({ key }) => !meant.includes(key))
    .map((rule) => {
      const { key, method } = rule;
      return Object.freeze({
        kind: "public_catch_all",
        severity: "error",
        rule,
        message: `\`${key}\` lets everyone in at every path without a rule of its own: a route that is forgotten in the table is open.`,
        hint: `Close the paths of your API: add to scopeMappings ${JSON.stringify(`${method} /api/{*path}`)}: ["resource:action"]. If the rule is meant, write server.audit(routes, { publicCatchAll: [${JSON.stringify(key)}] }).`,
      });
    });
}

/** Without OPTIONS: CORS middleware and frameworks answer it for every path; no handler of a route runs. */
const isOpenEverywhere = (compiled: CompiledRule): boolean =>
  strengthOf(compiled) < 2 &&
  compiled.rule.method !== "OPTIONS" &&
  alternativesOf(compiled).some(([first]) => first?.kind === "wildcard");
