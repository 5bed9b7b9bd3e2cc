import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import fastify from "fastify";
import { metadata, protect } from "scopegate/fastify";
import { protectMcp } from "scopegate/mcp";
import { createMcpServer, server } from "./service.mjs";

const handle = toNodeHandler(createMcpHandler(createMcpServer));
const app = fastify();
app.register(metadata(server));
app.register(protect(server)); // all routes outside the plugin below
app.register((mcp, _options, done) => {
  mcp.register(protectMcp(server)); // the routes inside this plugin
  mcp.route({
    method: ["GET", "POST", "DELETE"],
    url: "/mcp",
    handler: async (request, reply) => {
      reply.hijack(); // the SDK writes the response
      await handle(request.raw, reply.raw, request.body);
    },
  });
  done();
});
app.get("/agents", async () => []);
await app.listen({ port: 3000 });
