/** The data that the page embeds, and how its script creates the policy from it. */
import type { AuditRemark } from "../audit/report.ts";
import { compileRules } from "../../core/policy/compile-rules.ts";
import { Policy, type PolicyRules } from "../../core/policy/policy.ts";
import type { ScopeMappings, TableEntry } from "../../core/policy/table-entry.ts";
import { ANY_METHODS } from "../../core/policy/operation-methods.ts";
import type { Rule } from "../../core/policy/rule.ts";

/** Contains only the policy of a server, without keys, issuers and claims. */
export interface PageData extends Pick<PolicyRules, "authorization" | "unmappedRoutes" | "enforcement"> {
  readonly title: string;
  readonly rules: readonly (Pick<Rule, "key" | "source"> & { readonly entry: TableEntry })[];
  readonly adminScope: string | null;
  readonly implied: readonly (readonly [string, readonly string[]])[];
  /** The findings of the audit, each with the key of the rule that it's about. */
  readonly findings: readonly (AuditRemark & { readonly rule: string | undefined })[];
  /** The summary of the audit, if there are routes. */
  readonly audit: string | undefined;
  readonly roles: readonly (readonly [string, PageRole])[];
}

/** The scopes of a role, also with claims for conditions; `"anonymous"` for callers without a token. */
export type PageRole =
  | readonly string[]
  | { readonly scopes: readonly string[]; readonly claims?: Readonly<Record<string, unknown>> }
  | "anonymous";

/** Rejects unknown properties, because a caller without the misspelled `claims` would meet no condition. */
export function isRole(role: unknown): role is PageRole {
  if (role === "anonymous") return true;
  const parts = (Array.isArray(role) ? { scopes: role } : Object(role)) as Record<string, unknown>;
  const { scopes, claims = {}, ...others } = parts;
  const isObject = typeof claims === "object" && claims !== null && !Array.isArray(claims);
  const areStrings = Array.isArray(scopes) && scopes.every((scope) => typeof scope === "string");
  return areStrings && isObject && Object.keys(others).length === 0;
}

/** Creates a policy that decides as the server does. The server has already checked the table. */
export function readPolicy({ rules, adminScope, implied, ...options }: PageData): Policy {
  const tableOf = (...sources: readonly Rule["source"][]): ScopeMappings =>
    Object.fromEntries(
      rules.filter(({ source }) => sources.includes(source)).map(({ key, entry }) => [key, entry]),
    );
  // A rule is an override if the base table has a rule for its route.
  const defaults = { ...tableOf("override"), ...tableOf("default") };
  const table = compileRules(defaults, tableOf("custom", "override"), () => undefined, {
    enforcement: options.enforcement,
    methods: ANY_METHODS,
  });
  return new Policy({
    ...options,
    ...table,
    // The page is about scopes, so its callers count as if they had proved that they hold the key of their
    // token.
    requiresBinding: false,
    scopeRules: { adminScope, implied: new Map(implied) },
    momentOf: () => ({ nowSeconds: Date.now() / 1000, toleranceSeconds: 0 }),
  });
}
