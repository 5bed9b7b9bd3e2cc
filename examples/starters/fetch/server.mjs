import { serve } from "@hono/node-server";
import { createResourceServer } from "scopegate";
import { withScopes } from "scopegate/fetch";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /health": "public",
  },
});

const handler = withScopes(server, (request, { principal }) => {
  const [, resource, agent] = new URL(request.url).pathname.split("/").map(decodeURIComponent);
  if (resource === "health") return Response.json({ status: "ok" });
  return Response.json({ agent, caller: principal?.userId });
});
serve({ fetch: handler, port: Number(process.env.PORT ?? 3000) }); // Bun, Deno: export default { fetch: handler };
