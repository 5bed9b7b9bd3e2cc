/** `securitySchemes`: guests and users on one server, in the form that clients read. */
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Decision } from "scopegate";
import { challenge, withMcp } from "scopegate/mcp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";
import { message } from "./support/corpus/hostile.ts";
import type { CreateMcp } from "./support/backend.ts";
import { HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { createMcp, issuer, LINES, RESOURCE } from "./support/tools.ts";

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

const createServer = (table: Table = {}, mcp: object = { securitySchemes: true }, more: object = {}) =>
  createResourceServer({
    ...issuer.resourceServerOptions,
    resource: { id: RESOURCE, authorizationServers: ["https://login.example/"] },
    serviceId: RESOURCE,
    mcp,
    onDecision: (decision) => void decisions.push(decision),
    scopeMappings: { ...TABLE, ...table },
    ...more,
  });

const tokenWith = (...scopes: readonly string[]) => issuer.token({ userId: "u", scopes: [...scopes] });
const callOf = (name: string) => message("tools/call", { name, arguments: {} });

interface Tool {
  readonly name: string;
  readonly securitySchemes?: unknown;
  readonly _meta?: { readonly securitySchemes?: unknown; readonly kept?: unknown };
}

/** Sends a message, and returns the one in the response. */
async function ask(port: number, body: unknown, token?: string, more: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...more,
    },
    body: JSON.stringify(body),
  });
  const text = (await response.text()).replace(/^(?:event|id): .*\n/gm, "").replace(/^data: /, "");
  const { result, ...others } = JSON.parse(text) as { readonly result?: Record<string, unknown> };
  return { status: response.status, challenge: response.headers.get("www-authenticate"), result, others };
}

const CASES = HOSTS.flatMap((host) =>
  LINES.flatMap((line) => [true, false].map((isJson) => ({ ...host, line, isJson }))),
);

describe.each(CASES)("a server for guests and users on $name, version $line, JSON: $isJson", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    const { line, isJson } = host;
    const create: CreateMcp = (_, executions) => createMcp(line, executions, TOOLS);
    open = await openHost(host, createServer(), { line, isJson, create });
  });
  afterAll(() => open.close());

  it("lists for each tool what its callers need, in both places that clients read", async () => {
    for (const token of [undefined, await tokenWith("docs:read")]) {
      const { result } = await ask(open.port, message("tools/list"), token);
      const tools = (result?.["tools"] ?? []) as readonly Tool[];
      expect(Object.fromEntries(tools.map((tool) => [tool.name, tool.securitySchemes]))).toEqual(SCHEMES);
      for (const tool of tools) expect(tool._meta?.securitySchemes).toEqual(tool.securitySchemes);
    }
  });

  it("answers a refused call with a result that has the challenge", async () => {
    const asked = await ask(open.port, callOf("search"));
    expect(asked).toMatchObject({ status: 200, result: { isError: true }, others: { id: 1 } });
    expect(asked.result?.["_meta"]).toEqual({ "mcp/www_authenticate": [asked.challenge] });
    expect(asked.challenge).toContain("/.well-known/oauth-protected-resource/mcp");
    const more = await ask(open.port, callOf("search"), await tokenWith("a:read"));
    expect(more).toMatchObject({ status: 200, result: { isError: true } });
    expect(more.challenge).toContain('error="insufficient_scope"');
    expect(more.challenge).toContain('scope="docs:read a:read"');
    expect(more.result?.["_meta"]).toEqual({ "mcp/www_authenticate": [more.challenge] });
    expect(decisions.at(-1)).toMatchObject({ allowed: false, reason: "scope_insufficient" });
    expect(open.backend.executions).toEqual([]);
  });

  it("runs what a guest may call", async () => {
    expect(await ask(open.port, callOf("open"))).toMatchObject({ status: 200, result: { content: [{}] } });
    const [execution] = open.backend.executions;
    expect(execution?.user).toBeUndefined();
    expect(execution?.call).toMatch(/^open /);
  });
});

describe("a server for guests and users", () => {
  let open: OpenHost;
  const [express] = HOSTS;
  const openWith = (server: ReturnType<typeof createServer>) => {
    if (!express) throw new Error("There is no host.");
    return openHost(express, server, { create: () => createMcp(1, [], TOOLS) });
  };
  beforeAll(async () => {
    open = await openWith(createServer());
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
    expect(await ask(open.port, body, token)).toMatchObject({ status, result: undefined });
  });

  it("answers with a complete result since revision 2026-07-28", async () => {
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const body = message("tools/call", { name: "search", _meta });
    const headers = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "search",
    };
    const { status, result } = await ask(open.port, body, undefined, headers);
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
    const strict = await openWith(createServer({ "* /mcp": ["mcp:use"], "MCP tools/list": [] }));
    const { result } = await ask(strict.port, message("tools/list"), await tokenWith("mcp:use"));
    const tools = (result?.["tools"] ?? []) as readonly Tool[];
    const schemes = Object.fromEntries(tools.map((tool) => [tool.name, tool.securitySchemes]));
    expect(schemes).toMatchObject({
      open: [{ type: "oauth2", scopes: ["mcp:use"] }],
      search: [{ type: "oauth2", scopes: ["mcp:use", "docs:read"] }],
    });
    await strict.close();
  });

  it("writes nothing unless it's asked to", async () => {
    const silent = await openWith(createServer({}, {}));
    const { result } = await ask(silent.port, message("tools/list"));
    expect(JSON.stringify(result)).not.toContain("securitySchemes");
    expect(await ask(silent.port, callOf("search"))).toMatchObject({ status: 401, result: undefined });
    await silent.close();
  });

  it("leaves out the tools that are hidden, and writes the schemes of the others", async () => {
    const hidden = await openWith(createServer({}, { hidden: true, securitySchemes: true }));
    const { result } = await ask(hidden.port, message("tools/list"));
    expect(result?.["tools"]).toMatchObject([
      { name: "open", securitySchemes: SCHEMES.open },
      { name: "either", securitySchemes: SCHEMES.either },
    ]);
    await hidden.close();
  });
});

it("keeps the other properties of a tool's _meta", async () => {
  const tools = [
    { name: "open", _meta: { kept: 1, securitySchemes: "wrong" } },
    { name: "ruleless", _meta: 7 },
  ];
  const handler = withMcp(createServer(), () => Response.json({ jsonrpc: "2.0", id: 1, result: { tools } }));
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(message("tools/list"));
  const response = await handler(new Request(RESOURCE, { method: "POST", headers, body }));
  expect(await response.json()).toMatchObject({
    result: { tools: [{ name: "open", _meta: { kept: 1, securitySchemes: SCHEMES.open } }, tools[1]] },
  });
});

it("receives the challenge of a handler as a result, too", async () => {
  const handler = withMcp(createServer(), (_, { authInfo }) =>
    Response.json({ jsonrpc: "2.0", id: 1, result: challenge({ authInfo }, ["docs:publish"]) }),
  );
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${await tokenWith("docs:read")}`,
  };
  const body = JSON.stringify(callOf("search"));
  const response = await handler(new Request(RESOURCE, { method: "POST", headers, body }));
  expect(response.status).toBe(200);
  const { result } = (await response.json()) as { readonly result: { readonly _meta: object } };
  expect(JSON.stringify(result._meta)).toContain("docs:publish");
});

it("is an option of mcpOperations that must be true or false", () => {
  expect(() => createServer({}, { securitySchemes: "yes" })).toThrow(/securitySchemes/);
});

it("replaces what the server has written there, also for a tool without a rule", async () => {
  const securitySchemes = [{ type: "noauth" }];
  const tools = ["ruleless", "search"].map((name) => ({
    name,
    securitySchemes,
    _meta: { securitySchemes, kept: 1 },
  }));
  const list = () => Promise.resolve(Response.json({ jsonrpc: "2.0", id: 1, result: { tools } }));
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const request = new Request(RESOURCE, {
    method: "POST",
    headers,
    body: JSON.stringify(message("tools/list")),
  });
  const response = await withMcp(createServer(), list)(request);
  const { result } = (await response.json()) as { readonly result: object };
  const oauth2 = [{ type: "oauth2", scopes: ["docs:read"] }];
  expect(result).toEqual({
    tools: [
      { name: "ruleless", _meta: { kept: 1 } },
      { name: "search", securitySchemes: oauth2, _meta: { securitySchemes: oauth2, kept: 1 } },
    ],
  });
});
