import cors from "@fastify/cors";
import fastify from "fastify";
import { audit, routesOf } from "scopegate/audit";
import { principalOf, protect, requireScopes } from "scopegate/fastify";
import { agentsFor, server, textOf } from "./service.mts";

const app = fastify();
const routes = routesOf(app); // directly after fastify(): it records the routes from here on
await app.register(cors, {
  origin: "https://app.example",
  exposedHeaders: ["WWW-Authenticate", "DPoP-Nonce"],
}); // 1. preflights
await app.register(protect(server)); // 2. checks every request in `onRequest`, before its body is read

app.get("/agents", (request) => agentsFor(principalOf(request)));
app.get<{ Params: { agent_id: string } }>("/agents/:agent_id", (request) => ({
  agent: request.params.agent_id,
  caller: principalOf(request)?.userId,
}));
app.get("/agents/:agent_id/logs", { onRequest: requireScopes("logs:<agent_id>:read") }, () => []);
app.post("/notes", (request, reply) => {
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
