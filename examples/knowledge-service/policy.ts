import { defaultScopeMappings, type ScopeMappings } from "scopegate";

/** Who may call what. Agents, teams, sessions and the knowledge configuration have the library's default rules. */
export const policy: ScopeMappings = {
  ...defaultScopeMappings,
  "POST /custom/endpoint": ["custom:write"],
  "GET /public/stats": [],
  "GET /health": "public",
};
