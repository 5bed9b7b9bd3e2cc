/** `npm run start:mcp -- [express|fastify|hono] [--port N]`: serves the MCP server, and prints tokens for it. */
import { parseArgs } from "node:util";
import { renderDecision } from "../knowledge-service/decision-log.ts";
import { type ClientId, CLIENTS, openAuthorizationServer } from "./authorization-server.ts";
import { type HostName, HOSTS } from "./hosts.ts";
import { startService } from "./service.ts";
import { createMcpServer } from "./tools.ts";

const USAGE = "Usage: npm run start:mcp -- [express|fastify|hono] [--port N]";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { port: { type: "string" } } });
const [host = "express"] = positionals;
const port = Number(values.port ?? 7778);
if (!Object.hasOwn(HOSTS, host) || !Number.isInteger(port)) throw new TypeError(USAGE);

const issuer = await openAuthorizationServer();
const service = await startService({
  host: host as HostName,
  port,
  issuer: issuer.issuer,
  createMcpServer,
  onDecision: (decision, request) =>
    console.log(renderDecision(decision, request), (request.operations ?? []).join(", ")),
});
service.audit.orThrow();

const stop = (): void => {
  void service.close().then(issuer.close);
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);

console.log(`The MCP server listens on ${service.url} (${host}). ${service.audit.summary}.`);
console.log(`Its authorization server is ${issuer.issuer}, with the clients and secrets`);
for (const [id, { secret, scopes }] of Object.entries(CLIENTS))
  console.log(`  ${id} ${secret}: ${scopes.join(" ")}`);
console.log("\nTokens, valid for an hour:\n");
for (const id of Object.keys(CLIENTS) as ClientId[])
  console.log(`${id.toUpperCase()}=${await issuer.token(id, service.url, CLIENTS[id].scopes)}\n`);
console.log("Paste the lines above into your shell, then try:\n");
const call = (params: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
const run = { name: "run_agent", arguments: { agent_id: "web", input: "hello" } };
const curl = `curl -i -H "Accept: application/json, text/event-stream" -H "Authorization: Bearer`;
console.log(`  curl -i -X POST ${service.url}`);
console.log(`  ${curl} $READER" --json '${call({ name: "list_agents" })}' ${service.url}`);
console.log(`  ${curl} $READER" --json '${call(run)}' ${service.url}`);
console.log(`  ${curl} $RUNNER" --json '${call(run)}' ${service.url}`);
console.log("\nDecisions:");
