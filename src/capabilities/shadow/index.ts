import * as z from "zod/mini";
import { createCapability } from "../../core/create-capability.ts";
import type { Report } from "../../core/errors.ts";
import { scopeMappings, unmappedRoutes } from "../../core/options/shape.ts";
import * as values from "../../core/options/values.ts";
import { Policy, type PolicyRules } from "../../core/policy/policy.ts";
import type { PlainShadow, Shadow, ShadowCapability } from "../../core/policy/shadow.ts";
import type { ScopeMappings } from "../../core/policy/scope-mappings.ts";
import { createComparison } from "./compare.ts";

export type { Shadow } from "../../core/policy/shadow.ts";

/** The second table, as the options of the same names describe the first one. */
export interface ShadowOptions {
  /** The rules of the second table. */
  readonly scopeMappings: ScopeMappings;
  /** The base table of the second table. Default: that of the server. */
  readonly defaultScopeMappings?: ScopeMappings;
  /** Routes without a rule in the second table. Default: as the server. */
  readonly unmappedRoutes?: PolicyRules["unmappedRoutes"];
}

const names = {
  scopeMappings,
  defaultScopeMappings: z.exactOptional(scopeMappings),
  unmappedRoutes: z.exactOptional(unmappedRoutes),
};
const shape = values.plain(z.strictObject(names), "Write { scopeMappings: { ... } }.");

/** The names of the options, for JSON files. */
export const SHADOW_NAMES: readonly string[] = Object.keys(names);

/**
 * Creates the value of the option `shadow`: a second, complete table that decides each request after the
 * first one, for the same caller. Where it differs, `decision.shadow` has its decision, or `"undecided"` if
 * no caller is known: a token was refused, or not read because the first table needs none. It changes no
 * response, and reads no token, proof or store.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { shadowTable } from "scopegate/shadow";
 *
 * const server = createResourceServer({
 *   serviceId: "orders",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "* /{*path}": "optional" },
 *   shadow: shadowTable({ scopeMappings: { "GET /orders": ["orders:read"] } }),
 *   onDecision: ({ rule, shadow }) => shadow && console.log(rule?.key, shadow),
 * });
 * ```
 */
export const shadowTable = (options: ShadowOptions): Shadow & PlainShadow =>
  createCapability<ShadowCapability & PlainShadow>({
    option: "shadow",
    written: options,
    shape,
    names: { shadow: SHADOW_NAMES },
    create(context, report) {
      const { rules } = context;
      const inShadow: Report = (issue) => report({ ...issue, path: ["shadow", ...issue.path] });
      const { defaultScopeMappings, unmappedRoutes } = { ...context, ...options };
      const table = context.compile(defaultScopeMappings, options.scopeMappings, inShadow);
      // Bindings were checked before, and a server that checks no scopes can see what the table would do.
      const policy = { ...rules, ...table, unmappedRoutes, authorization: true, requiresBinding: false };
      return createComparison(new Policy(policy));
    },
  });
