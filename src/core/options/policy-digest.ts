import { createHash } from "node:crypto";
import { isCapability } from "../capability.ts";
import { DEFAULTS } from "./defaults.ts";
import type { ResourceServerOptions } from "./options.ts";
import { isPlainObject } from "./values.ts";
import type { Requirement } from "../policy/requirement.ts";
import type { CompiledRule } from "../policy/rule.ts";

/** Keys change without the policy, and a digest of a secret would help to guess it. */
const LEFT_OUT = ["keys", "verificationKeys", "secret", "privateKey"];

/** In the values of these options, names are claims, roles and scopes. */
const TABLES = ["requiredClaims", "map", "impliedScopes"];

/**
 * Returns a digest of the effective table and of all options that JSON can express, whatever their order: 32
 * hexadecimal digits. Functions, keys and secrets aren't part of it.
 */
export function digestPolicy(rules: readonly CompiledRule[], options: ResourceServerOptions): string {
  const { scopeMappings, defaultScopeMappings, ...others } = { ...DEFAULTS, ...options };
  const table = rules.map(({ rule: { method, pattern, requirement, conditions } }) =>
    JSON.stringify([method, pattern, withoutOrder(requirement), toData(conditions)]),
  );
  const policy = JSON.stringify([table.sort(), toData(withoutFunctions(others))]);
  return createHash("sha256").update(policy).digest("hex").slice(0, 32);
}

function withoutOrder(requirement: Requirement): unknown {
  if (typeof requirement === "string") return requirement;
  return "anyOf" in requirement ? { anyOf: [...requirement.anyOf].sort() } : [...requirement].sort();
}

const withoutFunctions = (value: unknown): unknown =>
  isPlainObject(value)
    ? Object.fromEntries(Object.entries(value as object).filter(([, item]) => typeof item !== "function"))
    : value;

/** Returns what JSON can express of a value, with sorted names. An object with functions is no data. */
function toData(value: unknown, leftOut: readonly string[] = LEFT_OUT): unknown {
  if (isCapability(value)) return toData(withoutFunctions(value.written));
  if (Array.isArray(value)) return value.map((item) => toData(item, leftOut));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => !leftOut.includes(name));
  if (!isPlainObject(value) || entries.some(([, item]) => typeof item === "function")) return undefined;
  return entries
    .sort(byName)
    .map(([name, item]) => [name, toData(item, TABLES.includes(name) ? [] : leftOut)]);
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1);
