/** `protectMcp` and `withMcp` in the frameworks of others for MCP servers. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, message } from "../adapters/mcp/support/corpus/hostile.ts";
import { post } from "../adapters/mcp/support/send.ts";
import {
  createMcpResourceServer,
  type Execution,
  RESOURCE,
  tokenOf,
  TOOLS,
  type User,
} from "../adapters/mcp/support/tools.ts";
import { createRunTool, isInstalled, type OpenHost, type Program } from "./hosts/host.ts";

interface Host {
  readonly name: string;
  /** A package that only `test/mcp/package.json` has. */
  readonly needs: string;
  readonly load: () => Promise<Program>;
}

const HOSTS: readonly Host[] = [
  { name: "mcp-handler", needs: "mcp-handler", load: () => import("./hosts/mcp-handler.ts") },
  { name: "@hono/mcp", needs: "@hono/mcp", load: () => import("./hosts/hono-mcp.ts") },
  { name: "FastMCP on Express", needs: "fastmcp", load: () => import("./hosts/fastmcp-session.ts") },
  { name: "FastMCP behind a proxy", needs: "fastmcp", load: () => import("./hosts/fastmcp-proxied.ts") },
  { name: "fastmcp/edge on Hono", needs: "fastmcp", load: () => import("./hosts/fastmcp-edge.ts") },
  { name: "xmcp", needs: "xmcp", load: () => import("./hosts/xmcp.ts") },
  { name: "@rekog/mcp-nest", needs: "@rekog/mcp-nest", load: () => import("./hosts/nest.ts") },
];

for (const { name, needs, load } of HOSTS)
  describe.skipIf(!isInstalled(needs))(`an MCP server of ${name}`, () => {
    const executions: Execution[] = [];
    let open: OpenHost;
    beforeAll(async () => {
      const { start } = await load();
      open = await start(createMcpResourceServer(), createRunTool(executions));
    });
    afterAll(() => open.close());

    const ask = async (user: User | undefined, body: object) => {
      const before = executions.length;
      const answer = await post(open.port, body, user && (await tokenOf(user)));
      return { ...answer, ran: executions.slice(before) };
    };

    it("refuses a call without a token, and says where to get one", async () => {
      const { status, headers, ran } = await ask(undefined, call("search", {}));
      expect({ status, ran }).toEqual({ status: 401, ran: [] });
      const { origin } = new URL(RESOURCE);
      expect(headers.get("www-authenticate")).toContain(`resource_metadata="${origin}/.well-known/`);
    });

    it("lists its tools for every caller with a token", async () => {
      const { status, text } = await ask("nobody", message("tools/list"));
      expect(status).toBe(200);
      for (const tool of TOOLS) expect(text).toContain(`"name":"${tool}"`);
    });

    it("runs a tool that the caller may call, with its arguments and the caller", async () => {
      const search = await ask("reader", call("search", {}));
      expect(search).toMatchObject({ status: 200, ran: [{ user: "reader", call: "search" }] });
      expect(search.text).toContain("search ran for reader");
      const run = await ask("runner", call("run_agent", { agent_id: "web" }));
      expect(run).toMatchObject({ status: 200, ran: [{ user: "runner", call: "run_agent web" }] });
    });

    it("refuses a call whose scope the caller lacks, before the tool runs", async () => {
      const { status, headers, ran } = await ask("reader", call("run_agent", { agent_id: "web" }));
      expect({ status, ran }).toEqual({ status: 403, ran: [] });
      expect(headers.get("www-authenticate")).toMatch(/scope="agents:web:run( |")/);
    });

    const REVISIONS = [
      { revision: "2025-11-25", options: {} },
      { revision: "2026-07-28 if it has it", options: { versionNegotiation: { mode: "auto" } } },
    ] as const;
    for (const { revision, options } of REVISIONS)
      it(`serves the official client with the revision ${revision}`, async () => {
        const before = executions.length;
        const headers = { authorization: `Bearer ${await tokenOf("reader")}` };
        const url = new URL(`http://127.0.0.1:${open.port}/mcp`);
        const client = new Client({ name: "test", version: "1.0.0" }, options);
        await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
        await client.callTool({ name: "search", arguments: {} });
        const run = { name: "run_agent", arguments: { agent_id: "web" } };
        await expect(client.callTool(run)).rejects.toThrow(/403|scope/i);
        await client.close();
        expect(executions.slice(before)).toEqual([{ user: "reader", call: "search" }]);
      });
  });
