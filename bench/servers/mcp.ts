/** A server of MCP that is written by hand, over Express. */
import { CALL_TOOL } from "./route.ts";
import { serveTools } from "./tools.ts";

await serveTools((req, res) => {
  const { id } = req.body as { readonly id: number };
  res.json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "idle" }] } });
}, CALL_TOOL);
