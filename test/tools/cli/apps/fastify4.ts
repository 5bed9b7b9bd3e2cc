import fastify from "fastify4";
import { protect } from "scopegate/fastify";
import { server } from "./server.ts";

const app = fastify();
await app.register(protect(server));
app.get("/agents/:agent_id", () => ({}));
app.delete("/agents/:agent_id", () => ({}));
export default { app, server };
