import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createMcpHandler, type McpServer } from "@modelcontextprotocol/server";
import { createResourceServer, type Decision, type ObservedRequest } from "scopegate";
import { audit, type AuditReport } from "scopegate/audit";
import { operationsOf } from "scopegate/mcp";
import { type HostName, HOSTS } from "./hosts.ts";
import { optionsFor } from "./policy.ts";

interface ServiceOptions {
  readonly host: HostName;
  /** With 0, the system chooses one. */
  readonly port: number;
  /** Who issues the tokens. */
  readonly issuer: string;
  /** Creates an MCP server for one request. */
  readonly createMcpServer: () => McpServer;
  readonly onDecision?: (decision: Decision, request: ObservedRequest) => void;
}

/** The running MCP server, with the audit of its routes and operations. */
export interface Service {
  readonly url: string;
  readonly audit: AuditReport;
  readonly close: () => Promise<void>;
}

/** Starts the MCP server after the keys of its issuer are fetched. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { host, issuer, createMcpServer, onDecision } = options;
  const port = options.port || (await findPort());
  const url = `http://127.0.0.1:${port}/mcp`;
  const server = createResourceServer({ ...optionsFor(url, issuer), ...(onDecision && { onDecision }) });
  await server.ready();
  const application = HOSTS[host](server, createMcpHandler(createMcpServer));
  const operations = await operationsOf(createMcpServer());
  const report = audit(server, [...(await application.routes()), ...operations]);
  await application.listen(port);
  return {
    url,
    audit: report,
    close: async () => {
      await application.close();
      await server.close();
    },
  };
}

/** The identifier of the server contains its port, so that the port must be known first. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
