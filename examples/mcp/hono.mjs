import { serve } from "@hono/node-server";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { metadata, protect } from "scopegate/hono";
import { protectMcp } from "scopegate/mcp";
import { createMcpServer, server } from "./service.mjs";

const mcp = createMcpHandler(createMcpServer);
const app = new Hono();
app.use(metadata(server));
app.use("/mcp", protectMcp(server));
app.all("/mcp", (c) => mcp.fetch(c.req.raw, { authInfo: c.get("auth"), parsedBody: c.get("parsedBody") }));
app.use(protect(server)); // all other routes
app.get("/agents", (c) => c.json([]));
serve({ fetch: app.fetch, port: 3000 });
