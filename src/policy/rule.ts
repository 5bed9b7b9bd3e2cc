import { type Pattern } from "./pattern.ts";
import { type CompiledRequirement, type Requirement } from "./requirement.ts";

/** Where a rule comes from; an `override` is a custom rule that replaced a default one. */
export type RuleSource = "default" | "custom" | "override";

/** One entry of the effective table. */
export interface Rule {
  /** `METHOD /pattern`, as it was written. */
  readonly key: string;
  /** Upper case, or `*` for every method. */
  readonly method: string;
  /** In path-to-regexp's syntax, as it was written. */
  readonly pattern: string;
  /** What it asks. */
  readonly requirement: Requirement;
  /** Which table it comes from. */
  readonly source: RuleSource;
}

/** A rule with its pattern and requirement compiled. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly pattern: Pattern;
  readonly requirement: CompiledRequirement;
  /** The same for rules that decide alike, whichever of them a request is judged by. */
  readonly meaning: string;
}

/** The rule that decides a request, with the request's parameters by the names of the rule's pattern. */
export interface RuleMatch {
  readonly compiled: CompiledRule;
  /** The decoded value; empty where the path gave none. */
  parameter(name: string): string;
}

/** The methods whose rules decide a request, in order: HEAD runs the handler of GET in every framework. */
export function methodsAsked(method: string): readonly string[] {
  return method === "HEAD" ? ["HEAD", "GET", "*"] : [method, "*"];
}
