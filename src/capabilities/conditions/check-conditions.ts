/** Checks the conditions of one rule against the other rules of the table. */
import type { ConfigurationIssue, Report } from "../../core/errors.ts";
import type { ConditionedTable, ConditionOptions } from "../../core/policy/condition-language.ts";
import type { Where } from "../../core/policy/conditions.ts";
import { findRouteRules } from "../../core/policy/find-rules.ts";
import type { KeyLanguage } from "../../core/policy/key-language.ts";
import { commonPatterns } from "../../core/policy/overlap.ts";
import type { PatternSegment } from "../../core/policy/pattern.ts";
import { renderPattern } from "../../core/policy/render-pattern.ts";
import {
  commonMethod,
  type CompiledRule,
  optionPath,
  type Rule,
  ruleIdentity,
} from "../../core/policy/rule.ts";
import { parseRouteKey } from "../../core/policy/route-key.ts";
import type { TreeNode } from "../../core/policy/rule-tree.ts";
import { leavesInOrder } from "../../core/policy/walk-tree.ts";
import { isTenantSource } from "../../core/token/claim-values.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { identitiesOf } from "./conditions.ts";
import { MeetingRules } from "./meeting-rules.ts";

/** Reports conditions that can't take effect as written: at most 20. */
export function checkConditions(table: ConditionedTable, options: ConditionOptions, report: Report): void {
  let count = 0;
  for (const issue of findIssues(table, options)) {
    report(issue);
    count += 1;
    if (count === MAX_ISSUES) return;
  }
}

/** One condition on a prefix can conflict with thousands of rules. The first issues are enough to find it. */
const MAX_ISSUES = 20;

function* findIssues(table: ConditionedTable, options: ConditionOptions): Iterable<ConfigurationIssue> {
  const { authorization, checksKeys } = options;
  const conditioned = table.rules.filter(({ conditions }) => conditions);
  const open = new MeetingRules(
    table.rules.filter(({ requirement: { kind } }) => kind === "public" || kind === "optional"),
  );
  const withAcr = new MeetingRules(conditioned.filter((compiled) => acrOf(compiled).length > 0));
  const commonAcr = createCommonAcr();
  const routes = routesOf(table.rules);
  for (const restricting of conditioned) {
    const { rule } = restricting;
    if (!authorization) yield withoutAuthorization(rule);
    if (!checksKeys && rule.conditions?.senderConstrained) yield withoutSenderConstraint(rule);
    yield* findUnknownIssuers(restricting, options);
    yield* findUnknownExceptions(restricting, routes, table.language);
    for (const other of open.find(restricting)) yield* findMissingException(restricting, other, table);
    const values = acrOf(restricting);
    if (values.length === 0) continue;
    const isSettled = (node: TreeNode): boolean => commonAcr(node).some((value) => values.includes(value));
    for (const other of withAcr.find(restricting, isSettled)) yield* findDisjointAcr(restricting, other);
  }
}

const withoutAuthorization = (rule: Rule): ConfigurationIssue => ({
  code: "option_conflict",
  path: optionPath(rule),
  message: "has conditions, which `authorization: false` doesn't check.",
  hint: "Remove `authorization: false`, or the conditions.",
});

const withoutSenderConstraint = (rule: Rule): ConfigurationIssue => ({
  code: "option_conflict",
  path: [...optionPath(rule), "senderConstrained"],
  message: "refuses every token: without `senderConstraint`, none can be bound to a key.",
  hint: 'Write senderConstraint: senderConstraint({ dpop: { origins: ["https://api.example"] } }), imported from scopegate/sender-constraint, or remove the condition.',
});

/** Issuers may use one name for different claims: users of one of them may choose their own `org_id`. */
function findUnknownIssuers(
  { rule }: CompiledRule,
  { issuers, findsIssuers, hasTenants }: ConditionOptions,
): readonly ConfigurationIssue[] {
  const written: Where = rule.conditions?.where ?? {};
  return Object.entries(written).flatMap(([parameter, sources]) =>
    [sources].flat().flatMap((source): readonly ConfigurationIssue[] => {
      const path = [...optionPath(rule), "where", parameter];
      if (isTenantSource(source)) return hasTenants ? [] : [withoutTenants(path)];
      const { issuer } = source;
      const list = issuers.map((name) => JSON.stringify(name)).join(" or ");
      if (issuer === undefined && findsIssuers)
        return [
          {
            code: "condition_conflict",
            path,
            message: "names no issuer, but the server finds further issuers while it runs.",
            hint: "Write { tenant: true } for the tenant of the issuer, or { claim, issuer }.",
          },
        ];
      if (issuer === undefined && issuers.length > 1)
        return [
          {
            code: "condition_conflict",
            path,
            message: "names no issuer, but the server accepts tokens of several.",
            hint: `Write { claim, issuer } with ${list}, in an array for several issuers.`,
          },
        ];
      if (issuer === undefined || findsIssuers || issuers.length === 0 || issuers.includes(issuer)) return [];
      return [
        {
          code: "condition_conflict",
          path,
          message: "names an issuer whose tokens the server doesn't accept.",
          hint: `Write ${list}.`,
        },
      ];
    }),
  );
}

const withoutTenants = (path: ConfigurationIssue["path"]): ConfigurationIssue => ({
  code: "condition_conflict",
  path,
  message:
    "compares a parameter with the tenant of the issuer, but no issuer has one: no caller would be allowed.",
  hint: "Write `tenant` in the entries of `issuers`, or issuersFrom(find), imported from scopegate/issuers.",
});

/** A misspelled rule wouldn't be exempt, and a renamed rule would lose its exception. */
function findUnknownExceptions(
  restricting: CompiledRule,
  routes: Routes,
  language: KeyLanguage | undefined,
): readonly ConfigurationIssue[] {
  const { rule } = restricting;
  const restrictedIdentities = identitiesOfRule(restricting);
  return [...(rule.conditions?.except ?? [])].flatMap((key, index): readonly ConfigurationIssue[] => {
    const exempt = routes.byKey.get(key) ?? findByRoute(key, routes, language);
    const path = [...optionPath(rule), "except", index];
    if (!exempt || identitiesOfRule(exempt).some((identity) => restrictedIdentities.includes(identity)))
      return [
        {
          code: "exception_unknown",
          path,
          message: `\`${key}\` isn't the key of another rule.`,
          hint: "Write the key of a rule of the table, or remove the exception.",
        },
      ];
    if (meet(restricting, exempt).length > 0) return [];
    return [
      {
        code: "exception_unknown",
        path,
        message: `\`${key}\` decides no request that this rule matches.`,
        hint: "Remove the exception.",
      },
    ];
  });
}

/** The rules by their keys, and by the identities of their routes. */
interface Routes {
  readonly byKey: ReadonlyMap<string, CompiledRule>;
  readonly byIdentity: ReadonlyMap<string, CompiledRule>;
}

const routesOf = (rules: readonly CompiledRule[]): Routes => ({
  byKey: new Map(rules.map((compiled) => [compiled.rule.key, compiled])),
  byIdentity: new Map(
    rules.flatMap((compiled) => identitiesOfRule(compiled).map((identity) => [identity, compiled] as const)),
  ),
});

/** The same route may be written differently. */
function findByRoute(
  key: string,
  { byIdentity }: Routes,
  language: KeyLanguage | undefined,
): CompiledRule | undefined {
  const route = parseRouteKey(key, language);
  if ("code" in route) return undefined;
  const identity = identitiesOf(route).find((each) => byIdentity.has(each));
  return identity === undefined ? undefined : byIdentity.get(identity);
}

const identitiesOfRule = ({ rule, pattern }: CompiledRule): readonly string[] =>
  identitiesOf({ method: rule.method, pattern });

/** A rule that allows callers without a token would open what another rule's conditions close. */
function findMissingException(
  restricting: CompiledRule,
  other: CompiledRule,
  table: ConditionedTable,
): readonly ConfigurationIssue[] {
  const { kind } = other.requirement;
  if (isException(other, restricting)) return [];
  const common = meet(restricting, other).find((overlap) => decides(other, overlap, table));
  if (!common) return [];
  return [
    {
      code: "exception_missing",
      path: optionPath(other.rule),
      message: `is "${kind}", but the conditions of \`${restricting.rule.key}\` also apply to \`${common.text}\`.`,
      hint: `Add except: ["${other.rule.key}"] to \`${restricting.rule.key}\`, or require a token here.`,
    },
  ];
}

/** Returns whether a rule decides a request that another rule also matches. */
const decides = (
  compiled: CompiledRule,
  { method, segments, text }: Overlap,
  table: ConditionedTable,
): boolean =>
  segments === undefined
    ? table.operations?.find(text.slice(OPERATION_METHOD.length + 1)).includes(compiled) === true
    : findRouteRules(table.tree, method, segments)[0]?.compiled === compiled;

const isException = (exempt: CompiledRule, { conditions }: CompiledRule): boolean =>
  identitiesOfRule(exempt).every((identity) => conditions?.except.has(identity));

const acrOf = ({ rule }: CompiledRule): readonly string[] => rule.conditions?.acr?.anyOf ?? [];

/** Returns a function that finds the values that every rule below a node accepts. */
function createCommonAcr(): (node: TreeNode) => readonly string[] {
  const valuesByNode = new Map<TreeNode, readonly string[]>();
  return (node) => {
    let common = valuesByNode.get(node);
    for (const { compiled } of common ? [] : leavesInOrder(node)) {
      const values = acrOf(compiled);
      common = common?.filter((value) => values.includes(value)) ?? values;
      if (common.length === 0) break;
    }
    valuesByNode.set(node, common ?? []);
    return common ?? [];
  };
}

/** Two rules that apply to one request and have no `acr` in common would refuse every login. */
function findDisjointAcr(restricting: CompiledRule, other: CompiledRule): readonly ConfigurationIssue[] {
  const values = acrOf(other);
  // Each pair only once.
  if (restricting.rule.key >= other.rule.key) return [];
  if (acrOf(restricting).some((value) => values.includes(value))) return [];
  const [common] = meet(restricting, other);
  if (!common || isException(other, restricting) || isException(restricting, other)) return [];
  return [
    {
      code: "condition_conflict",
      path: [...optionPath(restricting.rule), "acr"],
      message: `has no value in common with \`${other.rule.key}\`, but both apply to \`${common.text}\`.`,
      hint: "Add a value that satisfies both, or an exception.",
    },
  ];
}

/** The requests that two rules both match. */
interface Overlap {
  readonly method: string;
  /** Absent for an operation. */
  readonly segments?: readonly PatternSegment[];
  /** As a key of the table. */
  readonly text: string;
}

/** Returns what two rules both match; nothing if no request matches both. */
function meet(first: CompiledRule, second: CompiledRule): readonly Overlap[] {
  const methods = [first.rule.method, second.rule.method];
  if (methods.includes(OPERATION_METHOD)) return meetAsOperations(first, second);
  const method = commonMethod(first, second);
  if (method === undefined) return [];
  const common = first.pattern.alternatives.flatMap((alternative) =>
    second.pattern.alternatives.flatMap((other) => commonPatterns(alternative.segments, other.segments)),
  );
  return common.map((segments) => ({
    method,
    segments,
    text: `${method} ${renderPattern({ segments, hasSlash: false })}`,
  }));
}

function meetAsOperations(
  { pattern: first }: CompiledRule,
  { pattern: second }: CompiledRule,
): readonly Overlap[] {
  const text = first.operation && second.operation && first.operation.meet(second.operation);
  if (text === undefined) return [];
  return [{ method: OPERATION_METHOD, text: ruleIdentity(OPERATION_METHOD, text) }];
}
