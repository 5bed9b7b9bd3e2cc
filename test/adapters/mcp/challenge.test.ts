/** A tool that learns from its backend that its caller needs more scopes. */
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as McpServer2 } from "@modelcontextprotocol/server";
import type { Decision } from "scopegate";
import { challenge, type HandlerExtra, type McpServer } from "scopegate/mcp";
import { withPrincipal } from "scopegate/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createResourceServer } from "../../support/server.ts";
import type { CreateMcp } from "./support/backend.ts";
import { call, message } from "./support/corpus/hostile.ts";
import { HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { send } from "./support/send.ts";
import { issuer, LINES, RESOURCE, TABLE, tokenOf } from "./support/tools.ts";

interface AnyMcpServer extends McpServer {
  registerTool(name: string, config: object, handler: (args: object, extra: HandlerExtra) => object): unknown;
  registerPrompt(name: string, config: object, handler: (extra: HandlerExtra) => object): unknown;
}

const createMcp: CreateMcp = (line) => {
  const Server = (line === 1 ? McpServer1 : McpServer2) as unknown as new (info: object) => AnyMcpServer;
  const mcp = new Server({ name: "agents", version: "1.0.0" });
  const config = {
    description: "Searches",
    inputSchema: z.looseObject({}),
    outputSchema: z.object({ n: z.number() }),
  };
  mcp.registerTool("search", config, (_, extra) => challenge(extra, ["docs:publish"]));
  mcp.registerPrompt("greet", { description: "Greets" }, (extra) => {
    throw new Error(challenge(extra, ["docs:publish"]).content[0]?.text);
  });
  return mcp;
};

const decisions: Decision[] = [];
const createServer = () =>
  createResourceServer({
    ...issuer.resourceServerOptions,
    resource: { id: RESOURCE, authorizationServers: ["https://login.example/"] },
    serviceId: RESOURCE,
    scopeMappings: { ...TABLE, "MCP prompts/get greet": [] },
    onDecision: (decision) => void decisions.push(decision),
  });

const CHALLENGE =
  'Bearer error="insufficient_scope", error_description="The access token does not grant the scopes that this operation needs.", ' +
  `scope="docs:read docs:publish agents:web:run", resource_metadata="https://api.example/.well-known/oauth-protected-resource/mcp"`;

const CASES = HOSTS.flatMap((host) =>
  LINES.flatMap((line) => [true, false].map((isJson) => ({ ...host, line, isJson }))),
);

describe.each(CASES)("a tool of version $line on $name, in JSON: $isJson", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createServer(), { isJson: host.isJson, create: createMcp });
  });
  afterAll(() => open.close());

  const ask = async (body: object, headers = {}) =>
    send(open.port, { body: JSON.stringify(body), headers }, await tokenOf("runner"));
  const read = (body: string): string => /^data: (.*)$/m.exec(body)?.[1] ?? body;

  it("asks for the scopes of the operation and those that it names, in one challenge", async () => {
    decisions.length = 0;
    const { status, head, body } = await ask(call("search", {}));
    // A stream of events has begun before most handlers know what they need.
    expect(host.isJson ? [403] : [200, 403]).toContain(status);
    if (status === 403) {
      expect(head.match(/^www-authenticate: .*$/gim)).toHaveLength(1);
      expect(/^www-authenticate: (.*)$/im.exec(head)?.[1]).toBe(CHALLENGE);
      expect(JSON.parse(body)).toMatchObject({
        code: "scope_insufficient",
        required_scopes: ["docs:read", "docs:publish"],
        missing_scopes: ["docs:publish"],
      });
    } else {
      expect(head).not.toMatch(/^www-authenticate/im);
    }
    expect(decisions.at(-1)).toMatchObject({ allowed: false, reason: "scope_insufficient" });
  });

  it("sends the challenge in the result where other calls share the response", async () => {
    const { status, body } = await ask([call("search", {}), message("ping", {}, 2)]);
    if (host.isJson) {
      expect(status).toBe(200);
      const responses = JSON.parse(body) as readonly { id: number; result: object }[];
      expect(responses.find(({ id }) => id === 1)?.result).toMatchObject({
        isError: true,
        _meta: { "mcp/www_authenticate": [CHALLENGE] },
      });
    }
  });

  it("refuses a prompt in the same way", async () => {
    const { status, body } = await ask(message("prompts/get", { name: "greet" }));
    expect(host.isJson ? [403] : [200, 403]).toContain(status);
    if (status === 200) expect(JSON.parse(read(body) || "{}")).not.toHaveProperty("result");
  });

  it("answers an error of JSON-RPC since revision 2026-07-28, without the scopes of the token", async () => {
    if (host.line === 1) return;
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const body = call("search", {}, { params: { name: "search", arguments: {}, _meta } });
    const headers = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "search",
    };
    const received = await ask(body, headers);
    expect(received.status).toBe(403);
    expect(received.head).toContain('scope="docs:read docs:publish"');
    expect(JSON.parse(received.body)).toMatchObject({
      id: 1,
      error: { data: { code: "scope_insufficient" } },
    });
  });
});

describe("challenge", () => {
  it("can be tested without a server", () => {
    const extra = withPrincipal({ authInfo: undefined }, { scopes: ["docs:read"] });
    expect(challenge(extra, ["docs:publish"])._meta["mcp/www_authenticate"][0]).toContain(
      'scope="docs:publish"',
    );
  });

  it("takes only what protectMcp has passed on, and scopes that a token can have", () => {
    for (const wrong of [{}, { authInfo: {} }, { auth: { extra: {} } }, null, undefined, 5])
      expect(() => challenge(wrong as never, ["a:b"])).toThrow(TypeError);
    const extra = withPrincipal({ authInfo: undefined }, { scopes: [] });
    for (const scope of ["a b", "", "agents:<id>:run"])
      expect(() => challenge(extra, [scope])).toThrow("scopes");
  });
});
