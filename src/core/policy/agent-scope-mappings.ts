import type { ScopeMappings } from "./scope-mappings.ts";

/**
 * A base table for services with agents, teams, sessions and a knowledge configuration. `parseConfiguration`
 * uses it unless the file has `default_scope_mappings`; `createResourceServer` never adds it by itself.
 *
 * @example
 * ```ts
 * import { agentScopeMappings, createResourceServer } from "scopegate";
 *
 * createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   defaultScopeMappings: agentScopeMappings,
 *   scopeMappings: { "GET /health": "public" },
 * });
 * ```
 */
export const agentScopeMappings = Object.freeze({
  "GET /agents": Object.freeze(["agents:<any>:read"]),
  "GET /agents/:agent_id": Object.freeze(["agents:<agent_id>:read"]),
  "POST /agents/:agent_id/runs": Object.freeze(["agents:<agent_id>:run"]),
  "GET /teams": Object.freeze(["teams:<any>:read"]),
  "GET /teams/:team_id": Object.freeze(["teams:<team_id>:read"]),
  "POST /teams/:team_id/runs": Object.freeze(["teams:<team_id>:run"]),
  "GET /sessions": Object.freeze(["sessions:read"]),
  "GET /sessions/:session_id": Object.freeze(["sessions:read"]),
  "POST /sessions": Object.freeze(["sessions:write"]),
  "PATCH /sessions/:session_id": Object.freeze(["sessions:write"]),
  "DELETE /sessions/:session_id": Object.freeze(["sessions:write"]),
  "GET /knowledge/config": Object.freeze(["knowledge:read"]),
} satisfies ScopeMappings);
