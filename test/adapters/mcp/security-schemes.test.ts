/** `securitySchemes`: guests and users on one server, in the form that clients read. */
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Decision } from "scopegate";
import { challenge, withMcp } from "scopegate/mcp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ResourceServerOptions } from "../../support/server.ts";
import { message } from "./support/corpus/hostile.ts";
import { EVERY_HOST, EXPRESS, openHost, type OpenHost } from "./support/hosts.ts";
import { requestOf } from "./support/memory.ts";
import { post } from "./support/send.ts";
import { createMcp, createMcpResourceServer, issuer } from "./support/tools.ts";

type Table = NonNullable<ResourceServerOptions["scopeMappings"]>;

/** Each tool of the table, and what a client must know about it. */
const SCHEMES = {
  open: [{ type: "noauth" }],
  either: [{ type: "noauth" }, { type: "oauth2" }],
  member: [{ type: "oauth2" }],
  search: [{ type: "oauth2", scopes: ["docs:read"] }],
  any_of: [
    { type: "oauth2", scopes: ["a:read"] },
    { type: "oauth2", scopes: ["b:read"] },
  ],
  run: [{ type: "oauth2" }],
  list_some: [{ type: "oauth2", scopes: ["agents:read"] }],
  ruleless: undefined,
} as const;
const TOOLS = Object.keys(SCHEMES);

const TABLE: Table = {
  "* /mcp": "optional",
  "MCP tools/list": "public",
  "MCP prompts/list": "public",
  "MCP prompts/get secret": ["docs:read"],
  "MCP tools/call open": "public",
  "MCP tools/call either": "optional",
  "MCP tools/call member": [],
  "MCP tools/call search": ["docs:read"],
  "MCP tools/call any_of": { anyOf: ["a:read", "b:read"] },
  "MCP tools/call run": ["agents:<agent_id>:run"],
  "MCP tools/call list_some": ["agents:<any>:read"],
};

const decisions: Decision[] = [];

const createServer = (table: Table = {}, mcp: object = { securitySchemes: true }) =>
  createMcpResourceServer({ ...TABLE, ...table }, mcp, {
    onDecision: (decision) => void decisions.push(decision),
  });

const tokenWith = (...scopes: readonly string[]) => issuer.token({ userId: "u", scopes: [...scopes] });
const callOf = (name: string) => message("tools/call", { name, arguments: {} });

interface Tool {
  readonly name: string;
  readonly securitySchemes?: unknown;
  readonly _meta?: { readonly securitySchemes?: unknown; readonly kept?: unknown };
}

/** The schemes of each tool of a list. */
const schemesOf = (tools: unknown) =>
  Object.fromEntries((tools as readonly Tool[]).map((tool) => [tool.name, tool.securitySchemes]));

/** Sends a message, and returns the one in the response. */
async function ask({ port }: OpenHost, body: object, token?: string, more = {}) {
  const { status, headers, text } = await post(port, body, token, more);
  const json = text.replace(/^(?:event|id): .*\n/gm, "").replace(/^data: /, "");
  const { result, ...others } = JSON.parse(json) as { readonly result?: Record<string, unknown> };
  return { status, challenge: headers.get("www-authenticate"), result, others };
}

describe.each(EVERY_HOST)("a server for guests and users on $name, version $line, JSON: $isJson", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createServer(), {
      create: (line, executions) => createMcp(line, executions, TOOLS),
    });
  });
  afterAll(() => open.close());

  it("lists for each tool what its callers need, in both places that clients read", async () => {
    for (const token of [undefined, await tokenWith("docs:read")]) {
      const { result } = await ask(open, message("tools/list"), token);
      expect(schemesOf(result?.["tools"])).toEqual(SCHEMES);
      for (const tool of result?.["tools"] as readonly Tool[])
        expect(tool._meta?.securitySchemes).toEqual(tool.securitySchemes);
    }
  });

  it("answers a refused call with a result that has the challenge", async () => {
    const asked = await ask(open, callOf("search"));
    expect(asked).toMatchObject({ status: 200, result: { isError: true }, others: { id: 1 } });
    expect(asked.result?.["_meta"]).toEqual({ "mcp/www_authenticate": [asked.challenge] });
    expect(asked.challenge).toContain("/.well-known/oauth-protected-resource/mcp");
    const more = await ask(open, callOf("search"), await tokenWith("a:read"));
    expect(more).toMatchObject({ status: 200, result: { isError: true } });
    expect(more.challenge).toContain('error="insufficient_scope"');
    expect(more.challenge).toContain('scope="docs:read a:read"');
    expect(more.result?.["_meta"]).toEqual({ "mcp/www_authenticate": [more.challenge] });
    expect(decisions.at(-1)).toMatchObject({ allowed: false, reason: "scope_insufficient" });
    expect(open.backend.executions).toEqual([]);
  });

  it("runs what a guest may call", async () => {
    expect(await ask(open, callOf("open"))).toMatchObject({ status: 200, result: { content: [{}] } });
    const [execution] = open.backend.executions;
    expect(execution?.user).toBeUndefined();
    expect(execution?.call).toMatch(/^open /);
  });
});

describe("a server for guests and users", () => {
  let open: OpenHost;
  const openWith = (server = createServer()) =>
    openHost(EXPRESS, server, { create: () => createMcp(1, [], TOOLS) });
  /** Sends one message to a server of its own. */
  const askOnce = async (server: ReturnType<typeof createServer>, body: object, token?: string) => {
    const opened = await openWith(server);
    return ask(opened, body, token).finally(opened.close);
  };
  beforeAll(async () => {
    open = await openWith();
  });
  afterAll(() => open.close());

  it.each([
    ["an invalid token", callOf("search"), "x.y.z", 401],
    ["a tool without a rule", callOf("ruleless"), undefined, 403],
    ["a prompt", message("prompts/get", { name: "secret" }), undefined, 401],
    ["a batch", [callOf("search"), { ...callOf("open"), id: 2 }], undefined, 401],
    [
      "a call without an id",
      { jsonrpc: "2.0", method: "tools/call", params: { name: "search" } },
      undefined,
      401,
    ],
  ])("refuses %s as other servers do", async (_, body, token, status) => {
    expect(await ask(open, body, token)).toMatchObject({ status, result: undefined });
  });

  it("answers with a complete result since revision 2026-07-28", async () => {
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const body = message("tools/call", { name: "search", _meta });
    const headers = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "search",
    };
    const { status, result } = await ask(open, body, undefined, headers);
    expect({ status, result }).toMatchObject({
      status: 200,
      result: { isError: true, resultType: "complete" },
    });
  });

  it("can be read by the official client, whose calls don't throw", async () => {
    const client = new Client1({ name: "x", version: "1" });
    await client.connect(new Transport1(new URL(`http://127.0.0.1:${open.port}/mcp`)));
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "search")?._meta?.["securitySchemes"]).toEqual(SCHEMES.search);
    const result = await client.callTool({ name: "search" });
    expect(result).toMatchObject({ isError: true });
    expect(result._meta?.["mcp/www_authenticate"]).toEqual([expect.stringMatching(/^Bearer /)]);
    await client.close();
  });

  it("adds the scopes of the transport, and lists no guest if the transport needs a token", async () => {
    const strict = createServer({ "* /mcp": ["mcp:use"], "MCP tools/list": [] });
    const { result } = await askOnce(strict, message("tools/list"), await tokenWith("mcp:use"));
    expect(schemesOf(result?.["tools"])).toMatchObject({
      open: [{ type: "oauth2", scopes: ["mcp:use"] }],
      search: [{ type: "oauth2", scopes: ["mcp:use", "docs:read"] }],
    });
  });

  it("writes nothing unless it's asked to", async () => {
    const silent = createServer({}, {});
    expect(JSON.stringify(await askOnce(silent, message("tools/list")))).not.toContain("securitySchemes");
    expect(await askOnce(silent, callOf("search"))).toMatchObject({ status: 401, result: undefined });
  });

  it("leaves out the tools that are hidden, and writes the schemes of the others", async () => {
    const hidden = createServer({}, { hidden: true, securitySchemes: true });
    expect((await askOnce(hidden, message("tools/list"))).result?.["tools"]).toMatchObject([
      { name: "open", securitySchemes: SCHEMES.open },
      { name: "either", securitySchemes: SCHEMES.either },
    ]);
  });
});

it("replaces what the server has written there, also for a tool without a rule, and keeps the rest of _meta", async () => {
  const securitySchemes = [{ type: "noauth" }];
  const tools = [
    ...["ruleless", "search"].map((name) => ({ name, securitySchemes, _meta: { securitySchemes, kept: 1 } })),
    { name: "open", _meta: { kept: 1, securitySchemes: "wrong" } },
    { name: "ruleless", _meta: 7 },
  ];
  const list = () => Response.json({ jsonrpc: "2.0", id: 1, result: { tools } });
  const response = await withMcp(createServer(), list)(requestOf(message("tools/list")));
  const { open, search } = SCHEMES;
  expect(await response.json()).toEqual({
    jsonrpc: "2.0",
    id: 1,
    result: {
      tools: [
        { name: "ruleless", _meta: { kept: 1 } },
        { name: "search", securitySchemes: search, _meta: { securitySchemes: search, kept: 1 } },
        { name: "open", securitySchemes: open, _meta: { securitySchemes: open, kept: 1 } },
        { name: "ruleless", _meta: 7 },
      ],
    },
  });
});

it("receives the challenge of a handler as a result, too", async () => {
  const handler = withMcp(createServer(), (_, { authInfo }) =>
    Response.json({ jsonrpc: "2.0", id: 1, result: challenge({ authInfo }, ["docs:publish"]) }),
  );
  const response = await handler(requestOf(callOf("search"), await tokenWith("docs:read")));
  expect(response.status).toBe(200);
  const { result } = (await response.json()) as { readonly result: { readonly _meta: object } };
  expect(JSON.stringify(result._meta)).toContain("docs:publish");
});

it("is an option of mcpOperations that must be true or false", () => {
  expect(() => createServer({}, { securitySchemes: "yes" })).toThrow(/securitySchemes/);
});
