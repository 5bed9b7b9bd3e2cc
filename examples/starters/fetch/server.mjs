import { serve } from "@hono/node-server";
import { createResourceServer } from "scopegate";
import { withScopes } from "scopegate/fetch";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

const handler = withScopes(server, (request, { principal }) => {
  const [, resource, store] = new URL(request.url).pathname.split("/").map(decodeURIComponent);
  if (resource === "health") return Response.json({ status: "ok" });
  return Response.json({ store, caller: principal?.userId });
});
serve({ fetch: handler, port: Number(process.env.PORT ?? 3000) }); // Bun, Deno: export default { fetch: handler };
