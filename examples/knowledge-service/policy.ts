import { agentScopeMappings, type ScopeMappings } from "scopegate";

/**
 * The scopes of each route. `agentScopeMappings` covers agents, teams, sessions and the knowledge configuration.
 */
export const policy: ScopeMappings = {
  ...agentScopeMappings,
  "POST /custom/endpoint": ["custom:write"],
  "GET /public/stats": [],
  "GET /health": "public",
};
