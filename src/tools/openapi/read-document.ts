import { ROUTES_MISSING, unmapped, unreadable } from "../audit/findings.ts";
import { covers } from "../../core/policy/overlap.ts";
import * as reports from "../audit/report.ts";
import { ConfigurationError, type ConfigurationIssue, type Report } from "../../core/errors.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { callback, type OptionChecks } from "../../core/options/option-checks.ts";
import { compileRules } from "../../core/policy/compile-rules.ts";
import { describeRequirement } from "../../core/policy/describe.ts";
import { isPattern } from "../../core/policy/parse-pattern.ts";
import { parseRulePattern } from "../../core/policy/rule-pattern.ts";
import { compileRequirement, type Requirement } from "../../core/policy/requirement.ts";
import { compileConditions, describeConditions } from "../../capabilities/conditions/conditions.ts";
import type { ScopeMappings } from "../../core/policy/scope-mappings.ts";
import { type TableEntry, writeEntry } from "../../core/policy/table-entry.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { alternativesOf, createRouteCoverage } from "../../adapters/shared/route-coverage.ts";
import { type CompiledRule, renderRules, type Rule } from "../../core/policy/rule.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import {
  DOCUMENT_OPTIONS,
  type DocumentOptions,
  MISSING_SECURITY,
  issueAt,
  listOperations,
  type Operation,
  requireDocument,
} from "./document.ts";
import {
  FORM,
  identityOf,
  matchOf,
  policyOf,
  readConditions,
  readRestrictions,
  readSchemes,
  readSecurity,
  RESTRICTIONS,
} from "./security.ts";

/** One thing that `checkDocument` found; `kind` is stable. A route is an operation, in the table's syntax. */
export type DocumentFinding =
  | reports.AuditFinding
  | (reports.AuditRemark & {
      readonly kind: "security_missing" | "security_differs";
      readonly route: ListedRoute;
      readonly rule: Rule;
    })
  | (reports.AuditRemark & {
      readonly kind: "rules_undocumented" | "security_partial";
      readonly rules: readonly Rule[];
    });

/** Whether a document says what the table requires: like an audit, with operations as routes. */
export type DocumentReport = reports.AuditReport<DocumentFinding>;

/**
 * Compares an OpenAPI document with the table of a server. Errors: as in an audit, an operation without a
 * rule or with an unreadable path; an operation whose `security` differs from its rule (`security_differs`),
 * or whose rule differs from `missingSecurity` (`security_missing`). Warning: rules that decide some paths
 * of an operation that has another rule (`security_partial`). Note: other rules with paths that no operation
 * describes (`rules_undocumented`). It ignores `webhooks`, `callbacks`, MCP, and the scopes of
 * `requireScopes`.
 *
 * @throws ConfigurationError for anything but a document of OpenAPI 3.0 or 3.1, and for wrong options
 */
export function checkDocument(document: object, server: ResourceServer, options: DocumentOptions = {}) {
  const source = requireDocument(document);
  checkOptions("checkDocument", options, DOCUMENT_OPTIONS);
  const missing = MISSING_SECURITY[options.missingSecurity ?? "authenticated"];
  const policy = policyOf(server);
  const schemes = readSchemes(source);
  const findings: DocumentFinding[] = [];
  const report: Report = ({ path: [, , path, name], hint, message }) => {
    const route = { method: String(name).toUpperCase(), pattern: String(path) };
    findings.push({ ...unreadable(route, { message, hint }), hint });
  };
  const operations = listOperations(source, report, options);
  const routes = operations.map((operation): reports.AuditedRoute => {
    const { method, path, pattern, security } = operation;
    const route = Object.freeze({ method, pattern: pattern.source, parts: [] });
    const { rule, entry = [], conditions } = matchOf(policy, operation) ?? {};
    if (!rule) {
      const coverage = createRouteCoverage(policy.rules, route, pattern);
      findings.push(unmapped(coverage, policy.unmapped, false));
      return route;
    }
    const isMissing = security === undefined;
    const said = isMissing ? missing : readSecurity(operation, schemes);
    const says =
      said === undefined
        ? "has a `security` that no rule can express"
        : `requires ${describeRequirement(said)}`;
    const written = readConditions(operation);
    const areSame = JSON.stringify(written) === JSON.stringify(conditions);
    const saysConditions = areSame ? "" : " and has other conditions";
    const required = [describeRequirement(entry), ...describeConditions(conditions)].join("; ");
    const message = `\`${method} ${path}\` ${isMissing ? "has no `security`" : says}${saysConditions}. Its rule \`${rule.key}\` requires ${required}.`;
    const hint =
      said === undefined && !isMissing
        ? FORM
        : "Write the document again with toSecurity, or change the rule.";
    const kind = isMissing ? "security_missing" : "security_differs";
    if (said === undefined || identityOf(said) !== identityOf(entry) || !areSame)
      findings.push({ kind, severity: "error", route, rule, message, hint });
    return Object.freeze({ ...route, rule });
  });
  const used = new Set(routes.map(({ rule }) => rule));
  const undocumented = policy.rules.rules.filter((compiled) => !isDocumented(compiled, used));
  const mapped = operations.filter((_, index) => routes[index]?.rule);
  const isPart = (compiled: CompiledRule) => mapped.some((operation) => decidesPartOf(compiled, operation));
  const partial = undocumented.filter(isPart).map(({ rule }) => rule);
  const rules = undocumented.filter((compiled) => !isPart(compiled)).map(({ rule }) => rule);
  const message = `no operation describes all paths of ${renderRules(rules)}.`;
  const hint = "Add the operations. OpenAPI can't express wildcards, optional groups and other methods.";
  if (findings.length + routes.length === 0) findings.push({ ...ROUTES_MISSING, hint: "Add operations." });
  if (partial.length > 0)
    findings.push({
      kind: "security_partial",
      severity: "warning",
      rules: partial,
      message: `${renderRules(partial)} decide some paths of operations that document another rule.`,
      hint,
    });
  if (rules.length > 0) findings.push({ kind: "rules_undocumented", severity: "note", rules, message, hint });
  return reports.createAuditReport(routes, findings, "operation");
}

/** Returns whether a rule decides some paths of an operation, such as `/agents/web` of `/agents/{id}`. */
function decidesPartOf(compiled: CompiledRule, { method, pattern }: Operation): boolean {
  if (![method, "*"].includes(compiled.rule.method)) return false;
  return alternativesOf(compiled).some((narrow) =>
    alternativesOf({ pattern }).some((wide) => covers(wide, narrow) && !covers(narrow, wide)),
  );
}

/** OpenAPI can't express wildcards, optional groups and operations of MCP. */
function isDocumented(
  { rule, pattern: { alternatives } }: CompiledRule,
  used: ReadonlySet<unknown>,
): boolean {
  const segments = alternatives.flatMap(({ segments }) => segments);
  const isExpressible = alternatives.length === 1 && segments.every(({ kind }) => kind !== "wildcard");
  return rule.method === OPERATION_METHOD || (isExpressible && used.has(rule));
}

/** The options of `fromDocument`. */
export interface FromDocumentOptions extends DocumentOptions {
  /**
   * Receives each operation whose requirement is unclear: without `security` (unless `missingSecurity` is
   * `"public"`), with a `security` that no rule can express, with a scope that no token can be granted (one
   * call for each scope), or with an unreadable path. An operation with an unreadable path then gets no rule,
   * and the others require a valid token. Default: none, so these operations are errors.
   */
  readonly onUnclear?: (issue: ConfigurationIssue) => void;
}

const FROM_DOCUMENT_OPTIONS: OptionChecks<FromDocumentOptions> = {
  ...DOCUMENT_OPTIONS,
  onUnclear: callback("Write a function that takes the issue."),
};

/**
 * Creates a table from an OpenAPI document, one rule for each operation, from `security` and what
 * `toSecurity` wrote: `{ scopeMappings: fromDocument(document) }`. An operation without `security` needs a
 * valid token, unless `missingSecurity` says otherwise.
 *
 * @throws ConfigurationError that lists every operation with a `security` that no rule can express, every
 *   scope that no token can be granted, and every path that can't be read, unless there is `onUnclear`; with
 *   `missingSecurity: "error"`, every operation without `security`; every mistake in the table; and, before
 *   all of them, wrong options
 */
export function fromDocument(document: object, options: FromDocumentOptions = {}): ScopeMappings {
  const source = requireDocument(document);
  checkOptions("fromDocument", options, FROM_DOCUMENT_OPTIONS);
  const missing = MISSING_SECURITY[options.missingSecurity ?? "authenticated"];
  const schemes = readSchemes(source);
  const issues: ConfigurationIssue[] = [];
  const onUnclear: Report = options.onUnclear ?? ((issue) => issues.push(issue));
  const table = new Map<string, TableEntry>();
  const restrictions = readRestrictions(source);
  if (restrictions === "unclear")
    issues.push(
      issueAt([RESTRICTIONS], "isn't a table of rules.", "Write the document again with toSecurity."),
    );
  for (const operation of listOperations(source, onUnclear, options)) {
    const { method, pattern, place, security } = operation;
    const key = `${method} ${pattern.source}`;
    const rulePattern = parseRulePattern(pattern.source);
    if (!isPattern(rulePattern)) {
      const message = `has a path that no rule can name: ${key} ${rulePattern.message}`;
      onUnclear(issueAt(place, message, rulePattern.hint));
      continue;
    }
    if (table.has(key)) issues.push(issueAt(place, `repeats \`${key}\`.`, "Keep one of the two."));
    if (security === undefined) {
      const issue = issueAt(place, "has no `security`.", FORM);
      if (missing === undefined) issues.push(issue);
      else if (missing !== "public") options.onUnclear?.(issue);
      table.set(key, missing ?? []);
      continue;
    }
    const said = readSecurity(operation, schemes);
    const conditions = readConditions(operation);
    const unclear =
      said === undefined || conditions === "unclear"
        ? [issueAt(place, INEXPRESSIBLE, FORM)]
        : scopeIssues(said, operation);
    for (const issue of unclear) onUnclear(issue);
    const isClear = said !== undefined && conditions !== "unclear" && unclear.length === 0;
    table.set(key, isClear ? writeEntry({ requirement: said, conditions }) : []);
  }
  const mappings = Object.freeze({
    ...(restrictions === "unclear" ? {} : restrictions),
    ...Object.fromEntries(table),
  }) as ScopeMappings;
  compileRules({}, mappings, (issue) => issues.push(issue), {
    conditions: { compile: compileConditions, collect: () => undefined },
  });
  if (issues.length > 0) throw new ConfigurationError(issues);
  return mappings;
}

const INEXPRESSIBLE = "has a `security` that no rule can express.";

/** Returns every mistake in the scopes of an operation, with its place in the document. */
function scopeIssues(
  requirement: Requirement,
  { place, method, pattern }: Operation,
): readonly ConfigurationIssue[] {
  const issues: ConfigurationIssue[] = [];
  // Several schemes may contain one scope, so its index in the requirement isn't its place in the document.
  const report: Report = (issue) => issues.push({ ...issue, path: place });
  compileRequirement(requirement, { method, pattern }, place, report);
  return issues;
}
