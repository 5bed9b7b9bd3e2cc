/** The official clients of both lines, against every host and a real authorization server. */
import { createServer, type Server } from "node:http";
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listen } from "../../support/http.ts";
import { createResourceServer } from "../../support/server.ts";
import { type AuthorizationServer, openAuthorizationServer, signIn } from "./support/authorization-server.ts";
import { createBackend } from "./support/backend.ts";
import { type Host, HOSTS } from "./support/hosts.ts";
import { createOAuthClient } from "./support/oauth-client.ts";
import { type Line, TABLE } from "./support/tools.ts";

/** What the tests use of a client. */
interface Client {
  connect(transport: object): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: object): Promise<object>;
  close(): Promise<void>;
}
interface Transport {
  finishAuth(answer: string | URLSearchParams, iss?: string): Promise<void>;
  terminateSession?(): Promise<void>;
}
type Construct<T> = new (...given: readonly unknown[]) => T;

const CLIENTS = { 1: [Client1, Transport1], 2: [Client2, Transport2] } as unknown as Record<
  Line,
  readonly [Construct<Client>, Construct<Transport>]
>;

const REVISIONS = [
  { line: 1, title: "1.x" },
  { line: 2, title: "2.x" },
  { line: 2, title: "2.x with the revision 2026-07-28", options: { versionNegotiation: { mode: "auto" } } },
] as const;

let login: AuthorizationServer;
beforeAll(async () => {
  login = await openAuthorizationServer(["docs:read", "agents:web:run", "agents:api:run"]);
});
afterAll(() => login.close());

/** An MCP server at a URL that is known before it exists, which is its resource identifier. */
async function openProtected(host: Host, line: Line) {
  const statuses: number[] = [];
  const names: unknown[] = [];
  const { port, close } = await listen(
    createServer((request, response) => {
      names.push(request.headers["mcp-name"]);
      response.on("finish", () => statuses.push(response.statusCode));
      application.emit("request", request, response);
    }),
  );
  const url = `http://127.0.0.1:${port}/mcp`;
  const server = createResourceServer({
    serviceId: url,
    issuer: login.issuer,
    keys: { discovery: true },
    resource: { id: url, authorizationServers: [login.issuer] },
    scopesClaim: "scope",
    scopeMappings: TABLE,
  });
  const backend = createBackend(line);
  const application: Server = await host.create(server, backend);
  return { url, statuses, names, backend, close };
}

describe.each(HOSTS)("an MCP server on $name", (host) => {
  it.each(REVISIONS)("finds it, and calls it after one step-up, with the client $title", async (revision) => {
    const { line } = revision;
    const { url, statuses, names, backend, close } = await openProtected(host, line);
    const provider = createOAuthClient(login.issuer, signIn);
    const [AnyClient, AnyTransport] = CLIENTS[line];
    const options = "options" in revision ? revision.options : {};
    const create = () => new AnyTransport(new URL(url), { authProvider: provider });
    const finish = async (transport: Transport) => {
      const answer = await provider.answer();
      await transport.finishAuth(line === 1 ? (answer.get("code") ?? "") : answer);
    };
    const info = { name: "test", version: "1.0.0" };
    const scopesOf = () => String(provider.tokens()?.scope).split(" ");
    try {
      const first = create();
      // Neither the authorization server nor a scope is configured: the 401 leads to both.
      await expect(new AnyClient(info, options).connect(first)).rejects.toThrow(/unauthorized/i);
      await finish(first);
      expect(login.requested.at(-1)).toBe("docs:read");

      const transport = create();
      const client = new AnyClient(info, options);
      await client.connect(transport);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["search", "run_agent", "remove_agent"]);
      await client.callTool({ name: "search", arguments: { q: "x" } });
      expect(scopesOf()).toEqual(["docs:read"]);
      expect(statuses).not.toContain(403);

      const call = { name: "run_agent", arguments: { agent_id: "web" } };
      await expect(client.callTool(call)).rejects.toThrow(/unauthorized/i);
      await finish(transport);
      expect(scopesOf()).toContain("agents:web:run");
      const result = await client.callTool(call);
      expect(JSON.stringify(result)).toContain("run_agent web; may run web: true");
      expect(statuses.filter((status) => status === 403)).toHaveLength(1);

      // The official client repeats the name in a header since the revision 2026-07-28.
      expect(names.includes("run_agent")).toBe("options" in revision);

      // No scope helps: the client must not ask for one.
      const asked = login.requested.length;
      await expect(client.callTool({ name: "remove_agent", arguments: {} })).rejects.toThrow();
      expect(login.requested).toHaveLength(asked);
      expect(statuses.filter((status) => status >= 500)).toEqual([]);
      expect(backend.executions).toEqual([
        { user: "user-7", call: "search" },
        { user: "user-7", call: "run_agent web" },
      ]);
      await client.close();
    } finally {
      await close();
    }
  });
});
