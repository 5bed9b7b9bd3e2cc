/** The data that the page embeds, and how its script creates the policy from it. */
import { createBatchRules } from "../../capabilities/batches/rules.ts";
import { ANY_LANGUAGE } from "../../capabilities/mcp-operations/language.ts";
import type { AuditRemark } from "../audit/report.ts";
import { CONDITION_LANGUAGE } from "../../capabilities/conditions/language.ts";
import { createComparison } from "../../capabilities/shadow/compare.ts";
import { compileRules } from "../../core/policy/compile-rules.ts";
import { Policy, type PolicyRules } from "../../core/policy/policy.ts";
import type { ScopeMappings } from "../../core/policy/scope-mappings.ts";
import type { TableEntry } from "../../core/policy/table-entry.ts";
import type { Comparison } from "../../core/policy/shadow.ts";
import type { Rule } from "../../core/policy/rule.ts";

/** Contains only the policy of a server, without keys, issuers and claims. */
export interface PageData extends Pick<PolicyRules, "authorization" | "unmappedRoutes"> {
  readonly title: string;
  /** The digest of the policy. */
  readonly policy: string;
  readonly rules: readonly (Pick<Rule, "key" | "source"> & { readonly entry: TableEntry })[];
  /** The table of `shadow`. */
  readonly shadow: Pick<PageData, "rules" | "unmappedRoutes"> | undefined;
  readonly hasBatches: boolean;
  readonly adminScope: string | null;
  /** What comes from the base table of the interface. */
  readonly baseTable: string | undefined;
  readonly implied: readonly (readonly [string, readonly string[]])[];
  /** The findings of the audit, each with the key of the rule that it's about. */
  readonly findings: readonly (AuditRemark & { readonly rule: string | undefined })[];
  /** The summary of the audit, if there are routes. */
  readonly audit: string | undefined;
  readonly roles: readonly (readonly [string, PageRole])[];
}

/**
 * The scopes of a role, also with claims and the tenant of its issuer, for conditions; `"anonymous"` for
 * callers without a token.
 */
export type PageRole =
  | readonly string[]
  | {
      readonly scopes: readonly string[];
      readonly claims?: Readonly<Record<string, unknown>>;
      readonly tenant?: string;
    }
  | "anonymous";

/** Rejects unknown properties, because a caller without the misspelled `claims` would meet no condition. */
export function isRole(role: unknown): role is PageRole {
  if (role === "anonymous") return true;
  const parts = (Array.isArray(role) ? { scopes: role } : Object(role)) as Record<string, unknown>;
  const { scopes, claims = {}, tenant = "", ...others } = parts;
  const isObject = typeof claims === "object" && claims !== null && !Array.isArray(claims);
  const areStrings = Array.isArray(scopes) && scopes.every((scope) => typeof scope === "string");
  return areStrings && isObject && typeof tenant === "string" && Object.keys(others).length === 0;
}

export const readShadow = (data: PageData): Comparison | undefined =>
  data.shadow && createComparison(readPolicy({ ...data, ...data.shadow, authorization: true }));

/** Creates a policy that decides as the server does. The server has already checked the table. */
export function readPolicy({ rules, adminScope, implied, hasBatches, ...options }: PageData): Policy {
  const tableOf = (...sources: readonly Rule["source"][]): ScopeMappings =>
    Object.fromEntries(
      rules.filter(({ source }) => sources.includes(source)).map(({ key, entry }) => [key, entry]),
    );
  // A rule is an override if the base table has a rule for its route. The rules that it replaced in part come
  // first, because of two rules for one route, the first one is kept.
  const defaults = { ...tableOf("default"), ...tableOf("override") };
  const table = compileRules(defaults, tableOf("custom", "override"), () => undefined, {
    language: ANY_LANGUAGE,
    conditions: CONDITION_LANGUAGE,
  });
  return new Policy({
    ...options,
    ...table,
    batches: hasBatches ? createBatchRules() : undefined,
    // The page is about scopes, so its callers count as if they had proved to hold the key of their token.
    requiresBinding: false,
    scopeRules: { adminScope, implied: new Map(implied) },
    momentOf: () => ({ nowSeconds: Date.now() / 1000, toleranceSeconds: 0 }),
  });
}
