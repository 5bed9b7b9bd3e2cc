import { Hono } from "hono";
import { protect } from "scopegate/hono";
import { server } from "./server.ts";

const app = new Hono()
  .use(protect(server))
  .get("/agents/:agent_id", (c) => c.json({}))
  .delete("/agents/:agent_id", (c) => c.json({}));
export default { app, server };
