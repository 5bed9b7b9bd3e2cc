import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import express from "express";
import { metadata, protect } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { createMcpServer, server } from "./service.mjs";

const handle = toNodeHandler(createMcpHandler(createMcpServer));
const app = express();
app.use(metadata(server));
app.use("/mcp", protectMcp(server));
app.all("/mcp", (req, res) => handle(req, res, req.body));
app.use(protect(server)); // all other routes
app.get("/agents", (_req, res) => res.json([]));
app.listen(3000);
