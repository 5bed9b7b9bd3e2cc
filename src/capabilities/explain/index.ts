import { pipelineOf } from "../../core/port.ts";
import { requireString } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { explainByPolicy, type Explanation, type ExplainQuery } from "./explain.ts";

export type { Explanation, ExplainQuery } from "./explain.ts";

/**
 * Explains how a request with these scopes, or without a token, would be decided. It verifies no token and
 * calls no hook.
 * @throws TypeError for a query without `path`, for scopes that aren't an array, and for claims or a tenant
 *   without scopes
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { explain } from "scopegate/explain";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
 * });
 * console.log(explain(server, { method: "GET", path: "/agents/web", scopes: ["agents:api:read"] }).text);
 * ```
 */
export function explain(server: ResourceServer, query: ExplainQuery): Explanation {
  const { path, scopes, claims, tenant } = query;
  requireString(path, "explain takes (server, { method, path, scopes })", "path");
  if (scopes !== undefined && !Array.isArray(scopes))
    throw new TypeError('explain: `scopes` must be an array: write scopes: ["agents:read"].');
  if (claims !== undefined && scopes === undefined)
    throw new TypeError("explain: `claims` need `scopes`: write scopes: [] for a token without any.");
  if (tenant !== undefined && (typeof tenant !== "string" || scopes === undefined))
    throw new TypeError(
      'explain: `tenant` is a string, and needs `scopes`: write scopes: [], tenant: "acme".',
    );
  const { policy, rules } = pipelineOf(server);
  return explainByPolicy(policy, query, rules.shadow);
}
