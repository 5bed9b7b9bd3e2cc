/** The server of `express.mjs` with a log, limits, and API keys for programs that can't sign in. */
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import express from "express";
import { createResourceServer } from "scopegate";
import { apiKeyFile, apiKeys } from "scopegate/api-keys";
import { metadata } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { limitTools } from "./limit-tools.mjs";
import { logCalls } from "./log-calls.mjs";
import { createMcpServer, options } from "./service.mjs";

const { find, markUsed } = apiKeyFile(process.env.KEYS_FILE ?? "keys.json");
const server = createResourceServer({
  ...options,
  onDecision: logCalls(console.log),
  opaqueTokens: [apiKeys({ prefix: "docs_key_", find, onUse: markUsed })],
});

const handle = toNodeHandler(createMcpHandler(createMcpServer));
const app = express();
app.use(metadata(server));
app.use("/mcp", protectMcp(server), limitTools({ search: 2 }));
app.all("/mcp", (req, res) => handle(req, res, req.body));
app.listen(3000);
