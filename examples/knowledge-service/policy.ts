import { agentScopeMappings, type ScopeMappings } from "scopegate";

/** Has every scope. */
export const ADMIN_SCOPE = "platform:admin";

/**
 * The scopes of each route. `agentScopeMappings` covers agents, teams, sessions and the knowledge configuration.
 * A caller may only use the session of its own token, and must have logged in recently to delete it.
 */
export const policy = createPolicy();

/** With several issuers, `where` names each issuer whose tokens have the claim. */
export function createPolicy(issuers: readonly string[] = []): ScopeMappings {
  const claim = "session_id";
  return {
    ...agentScopeMappings,
    "* /sessions/:session_id": {
      scopes: [],
      where: { session_id: issuers.length === 0 ? { claim } : issuers.map((issuer) => ({ claim, issuer })) },
      unless: [ADMIN_SCOPE],
    },
    "DELETE /sessions/:session_id": { scopes: ["sessions:write"], maxAuthAgeSeconds: 300 },
    "POST /custom/endpoint": ["custom:write"],
    "GET /public/stats": [],
    "GET /health": "public",
  };
}
