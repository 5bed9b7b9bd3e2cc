import cors from "@fastify/cors";
import fastify from "fastify";
import { audit, routesOf } from "scopegate/audit";
import { principalOf, protect, requireScopes } from "scopegate/fastify";
import { storesFor, server, textOf } from "./service.mts";

const app = fastify();
const routes = routesOf(app); // directly after fastify(): it records the routes from here on
await app.register(cors, {
  origin: "https://app.example",
  exposedHeaders: ["WWW-Authenticate", "DPoP-Nonce"],
}); // 1. preflights
await app.register(protect(server)); // 2. checks every request in `onRequest`, before its body is read

app.get("/stores", (request) => storesFor(principalOf(request)));
app.get<{ Params: { store_id: string } }>("/stores/:store_id", (request) => ({
  store: request.params.store_id,
  caller: principalOf(request)?.userId,
}));
app.get("/stores/:store_id/logs", { onRequest: requireScopes("logs:<store_id>:read") }, () => []);
app.post("/orders", (request, reply) => {
  reply.code(201);
  return { text: textOf(request.body), by: principalOf(request)?.userId };
});
app.get("/health", () => ({ status: "ok" }));

// 3. Receives errors only: `protect` responds to refused requests itself.
app.setErrorHandler(async (_error, _request, reply) => {
  await reply.code(500).send({ title: "Internal Server Error", status: 500 });
});

await app.ready();
audit(server, routes).orThrow();
await server.ready();
await app.listen({ port: 3000 });
