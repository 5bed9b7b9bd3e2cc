import fastify from "fastify";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/fastify";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /health": "public",
  },
});

const app = fastify();
app.register(protect(server));
app.get("/agents/:agent_id", (request) => ({
  agent: request.params.agent_id,
  caller: principalOf(request)?.userId,
}));
app.get("/health", () => ({ status: "ok" }));
await app.listen({ port: Number(process.env.PORT ?? 3000) });
