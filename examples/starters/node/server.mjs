import { createServer } from "node:http";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/node";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /health": "public",
  },
});

const guard = protect(server);
createServer(async (request, response) => {
  if (!(await guard(request, response))) return; // refused and answered
  // `request.url` can be an absolute URL. The guard reads its path, so read the same.
  const { pathname } = new URL(request.url, "http://localhost");
  const [, resource, agent] = pathname.split("/").map(decodeURIComponent);
  const caller = principalOf(request)?.userId;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(resource === "health" ? { status: "ok" } : { agent, caller }));
}).listen(process.env.PORT ?? 3000);
