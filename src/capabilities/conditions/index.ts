import { createCapability } from "../../core/create-capability.ts";
import type { ConditionCapability } from "../../core/policy/condition-language.ts";
import type { CallerConditions } from "../../core/policy/conditions.ts";
import { CONDITION_LANGUAGE } from "./language.ts";

export type { CallerConditions, Conditions } from "../../core/policy/conditions.ts";

/**
 * Creates the value of the option `conditions`: rules can require more of their caller than scopes, such as
 * its tenant, its actor or a recent login. A server without this option refuses to start if a rule does.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { callerConditions } from "scopegate/conditions";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: {
 *     "* /orgs/:org{/*path}": { scopes: ["orgs:read"], where: { org: { claim: "org_id" } } },
 *   },
 *   conditions: callerConditions(),
 * });
 * ```
 */
export const callerConditions = (): CallerConditions =>
  createCapability<ConditionCapability>({
    option: "conditions",
    language: CONDITION_LANGUAGE,
  });
