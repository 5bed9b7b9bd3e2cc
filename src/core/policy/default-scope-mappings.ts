import { type ScopeMappings } from "./requirement.ts";

/**
 * The table that a server starts from without `defaultScopeMappings`: agents, teams, sessions and the
 * knowledge configuration. Custom mappings are added to it; one for the same route replaces the entry here.
 *
 * @example
 * ```ts
 * import { createResourceServer, defaultScopeMappings } from "scopegate";
 *
 * const { "GET /agents": listAgents, ...others } = defaultScopeMappings;
 * createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   defaultScopeMappings: others, // GET /agents is unmapped now, and so denied
 * });
 * ```
 */
export const defaultScopeMappings = Object.freeze({
  "GET /agents": Object.freeze({ filtered: "agents:read" }),
  "GET /agents/:agent_id": Object.freeze(["agents:<agent_id>:read"]),
  "POST /agents/:agent_id/runs": Object.freeze(["agents:<agent_id>:run"]),
  "GET /teams": Object.freeze({ filtered: "teams:read" }),
  "GET /teams/:team_id": Object.freeze(["teams:<team_id>:read"]),
  "POST /teams/:team_id/runs": Object.freeze(["teams:<team_id>:run"]),
  "GET /sessions": Object.freeze(["sessions:read"]),
  "GET /sessions/:session_id": Object.freeze(["sessions:read"]),
  "POST /sessions": Object.freeze(["sessions:write"]),
  "PATCH /sessions/:session_id": Object.freeze(["sessions:write"]),
  "DELETE /sessions/:session_id": Object.freeze(["sessions:write"]),
  "GET /knowledge/config": Object.freeze(["knowledge:read"]),
} satisfies ScopeMappings);
