import { createServer } from "node:http";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/node";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

const guard = protect(server);
createServer(async (request, response) => {
  if (!(await guard(request, response))) return; // refused and answered
  // `request.url` can be an absolute URL. The guard reads its path, so read the same.
  const { pathname } = new URL(request.url, "http://localhost");
  const [, resource, store] = pathname.split("/").map(decodeURIComponent);
  const caller = principalOf(request)?.userId;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(resource === "health" ? { status: "ok" } : { store, caller }));
}).listen(process.env.PORT ?? 3000);
