/** What the conditions of one rule mean for the other rules of the table. */
import type { ConfigurationIssue, Report } from "../../errors.ts";
import { OPERATION_METHOD } from "../../request.ts";
import type { CompiledTable } from "../compile-rules.ts";
import { commonPatterns } from "../overlap.ts";
import type { PatternSegment } from "../pattern.ts";
import { renderPattern } from "../render-pattern.ts";
import { type CompiledRule, optionPath, type Rule, ruleIdentity } from "../rule.ts";
import { parseRouteKey } from "../route-key.ts";
import { identitiesOf } from "./conditions.ts";
import type { Where } from "./written.ts";

/** Reports conditions that cannot take effect as they are written: at most 20. */
export function checkConditions(
  { rules, hiddenRules }: Pick<CompiledTable, "rules" | "hiddenRules">,
  authorization: boolean,
  issuers: readonly string[],
  report: Report,
): void {
  const all = [...rules, ...hiddenRules];
  const conditioned = all.filter(({ conditions }) => conditions);
  const open = all.filter(({ requirement: { kind } }) => kind === "public" || kind === "optional");
  const withAcr = conditioned.filter(({ rule }) => rule.conditions?.acr);
  const issues = conditioned.flatMap((restricting) => [
    ...(authorization ? [] : [withoutAuthorization(restricting.rule)]),
    ...findUnknownIssuers(restricting, issuers),
    ...findUnknownExceptions(restricting, all),
    ...open.flatMap((other) => findMissingException(restricting, other) ?? []),
    ...withAcr.flatMap((other) => findDisjointAcr(restricting, other) ?? []),
  ]);
  for (const issue of issues.slice(0, MAX_ISSUES)) report(issue);
}

/** One condition on a prefix can conflict with thousands of rules. The first issues are enough to find it. */
const MAX_ISSUES = 20;

const withoutAuthorization = (rule: Rule): ConfigurationIssue => ({
  code: "option_conflict",
  path: optionPath(rule),
  message: "has conditions, which `authorization: false` does not check.",
  hint: "Remove `authorization: false`, or the conditions.",
});

/** Two issuers may give one name to different claims: `org_id` of the one may be chosen by its users. */
function findUnknownIssuers(
  { rule }: CompiledRule,
  issuers: readonly string[],
): readonly ConfigurationIssue[] {
  const written: Where = rule.conditions?.where ?? {};
  return Object.entries(written).flatMap(([parameter, sources]) =>
    [sources].flat().flatMap(({ issuer }): readonly ConfigurationIssue[] => {
      const path = [...optionPath(rule), "where", parameter];
      const list = issuers.map((name) => JSON.stringify(name)).join(" or ");
      if (issuer === undefined && issuers.length > 1)
        return [
          {
            code: "condition_conflict",
            path,
            message: "names no issuer, but the server accepts tokens of several.",
            hint: `Write { claim, issuer } with ${list}, in an array for several issuers.`,
          },
        ];
      if (issuer === undefined || issuers.length === 0 || issuers.includes(issuer)) return [];
      return [
        {
          code: "condition_conflict",
          path,
          message: "names an issuer whose tokens the server does not accept.",
          hint: `Write ${list}.`,
        },
      ];
    }),
  );
}

/** A rule that is misspelled would not be exempt, and one that was renamed would lose its exception. */
function findUnknownExceptions(
  restricting: CompiledRule,
  all: readonly CompiledRule[],
): readonly ConfigurationIssue[] {
  const { rule } = restricting;
  const own = identitiesOfRule(restricting);
  return [...(rule.conditions?.except ?? [])].flatMap((key, index): readonly ConfigurationIssue[] => {
    const exempt = all.find((compiled) => compiled.rule.key === key) ?? findByRoute(key, all);
    const path = [...optionPath(rule), "except", index];
    if (!exempt || identitiesOfRule(exempt).some((identity) => own.includes(identity)))
      return [
        {
          code: "exception_unknown",
          path,
          message: `\`${key}\` is not the key of another rule.`,
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

/** The same route may be written in another way. */
function findByRoute(key: string, all: readonly CompiledRule[]): CompiledRule | undefined {
  const route = parseRouteKey(key);
  if ("code" in route) return undefined;
  const identities = identitiesOf(route);
  return all.find((compiled) => identitiesOfRule(compiled).some((identity) => identities.includes(identity)));
}

const identitiesOfRule = ({ rule, pattern }: CompiledRule): readonly string[] =>
  identitiesOf({ method: rule.method, pattern });

/** A rule that lets callers without a token pass would open what the conditions of another one close. */
function findMissingException(
  restricting: CompiledRule,
  other: CompiledRule,
): readonly ConfigurationIssue[] | undefined {
  const { kind } = other.requirement;
  const { conditions } = restricting;
  if (!conditions) return undefined;
  const identities = identitiesOfRule(other);
  if (identities.every((identity) => conditions.except.has(identity))) return undefined;
  const [common] = meet(restricting, other);
  if (!common || !isNarrower(other, restricting)) return undefined;
  return [
    {
      code: "exception_missing",
      path: optionPath(other.rule),
      message: `is "${kind}", but the conditions of \`${restricting.rule.key}\` hold at ${common}, too.`,
      hint: `Add except: ["${other.rule.key}"] to \`${restricting.rule.key}\`, or require a token here.`,
    },
  ];
}

/** Returns whether a rule may decide what both rules match: in any place, it is not the wider one. */
function isNarrower({ rule, pattern }: CompiledRule, than: CompiledRule): boolean {
  const alternatives = pattern.alternatives.map(({ segments }) => segments);
  return alternatives.some((segments) =>
    than.pattern.alternatives.some(
      (wide) =>
        commonPatterns(segments, wide.segments).length > 0 &&
        !isWider(segments, wide.segments, rule, than.rule),
    ),
  );
}

const KINDS = ["static", "mixed", "parameter", "wildcard"];

/** Compares two paths as the table does: from the left, the first segment that differs in kind decides. */
function isWider(
  segments: readonly PatternSegment[],
  other: readonly PatternSegment[],
  { method }: Rule,
  { method: otherMethod }: Rule,
): boolean {
  for (const [index, segment] of segments.entries()) {
    const otherSegment = other[index];
    if (!otherSegment) return false;
    const difference = KINDS.indexOf(segment.kind) - KINDS.indexOf(otherSegment.kind);
    if (difference !== 0) return difference > 0;
  }
  return method === "*" && otherMethod !== "*";
}

/** Two rules that hold for one request and share no `acr` would refuse every login. */
function findDisjointAcr(
  restricting: CompiledRule,
  other: CompiledRule,
): readonly ConfigurationIssue[] | undefined {
  const values = restricting.rule.conditions?.acr?.anyOf;
  const otherValues = other.rule.conditions?.acr?.anyOf;
  // A report-only rule and what is written beside it have one key.
  if (restricting.rule.key === other.rule.key) return undefined;
  if (!values || !otherValues || values.some((value) => otherValues.includes(value))) return undefined;
  const [common] = meet(restricting, other);
  const [first] = [restricting.rule.key, other.rule.key].toSorted();
  const isExempt = identitiesOfRule(other).every((identity) => restricting.conditions?.except.has(identity));
  const exempts = identitiesOfRule(restricting).every((identity) => other.conditions?.except.has(identity));
  // Each pair once.
  if (!common || isExempt || exempts || restricting.rule.key !== first) return undefined;
  return [
    {
      code: "condition_conflict",
      path: [...optionPath(restricting.rule), "acr"],
      message: `has no value that \`${other.rule.key}\` has, too, but both hold at ${common}.`,
      hint: "Add a value that satisfies both, or an exception.",
    },
  ];
}

/** Returns what two rules match together, as text; none if no request matches both. */
function meet(first: CompiledRule, second: CompiledRule): readonly string[] {
  const methods = [first.rule.method, second.rule.method];
  if (methods.includes(OPERATION_METHOD)) return meetAsOperations(first.rule, second.rule);
  const [method, otherMethod] = methods as [string, string];
  const isHead = methods.includes("HEAD") && methods.includes("GET");
  if (method !== otherMethod && !methods.includes("*") && !isHead) return [];
  const common = first.pattern.alternatives.flatMap((alternative) =>
    second.pattern.alternatives.flatMap((other) => commonPatterns(alternative.segments, other.segments)),
  );
  const shown = method === "*" ? otherMethod : method;
  return common.map((segments) => `\`${shown} ${renderPattern({ segments, hasSlash: false })}\``);
}

function meetAsOperations(first: Rule, second: Rule): readonly string[] {
  if (first.method !== second.method) return [];
  const [method] = first.pattern.split(" ", 1);
  const isSame = first.pattern === second.pattern;
  const every = `${method} *`;
  const isWithin = [first.pattern, second.pattern].includes(every) && second.pattern.startsWith(`${method} `);
  return isSame || isWithin ? [`\`${ruleIdentity(second.method, second.pattern)}\``] : [];
}
