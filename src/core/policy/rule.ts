import type { RequiredScope } from "../scopes/required-scope.ts";
import type { ParameterSource } from "./parameters.ts";
import type { Pattern } from "./pattern.ts";
import type { CompiledConditions, Conditions } from "./conditions.ts";
import type { CompiledRequirement, Requirement } from "./requirement.ts";

/** The option that a rule comes from. An `override` is a custom rule that replaced a default rule. */
export type RuleSource = "default" | "custom" | "override";

/** One entry of the effective table. */
export interface Rule {
  /** `METHOD /pattern`, as it was written. */
  readonly key: string;
  /** Upper case, or `*` for every method. */
  readonly method: string;
  /** In path-to-regexp's syntax, as it was written. */
  readonly pattern: string;
  /** What it requires. */
  readonly requirement: Requirement;
  /**
   * What the rule requires of the caller in addition to scopes. Conditions also apply to narrower rules.
   * Absent if there are none.
   */
  readonly conditions?: Conditions;
  /** The table that it comes from. */
  readonly source: RuleSource;
}

/** A rule with its pattern and requirement compiled. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly pattern: Pattern;
  readonly requirement: CompiledRequirement;
  /** Absent without conditions. */
  readonly conditions?: CompiledConditions | undefined;
  /** The array that decisions contain. It's created once, not for each request. */
  readonly asList: readonly Rule[];
  /** Whether a custom rule replaced it at some of its paths. */
  readonly isPart?: boolean;
}

/** A rule that a request must satisfy, with the path that fills its templates. */
export interface RuleMatch {
  readonly compiled: CompiledRule;
  /** The decoded value of a route parameter; empty if routers may read another value. */
  readonly parameter: (name: string) => string;
  /** Absent if the rule reads no path. For an operation, it's the path of the transport. */
  readonly source?: ParameterSource | undefined;
}

/** A rule with conditions that matches a request, with the path or the arguments that fill its parameters. */
export interface Restriction extends RuleMatch {
  readonly conditions: CompiledConditions;
  /** The scopes that lift conditions of the rule for this request; empty if none do. */
  readonly unless: readonly RequiredScope[];
  /** Where the parameters come from: one path of the request, or the arguments of one operation. */
  readonly place: object;
}

/** Returns the same string for rules that decide the same route. `path` is the identity of a pattern. */
export const ruleIdentity = (method: string, path: string): string => `${method} ${path}`;

/** Returns where the options contain a rule. */
export const optionPath = ({ source, key }: Pick<Rule, "source" | "key">): readonly [string, string] => [
  source === "default" ? "defaultScopeMappings" : "scopeMappings",
  key,
];

/** Renders the keys of at most five rules, for use in a sentence. */
export function renderRules(rules: readonly Rule[]): string {
  const keys = rules.slice(0, MAX_NAMED).map(({ key }) => `\`${key}\``);
  const others = rules.length - keys.length;
  return others > 0 ? `${keys.join(", ")} and ${others} more` : keys.join(", ");
}

const MAX_NAMED = 5;

/** Returns whether a rule may decide requests of a method. Frameworks run the GET handler for HEAD. */
export const appliesTo = (rule: Pick<Rule, "method">, method: string): boolean =>
  rule.method === method || rule.method === "*" || (rule.method === "GET" && method === "HEAD");

/** Returns the most specific method that both rules apply to; `undefined` if there is none. */
export function commonMethod(first: CompiledRule, second: CompiledRule): string | undefined {
  const methods = [first.rule.method, second.rule.method];
  const [method, otherMethod] = methods;
  if (method === otherMethod || otherMethod === "*") return method;
  if (method === "*") return otherMethod;
  return methods.includes("HEAD") && methods.includes("GET") ? "HEAD" : undefined;
}

export const hasOperations = (rules: readonly CompiledRule[]): boolean =>
  rules.some(({ pattern }) => pattern.operation !== undefined);
