/** The interface of one kind of condition: how it's written, checked and described. */
import type { Report } from "../../core/errors.ts";
import type { CompiledCondition } from "../../core/policy/conditions.ts";
import type { Pattern } from "../../core/policy/pattern.ts";
import { isObject, isText } from "../../core/runtime/json.ts";

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
