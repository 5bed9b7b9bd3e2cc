import { defaultScopeMappings, type ScopeMappings } from "scopegate";

/**
 * The scopes of each route. The default rules cover agents, teams, sessions and the knowledge configuration.
 */
export const policy: ScopeMappings = {
  ...defaultScopeMappings,
  "POST /custom/endpoint": ["custom:write"],
  "GET /public/stats": [],
  "GET /health": "public",
};
