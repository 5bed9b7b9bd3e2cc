import { createMcpHandler } from "@modelcontextprotocol/server";
import { metadata, withScopes } from "scopegate/fetch";
import { withMcp } from "scopegate/mcp";
import { createMcpServer, server } from "./service.mjs";

const mcp = createMcpHandler(createMcpServer);
const serveMetadata = metadata(server);
const serveMcp = withMcp(server, (request, access) => mcp.fetch(request, access));
const serveOthers = withScopes(server, () => Response.json([]));

function handle(request) {
  const isMcp = new URL(request.url).pathname === "/mcp";
  return serveMetadata(request) ?? (isMcp ? serveMcp(request) : serveOthers(request));
}
export default { fetch: handle };
