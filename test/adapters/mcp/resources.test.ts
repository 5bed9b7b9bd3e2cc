/** Resources of the official SDK, which finds them by another spelling than the one that a client sends. */
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport as Web1 } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  McpServer as McpServer2,
  WebStandardStreamableHTTPServerTransport as Web2,
} from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { type McpServer, protectMcp, withMcp } from "scopegate/mcp";
import { createMcpResourceServer, LINES, tokenOf } from "./support/tools.ts";

interface Transport {
  handleRequest(request: Request, access: object): Promise<Response>;
}
type Read = (uri: URL) => object;
interface Registrar extends McpServer {
  registerResource(name: string, uri: string, config: object, read: Read): unknown;
}
type Construct<T, O = object> = new (options: O) => T;

const SERVER = { 1: McpServer1, 2: McpServer2 } as unknown as Record<1 | 2, Construct<Registrar>>;
const TRANSPORT = { 1: Web1, 2: Web2 } as unknown as Record<1 | 2, Construct<Transport>>;

const server = createMcpResourceServer({
  "* /mcp": [],
  "MCP resources/read *": [],
  "MCP resources/read docs://payroll": ["payroll:read"],
  "MCP resources/read https://docs.example/payroll": ["payroll:read"],
});

/** A server with one secret under two URIs. */
function createHandler(line: 1 | 2) {
  return withMcp(server, async (request, access) => {
    const mcp = new SERVER[line]({ name: "docs", version: "1.0.0" });
    for (const uri of ["docs://payroll", "https://docs.example/payroll"])
      mcp.registerResource(uri, uri, {}, ({ href }) => ({ contents: [{ uri: href, text: "the secret" }] }));
    const transport = new TRANSPORT[line]({ enableJsonResponse: true, sessionIdGenerator: undefined });
    await mcp.connect(transport as never);
    return transport.handleRequest(request, access);
  });
}

async function post(body: object, scope?: string): Promise<Request> {
  const token = await tokenOf("nobody", scope === undefined ? {} : { scopes: [scope] });
  return new Request("https://api.example/mcp", {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
  });
}

const read = (uri: string) => ({ method: "resources/read", params: { uri } });

const SPELLINGS = [
  "docs://payroll",
  "DOCS://payroll",
  " docs://payroll",
  "docs://payroll\n",
  "docs://pay\troll",
  "\u0000docs://payroll",
  "https://docs.example/payroll",
  "https://DOCS.example/payroll",
  "https://docs.example:443/payroll",
  "https://docs.example/x/../payroll",
  "https://docs.example/x/%2e%2e/payroll",
  "https:\\\\docs.example\\payroll",
  "https:docs.example/payroll",
];

describe.each(LINES)("a resource of version %i of the SDK", (line) => {
  it.each(SPELLINGS)("needs the scopes of its rule as %j", async (uri) => {
    const handler = createHandler(line);
    const refused = await handler(await post(read(uri)));
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toContain('scope="payroll:read"');
    // Each spelling does read the resource.
    const allowed = await handler(await post(read(uri), "payroll:read"));
    expect(await allowed.text()).toContain("the secret");
  });

  it("needs the rule for every resource, if it has none of its own", async () => {
    const answer = await createHandler(line)(await post(read("docs://other")));
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain("the secret");
  });
});

it.each(["docs://pay%72oll", "DOCS://payroll"])(
  "decides a subscription to %s as one to docs://payroll",
  async (uri) => {
    for (const [scope, isAllowed] of [
      ["other:read", false],
      ["payroll:read", true],
    ] as const) {
      const body = { method: "resources/subscribe", params: { uri } };
      const outcome = await protectMcp(server)(await post(body, scope));
      expect("decision" in outcome && outcome.decision.allowed).toBe(isAllowed);
    }
  },
);
