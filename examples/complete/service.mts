/** What the servers of all frameworks share. */
import { createResourceServer, type Principal } from "scopegate";

export const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents": ["agents:<any>:read"],
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /agents/:agent_id/logs": ["agents:<agent_id>:read"],
    "POST /notes": ["notes:write"],
    "GET /health": "public",
  },
});

const agents = ["web", "api"];

/** The agents that a caller may read. */
export function agentsFor(caller: Principal | undefined): readonly string[] {
  const ids = caller?.resourceIds("agents", "read");
  return ids === "all" ? agents : agents.filter((id) => ids?.has(id));
}

export function textOf(note: unknown): string {
  const { text } = Object(note) as { text?: unknown };
  if (typeof text !== "string") throw new TypeError("A note needs a `text` string.");
  return text;
}
