/** Finds public rules for every path, which make routes that are missing from the table public. */
import { alternativesOf } from "../../adapters/shared/route-coverage.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { type OptionChecks, optionError } from "../../core/options/option-checks.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import type { AuditFinding } from "./report.ts";
import { strengthOf } from "./table-findings.ts";

/** The options of an audit. */
export interface AuditOptions {
  /**
   * Keys of rules that are intentionally `"public"` or `"optional"` for every path. For a single-page
   * application: `["GET /{*path}"]`. Default: none, so such a rule is an error.
   */
  readonly publicCatchAll?: readonly string[];
  /**
   * Patterns of paths that a guard checks which `routesOf` can't find, such as a gateway, or `protect` inside
   * your own function: `["/{*path}"]`. Their routes are not reported as unguarded. Default: none.
   */
  readonly guardedElsewhere?: readonly string[];
}

const OPTIONS: OptionChecks<AuditOptions> = {
  publicCatchAll: {
    accepts: (keys) => Array.isArray(keys),
    hint: 'Write an array of keys: { publicCatchAll: ["GET /{*path}"] }.',
  },
  guardedElsewhere: {
    accepts: (patterns) => Array.isArray(patterns) && patterns.every((each) => typeof each === "string"),
    hint: 'Write an array of patterns: { guardedElsewhere: ["/{*path}"] }.',
  },
};

/** @throws ConfigurationError for a key without such a rule, so that outdated exceptions are removed */
export function findCatchAlls(
  rules: readonly CompiledRule[],
  options: AuditOptions,
): readonly AuditFinding[] {
  checkOptions("audit", options, OPTIONS);
  const { publicCatchAll: meant = [] } = options;
  const openRules = rules.filter(isOpenEverywhere).map(({ rule }) => rule);
  const unknown = meant.find((key) => openRules.every((rule) => rule.key !== key));
  if (unknown !== undefined)
    throw optionError(
      ["audit", "publicCatchAll"],
      `contains ${JSON.stringify(unknown)}, which isn't a public or optional rule for every path.`,
      "Write the key of such a rule, or remove it.",
    );
  return openRules
    .filter(({ key }) => !meant.includes(key))
    .map((rule) => ({
      kind: "public_catch_all",
      severity: "error",
      rule,
      message: `\`${rule.key}\` allows everyone at every path without a narrower rule: a route that is missing from the table is public.`,
      hint: `Let a rule such as "* /api{/*path}": ["resource:action"] decide all paths of your API. If the rule is intended, write audit(server, routes, { publicCatchAll: [${JSON.stringify(rule.key)}] }), or on the command line --public-catch-all '${rule.key}'.`,
    }));
}

/**
 * Except OPTIONS: CORS middleware and frameworks respond to it for every path, and no handler of a route
 * runs.
 */
const isOpenEverywhere = (compiled: CompiledRule): boolean =>
  strengthOf(compiled) < 1 &&
  compiled.rule.method !== "OPTIONS" &&
  alternativesOf(compiled).some(([first]) => first?.kind === "wildcard");
