/** Checks the upgrades of `@fastify/websocket`. */
import websocket from "@fastify/websocket";
import fastify from "fastify";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/fastify";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: { "GET /stores/:store_id/events": ["stores:<store_id>:read"] },
});
const app = fastify();
await app.register(websocket);
await app.register(protect(server));
app.get("/stores/:store_id/events", { websocket: true }, (socket, request) => {
  socket.send(`hello ${principalOf(request)?.userId}`);
});
await app.listen({ port: 3000 });
