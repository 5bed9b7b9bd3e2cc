/** What a refused client learns: the scopes to request, and an error of the protocol that it uses. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { protect } from "scopegate/fetch";
import { protectMcp } from "scopegate/mcp";
import { allowChallenge } from "../../../src/adapters/mcp/challenge.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { requestOf } from "./support/memory.ts";
import { createMcpResourceServer, issuer, RESOURCE } from "./support/tools.ts";

const TABLE = {
  "* /mcp": ["mcp:use"],
  "MCP tools/list": ["tools:list"],
  "MCP tools/call search": ["docs:read"],
  "MCP tools/call write": ["docs:write"],
  "MCP tools/call run": ["agents:<id>:run"],
};
const REVISION = "io.modelcontextprotocol/protocolVersion";

/** Sends a message, and returns what a client sees. */
const send = (
  message: object,
  scopes?: readonly string[],
  table: ResourceServerOptions["scopeMappings"] = TABLE,
  fields = {},
) => sendTo(protectMcp(createMcpResourceServer(table)), message, scopes, fields);

async function sendTo(
  gate: ReturnType<typeof protectMcp>,
  message: object,
  scopes?: readonly string[],
  fields: Readonly<Record<string, string>> = {},
) {
  const token = scopes && (await issuer.token({ userId: "u", scopes: [...scopes] }));
  const outcome = await gate(requestOf({ jsonrpc: "2.0", id: 7, ...message }, token, fields));
  if (!(outcome instanceof Response)) return { status: 200, scope: undefined, body: undefined, type: null };
  const challenge = outcome.headers.get("www-authenticate") ?? "";
  return {
    status: outcome.status,
    scope: / scope="([^"]*)"/.exec(challenge)?.[1],
    type: outcome.headers.get("content-type"),
    body: outcome.headers.get("content-type")?.includes("json") ? await outcome.json() : await outcome.text(),
  };
}
const call = (name: string, args: object = {}) => ({
  method: "tools/call",
  params: { name, arguments: args },
});
const modern = (message: { readonly method: string; readonly params?: object }) => ({
  ...message,
  params: { ...message.params, _meta: { [REVISION]: "2026-07-28" } },
});

describe("a 401", () => {
  const NEEDLESS = { "* /mcp": [], "MCP tools/list": [] };
  it.each([
    ["of the transport and the lists", TABLE, "mcp:use tools:list"],
    // Some providers require one.
    ["of a table whose transport and lists need none", { ...TABLE, ...NEEDLESS }, "docs:read docs:write"],
    ["of a table without operations", { "* /mcp": ["mcp:use"] }, undefined],
  ])("names the scopes %s", async (_, table, scope) => {
    expect(await send(call("search"), undefined, table)).toMatchObject({ status: 401, scope });
  });

  it("names the same scopes as the metadata", () => {
    const { resource } = createMcpResourceServer(TABLE);
    expect(resource?.metadata["scopes_supported"]).toEqual(["mcp:use", "tools:list"]);
  });
});

describe("a 403", () => {
  it("names the required scopes, and the granted ones that the table uses", async () => {
    const granted = ["mcp:use", "docs:read", "agents:web:run", "agents:*:delete", "mail:send"];
    expect(await send(call("write"), granted)).toMatchObject({
      status: 403,
      scope: "mcp:use docs:write docs:read agents:web:run",
      type: "application/problem+json",
      body: { code: "scope_insufficient", missing_scopes: ["docs:write"] },
    });
  });

  it("names only the required scopes if all of them would be too long for a header", async () => {
    const granted = ["mcp:use", ...Array.from({ length: 60 }, (_, id) => `agents:agent-number-${id}:run`)];
    expect(await send(call("write"), granted)).toMatchObject({ scope: "mcp:use docs:write" });
  });

  it("of the transport names only its own scopes", async () => {
    expect(await send(call("write"), ["docs:read"])).toMatchObject({ status: 403, scope: "mcp:use" });
  });

  it("returns an error of JSON-RPC since revision 2026-07-28, whose clients remember their scopes", async () => {
    expect(await send(modern(call("write")), ["mcp:use", "docs:read"])).toMatchObject({
      status: 403,
      scope: "mcp:use docs:write",
      type: "application/json",
      body: {
        jsonrpc: "2.0",
        id: 7,
        error: { code: -32000, message: "Forbidden", data: { code: "scope_insufficient" } },
      },
    });
    expect(await send(modern(call("unknown")), ["mcp:use"])).toMatchObject({
      status: 403,
      body: { id: 7, error: { code: -32000, data: { code: "route_unmapped" } } },
    });
  });

  it("reports a resource without a rule as one that doesn't exist since revision 2026-07-28", async () => {
    const read = { method: "resources/read", params: { uri: "docs://unknown" } };
    expect(await send(modern(read), ["mcp:use"])).toMatchObject({
      status: 403,
      body: {
        id: 7,
        error: { code: -32602, data: { code: "route_unmapped", uri: "docs://unknown" } },
      },
    });
    const table = { "* /mcp": [], "MCP resources/read docs://{name}": ["docs:read"] };
    const { body } = await send(modern(read), [], table);
    expect(body).toMatchObject({ error: { code: -32000, data: { code: "scope_insufficient" } } });
    expect(body).not.toHaveProperty("error.data.uri");
    expect(await send(read, ["mcp:use"])).toMatchObject({ body: { code: "route_unmapped" } });
  });

  it("keeps the body of `refusalBody`", async () => {
    const refusalBody = () => ({ contentType: "text/plain", body: "no" });
    const gate = protectMcp(createMcpResourceServer(TABLE, {}, { refusalBody }));
    expect(await sendTo(gate, modern(call("write")), ["mcp:use"])).toMatchObject({ body: "no" });
  });
});

describe("revision 2026-07-28", () => {
  it.each([
    ["unknown/method", {}],
    ["ping", {}],
    ["initialize", {}],
    ["logging/setLevel", {}],
    ["resources/subscribe", {}],
    ["resources/subscribe", { uri: "docs://a" }],
    ["tasks/result", { taskId: "x" }],
  ])("has no method %s with %j: 404 with the id", async (method, params) => {
    const expected = { status: 404, body: { jsonrpc: "2.0", id: 7, error: { code: -32601 } } };
    expect(await send(modern({ method, params }), ["mcp:use"])).toMatchObject(expected);
    const fields = { "mcp-protocol-version": "2026-07-28" };
    expect(await send({ method, params }, ["mcp:use"], TABLE, fields)).toMatchObject(expected);
  });

  it("is not claimed by a malformed version", async () => {
    for (const version of ["2025-11-25", "9", "x", 20260728]) {
      const meta = { _meta: { [REVISION]: version } };
      expect(await send({ method: "ping", params: meta }, ["mcp:use"])).toMatchObject({ status: 200 });
    }
  });

  it.each([
    [{ "mcp-method": "tools/list" }, 400],
    [{ "mcp-name": "run" }, 400],
    [{ "mcp-method": "tools/call", "mcp-name": "search", "mcp-param-q": "other" }, 400],
    [{ "mcp-method": "tools/call", "mcp-name": "search", "mcp-param-count": "2" }, 400],
    [{ "mcp-method": "tools/call", "mcp-name": "search", "mcp-param-q": "=?base64?eA==?=" }, 200],
    [{ "mcp-method": "tools/call", "mcp-name": "search", "mcp-param-count": "1" }, 200],
    [{ "mcp-method": "tools/call", "mcp-name": "search", "mcp-param-region": "declared by the tool" }, 200],
  ])("refuses headers that differ from the body, with its id: %j, %i", async (fields, status) => {
    const answer = await send(
      modern(call("search", { q: "x", count: 1 })),
      ["mcp:use", "docs:read"],
      TABLE,
      fields,
    );
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.body).toMatchObject({ id: 7, error: { code: -32020 } });
  });
});

describe("the methods that a server adds", () => {
  const table = { "* /mcp": [], "MCP skills/list": [], "MCP x-vendor/run deploy*": ["ops:<env>:deploy"] };
  const RUN = { job: "deploy-web", arguments: { env: "prod" } };

  it("need a declaration", () => {
    expect(() => createMcpResourceServer(table)).toThrow('mcp: { methods: { "skills/list": null } }');
  });

  it.each<[method: string, params: object, scopes: readonly string[], status: number]>([
    ["skills/list", {}, [], 200],
    ["skills/other", {}, [], 403],
    ["x-vendor/run", RUN, ["ops:prod:deploy"], 200],
    ["x-vendor/run", RUN, ["ops:test:deploy"], 403],
    ["x-vendor/run", { ...RUN, job: "drop" }, ["ops:prod:deploy"], 403],
    ["x-vendor/run", { name: "deploy-web" }, [], 400],
    ["x-vendor/run", { ...RUN, Job: "drop" }, ["ops:prod:deploy"], 400],
  ])("are decided by their own rules: %s with %j and %j, %i", async (method, params, scopes, status) => {
    const mcp = { methods: { "skills/list": null, "x-vendor/run": "job" } };
    const gate = protectMcp(createMcpResourceServer(table, mcp));
    expect(await sendTo(gate, { method, params }, scopes)).toMatchObject({ status });
  });
});

it("keeps the message of a call out of the log of its request", async () => {
  const authorization = `Bearer ${await issuer.token({ userId: "u", scopes: ["mcp:use"] })}`;
  const headers = { get: (name: string) => (name === "authorization" ? authorization : null) };
  const request = { method: "POST", url: RESOURCE, headers };
  expect(await protect(createMcpResourceServer(TABLE))(request)).toHaveProperty("principal");
  allowChallenge(request, { messages: { body: "secret" } as never, replaceBy: () => undefined });
  expect(inspect(request, { depth: null })).not.toContain("secret");
});
