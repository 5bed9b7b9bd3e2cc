/** The conditions of one rule: their kinds, how they are compiled, and how they are described. */
import type { ConfigurationIssue, Report } from "../../errors.ts";
import { compileScope, type RequiredScope } from "../../scopes/required-scope.ts";
import { ANY_METHODS } from "../operation-methods.ts";
import { identityOf } from "../pattern.ts";
import { parseRouteKey, type RouteKey } from "../route-key.ts";
import { ruleIdentity } from "../rule.ts";
import { acr } from "./acr.ts";
import { actors } from "./actors.ts";
import { clients } from "./clients.ts";
import { type CompiledConditions, type ConditionKind, readStrings, reportInvalid } from "./condition.ts";
import { maxAuthAge } from "./max-auth-age.ts";
import { senderConstrained } from "./sender-constrained.ts";
import { where } from "./where.ts";
import type { Conditions } from "./written.ts";

/** All kinds, in the order in which they are checked. */
const KINDS = {
  where,
  actors,
  clients,
  senderConstrained,
  acr,
  maxAuthAgeSeconds: maxAuthAge,
} satisfies { readonly [Name in keyof Conditions]?: ConditionKind<never> };

const NAMES = Object.keys(KINDS) as readonly (keyof typeof KINDS)[];

/** The properties of an entry of the table that are about the caller. */
export const CONDITION_NAMES: readonly (keyof Conditions)[] = [...NAMES, "unless", "except"];

/** Compiles the conditions of an entry, or reports the mistakes in them. */
export function compileConditions(
  written: Conditions,
  route: RouteKey,
  path: readonly (string | number)[],
  report: Report,
): CompiledConditions | undefined {
  const issues: ConfigurationIssue[] = [];
  const reportHere: Report = (issue) => {
    issues.push(issue);
    report(issue);
  };
  const contextOf = (name: string) => ({
    pattern: route.pattern,
    path: [...path, name],
    report: reportHere,
  });
  // Own properties only: a polluted prototype must not add or change a condition.
  const has = (name: keyof Conditions): boolean => Object.hasOwn(written, name);
  const all = NAMES.filter(has).flatMap((name) => KINDS[name].parse(written[name], contextOf(name)) ?? []);
  const unless = has("unless") ? compileUnless(written.unless, route, contextOf("unless")) : [];
  const except = has("except") ? readExcept(written.except, contextOf("except")) : new Set<string>();
  const names = Object.keys(written);
  if (!NAMES.some(has))
    reportInvalid(
      contextOf(names[0] ?? ""),
      "has no effect without a condition.",
      `Write one of ${NAMES.join(", ")} next to it.`,
    );
  if (issues.length > 0 || !unless || !except) return undefined;
  const parameters = [
    ...all.flatMap(({ boundParameters = [] }) => boundParameters),
    ...unless.flatMap(({ template }) => template?.parameter ?? []),
  ];
  return { written, all, unless, except, parameters };
}

type Context = Parameters<typeof reportInvalid>[0];

function compileUnless(
  written: unknown,
  { pattern }: RouteKey,
  context: Context,
): readonly RequiredScope[] | undefined {
  const texts = readStrings(written);
  if (!texts) {
    reportInvalid(context, "isn't an array of scopes.", 'Write the scopes: ["orgs:any"].');
    return;
  }
  return texts.flatMap(
    (text, index) => compileScope(text, pattern.parameters, [...context.path, index], context.report) ?? [],
  );
}

function readExcept(written: unknown, context: Context): ReadonlySet<string> | undefined {
  const keys = readStrings(written);
  if (!keys) {
    reportInvalid(
      context,
      "isn't an array of keys of the table.",
      'Write the key of each rule: ["GET /orgs/:org/logo"].',
    );
    return;
  }
  const identities = keys.flatMap((key, index) => {
    // Accepts any method: a key that isn't in the table is reported later.
    const route = parseRouteKey(key, ANY_METHODS);
    if (!("code" in route)) return identitiesOf(route);
    reportInvalid(context, `contains ${JSON.stringify(key)}, which ${route.message}`, route.hint, [index]);
    return [];
  });
  return new Set(identities);
}

/** The routes that a key decides, each by `ruleIdentity`. */
export const identitiesOf = ({ method, pattern }: RouteKey): readonly string[] =>
  pattern.operation
    ? [ruleIdentity(method, pattern.operation.identity)]
    : pattern.alternatives.map(({ segments }) => ruleIdentity(method, identityOf(segments)));

/** Describes each condition of a rule in words. */
export function describeConditions(conditions: Conditions = {}): readonly string[] {
  const described = NAMES.flatMap((name) => {
    const written = conditions[name];
    const { describe } = KINDS[name] as ConditionKind<typeof written>;
    return written === undefined ? [] : [describe(written)];
  });
  const { unless, except } = conditions;
  if (unless) described.push(`unless granted ${unless.join(" ")}`);
  if (except) described.push(`except at ${except.map((key) => `\`${key}\``).join(", ")}`);
  return described;
}

/** Returns a frozen copy, so that the table of a running server doesn't change when the options do. */
export function freezeConditions(conditions: Conditions): Conditions {
  const copy = structuredClone(conditions);
  const pending: unknown[] = [copy];
  for (const value of pending) {
    if (typeof value !== "object" || value === null) continue;
    Object.freeze(value);
    pending.push(...(Object.values(value) as unknown[]));
  }
  return copy;
}
