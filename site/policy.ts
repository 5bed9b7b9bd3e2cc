/** The policy page of a sample table: the live page of the site, and the subject of the screenshots. */
import type * as scopegate from "../src/index.ts";
import type { page } from "../src/tools/page/index.ts";
import { createIssuer } from "../test/support/issuer.ts";

/** Needs the build, because the script of the page is bundled by it. */
const built = (name: string): string => new URL(`../dist/${name}.js`, import.meta.url).href;

export async function renderPolicy(): Promise<string> {
  const core = (await import(built("index"))) as typeof scopegate;
  const { page: render } = (await import(built("page"))) as { page: typeof page };
  const server = core.createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [createIssuer().publicPem],
    impliedScopes: { "agents:write": ["agents:read"] },
    defaultScopeMappings: core.agentScopeMappings,
    adminScope: "platform:admin",
    scopeMappings: {
      "POST /agents/:agent_id/runs": ["agents:<agent_id>:run"],
      "GET /agents/:agent_id/logs": ["agents:<agent_id>:read", "logs:read"],
      "GET /health": "public",
      "GET /policy": ["policy:read"],
    },
  });
  const roles = { reader: ["agents:read"], operator: ["agents:run"], admin: ["platform:admin"] };
  return render(server, { title: "Policy of agents-prod", roles });
}
