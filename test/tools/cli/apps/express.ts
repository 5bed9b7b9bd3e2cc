import express from "express";
import { protect } from "scopegate/express";
import { server } from "./server.ts";

const app = express();
app.use(protect(server));
app.get("/agents/:agent_id", (_req, res) => res.json({}));
app.delete("/agents/:agent_id", (_req, res) => res.json({}));
export { app, server };
