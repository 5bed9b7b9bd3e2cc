import fastify from "fastify";
import { protect } from "scopegate/fastify";
import { server } from "./server.ts";

export { server };
const app = fastify();
await app.register(protect(server));
app.get("/agents/:agent_id", () => ({}));
app.delete("/agents/:agent_id", () => ({}));
export default app;
