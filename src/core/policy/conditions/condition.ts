/** The interface of a condition on the caller: how it's written, checked, described and refused. */
import type { Report } from "../../errors.ts";
import { isObject, isText } from "../../runtime/json.ts";
import type { Principal } from "../../token/principal.ts";
import type { Pattern } from "../pattern.ts";
import type { RequiredScope } from "../../scopes/required-scope.ts";
import type { Conditions } from "./written.ts";

/** The conditions, in the order in which they are checked. */
export type ConditionName =
  "where" | "actors" | "clients" | "senderConstrained" | "acr" | "maxAuthAgeSeconds";

/** Why a caller that doesn't meet a condition is refused, in the order in which conditions are checked. */
export const CONDITION_REASONS = [
  "caller_not_allowed",
  "proof_missing",
  "authentication_insufficient",
] as const;

export type ConditionReason = (typeof CONDITION_REASONS)[number];

/** When a request is decided. */
export interface Moment {
  /** Seconds since the epoch. */
  readonly nowSeconds: number;
  /** The tolerated clock difference of the issuer, in seconds. */
  readonly toleranceSeconds: number;
}

/** Everything that a condition may depend on. */
export interface ConditionCaller {
  readonly principal: Principal;
  /** The decoded value of a route parameter, or of an argument; empty if there is none. */
  readonly parameter: (name: string) => string;
  readonly moment: Moment;
}

/** A parameter whose value is one of several values of a claim. */
export interface AmbiguousBinding {
  readonly parameter: string;
  readonly value: string;
  /** The path of the claim, as a string. */
  readonly claim: string;
}

/** One condition of a rule, compiled. */
export interface CompiledCondition {
  readonly name: ConditionName;
  /** `authentication_insufficient` if the user can satisfy it by logging in again (RFC 9470). */
  readonly reason: ConditionReason;
  readonly isMet: (caller: ConditionCaller) => boolean;
  /** For a caller that meets the condition: parameters that are only one of several values of a claim. */
  readonly findAmbiguous?: (caller: ConditionCaller) => readonly AmbiguousBinding[];
  /** The parameters that the condition binds to a claim. */
  readonly boundParameters?: readonly string[];
  /** For the challenge: one of these values is needed. */
  readonly acrValues?: readonly string[];
  /** For the challenge: the maximum age of the login. */
  readonly maxAgeSeconds?: number;
}

/** The conditions of one rule, compiled. */
export interface CompiledConditions {
  /** As they were written. */
  readonly written: Conditions;
  /** In the order in which they are checked. */
  readonly all: readonly CompiledCondition[];
  /** The scopes with which a caller may ignore the conditions; empty if no caller may. */
  readonly unless: readonly RequiredScope[];
  /** The routes of the rules that the conditions don't apply to, by `ruleIdentity`. */
  readonly except: ReadonlySet<string>;
  /** The parameters of the request that the conditions read. */
  readonly parameters: readonly string[];
}

/** The rule that a condition is written in. */
export interface ConditionContext {
  readonly pattern: Pattern;
  /** Where the condition is in the options. */
  readonly path: readonly (string | number)[];
  readonly report: Report;
}

/** One kind of condition. To add a kind, write a file with one of these, and its line in `conditions.ts`. */
export interface ConditionKind<Written> {
  /** Compiles the written condition, or reports the mistakes in it. */
  readonly parse: (written: unknown, context: ConditionContext) => CompiledCondition | undefined;
  /** Describes it in words: `org is the claim org_id`. */
  readonly describe: (written: Written) => string;
}

/** Reports a wrong value of a condition. */
export function reportInvalid(
  { path, report }: ConditionContext,
  message: string,
  hint: string,
  place: readonly (string | number)[] = [],
): void {
  report({ code: "condition_invalid", path: [...path, ...place], message, hint });
}

/** Returns the own properties of a plain object; `undefined` for any other value or an unknown property. */
export function readProperties(
  value: unknown,
  names: readonly string[] | "any",
): ReadonlyMap<string, unknown> | undefined {
  if (!isObject(value)) return undefined;
  const properties = Object.entries(value);
  const isKnown = ([name]: readonly [string, unknown]) => names === "any" || names.includes(name);
  return properties.length > 0 && properties.every(isKnown) ? new Map(properties) : undefined;
}

/** Returns a copy of an array of one or more non-empty strings; `undefined` for any other value. */
export function readStrings(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const strings: readonly unknown[] = [...(value as readonly unknown[])];
  return strings.every(isText) ? strings : undefined;
}
