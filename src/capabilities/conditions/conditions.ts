/** The conditions of one rule: their kinds, how they are compiled, and how they are described. */
import type { ConfigurationIssue, Report } from "../../core/errors.ts";
import type {
  CompiledConditions,
  CompiledUnless,
  ConditionName,
  Conditions,
  Unless,
} from "../../core/policy/conditions.ts";
import type { KeyLanguage } from "../../core/policy/key-language.ts";
import { identityOf } from "../../core/policy/pattern.ts";
import { findMethodMistake, parseRouteKey, type RouteKey } from "../../core/policy/route-key.ts";
import { appliesTo, ruleIdentity } from "../../core/policy/rule.ts";
import { compileScope, type RequiredScope } from "../../core/scopes/required-scope.ts";
import { acr } from "./acr.ts";
import { actors } from "./actors.ts";
import { clients } from "./clients.ts";
import { type ConditionKind, readProperties, readStrings, reportInvalid } from "./condition.ts";
import { maxAuthAge } from "./max-auth-age.ts";
import { senderConstrained } from "./sender-constrained.ts";
import { areWeaker } from "./weakening.ts";
import { where } from "./where.ts";

/** All kinds, in the order in which they are checked. */
const KINDS = {
  where,
  actors,
  clients,
  senderConstrained,
  acr,
  maxAuthAgeSeconds: maxAuthAge,
} satisfies Readonly<Record<ConditionName, ConditionKind<never>>>;

const NAMES = Object.keys(KINDS) as readonly (keyof typeof KINDS)[];

/** The conditions that `unless` lifts. */
const LIFTED = ["where", "actors", "clients"] as const;

/** Compiles the conditions of an entry, or reports the mistakes in them. */
export function compileConditions(
  written: Conditions,
  route: RouteKey,
  path: readonly (string | number)[],
  report: Report,
  language?: KeyLanguage,
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
  const also = has("also") ? compileScopes(written.also, contextOf("also"), ["admin:use"]) : [];
  const unless = has("unless") ? compileUnless(written.unless, route, contextOf("unless")) : { scopes: [] };
  const except = has("except")
    ? readExcept(written.except, contextOf("except"), language)
    : new Set<string>();
  const names = Object.keys(written);
  if (!NAMES.some(has) && !has("also"))
    reportInvalid(
      contextOf(names[0] ?? ""),
      "has no effect without a condition.",
      `Write one of also, ${NAMES.join(", ")} next to it.`,
    );
  else if (has("unless") && !LIFTED.some(has))
    reportInvalid(
      contextOf("unless"),
      "lifts nothing here.",
      "It lifts where, actors and clients of this rule.",
    );
  if (issues.length > 0 || !also || !unless || !except) return undefined;
  const scopes = [...also, ...unless.scopes];
  const parameters = [
    ...all.flatMap(({ boundParameters = [] }) => boundParameters),
    ...scopes.flatMap(({ template }) => template?.parameter ?? []),
  ];
  const frozen = freezeCopy(written);
  const conditions: CompiledConditions = {
    written: frozen,
    described: describeConditions(frozen),
    all,
    also: { kind: "allOf", scopes: also },
    unless,
    scopes,
    except,
    parameters,
    areWeakenedBy: (replacing) => areWeaker(replacing, { conditions, pattern: route.pattern }),
  };
  return conditions;
}

type Context = Parameters<typeof reportInvalid>[0];

function compileScopes(
  written: unknown,
  { pattern, path, report }: Context,
  example: readonly string[],
): readonly RequiredScope[] | undefined {
  const texts = readStrings(written);
  if (!texts) {
    reportInvalid(
      { pattern, path, report },
      "isn't an array of scopes.",
      `Write the scopes: ${JSON.stringify(example)}.`,
    );
    return;
  }
  return texts.flatMap(
    (text, index) => compileScope(text, pattern.parameters, [...path, index], report) ?? [],
  );
}

function compileUnless(written: unknown, route: RouteKey, context: Context): CompiledUnless | undefined {
  const properties = readProperties(written, ["scopes", "methods"]);
  if (!properties) {
    const scopes = compileScopes(written, context, ["orgs:cross"]);
    return scopes && { scopes };
  }
  const scopesContext = { ...context, path: [...context.path, "scopes"] };
  const scopes = compileScopes(properties.get("scopes"), scopesContext, ["orgs:cross"]);
  const methods = properties.has("methods")
    ? readMethods(properties.get("methods"), route, { ...context, path: [...context.path, "methods"] })
    : [];
  return scopes && methods && { scopes, methods: properties.has("methods") ? methods : undefined };
}

/** Reads methods of requests that the rule can match. Another method would lift nothing. */
function readMethods(
  written: unknown,
  { method: ruleMethod, pattern }: RouteKey,
  context: Context,
): readonly string[] | undefined {
  const methods = readStrings(written);
  const isPossible = (method: string): boolean =>
    method !== "*" &&
    !findMethodMistake(method, pattern.source) &&
    (appliesTo({ method: ruleMethod }, method) || appliesTo({ method }, ruleMethod));
  if (methods?.every(isPossible)) return methods;
  reportInvalid(
    context,
    "isn't an array of methods that the rule matches.",
    pattern.operation
      ? "Remove `methods`: an operation has no method."
      : 'Write the methods in upper case: ["GET"]. For every method, remove `methods`.',
  );
  return undefined;
}

function readExcept(
  written: unknown,
  context: Context,
  language: KeyLanguage | undefined,
): ReadonlySet<string> | undefined {
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
    const route = parseRouteKey(key, language);
    if (!("code" in route)) return identitiesOf(route);
    if (route.code === "option_missing") context.report({ path: context.path, ...route });
    else
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

/** Describes each condition of a rule in words: first `also`, last the exceptions. */
export function describeConditions(conditions: Conditions = {}): readonly string[] {
  const { also = [], unless, except } = conditions;
  const described = also.length > 0 ? [`also ${also.join(" ")}`] : [];
  for (const name of NAMES) {
    const written = conditions[name];
    const { describe } = KINDS[name] as ConditionKind<typeof written>;
    if (written !== undefined) described.push(describe(written));
  }
  if (unless) described.push(describeUnless(unless));
  if (except) described.push(`except at ${except.map((key) => `\`${key}\``).join(", ")}`);
  return described;
}

function describeUnless(unless: Unless): string {
  const { scopes, methods } = "scopes" in unless ? unless : { scopes: unless };
  return `unless granted ${scopes.join(" ")}${methods ? ` for ${methods.join(", ")}` : ""}`;
}

/** Returns a frozen copy, so that the table of a running server doesn't change when the options do. */
function freezeCopy(conditions: Conditions): Conditions {
  const copy = structuredClone(conditions);
  const pending: unknown[] = [copy];
  for (const value of pending) {
    if (typeof value !== "object" || value === null) continue;
    Object.freeze(value);
    pending.push(...(Object.values(value) as unknown[]));
  }
  return copy;
}
