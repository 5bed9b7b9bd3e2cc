import fastify from "fastify";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/fastify";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

const app = fastify();
app.register(protect(server));
app.get("/stores/:store_id", (request) => ({
  store: request.params.store_id,
  caller: principalOf(request)?.userId,
}));
app.get("/health", () => ({ status: "ok" }));
await app.listen({ port: Number(process.env.PORT ?? 3000) });
