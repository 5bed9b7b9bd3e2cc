/** Attacks on MCP servers and clients, against `protectMcp`. */
import express from "express";
import { expect, onTestFinished } from "vitest";
import { type McpAccess, type McpOptions, protectMcp } from "scopegate/mcp";
import { INITIALIZE } from "../../adapters/mcp/support/corpus/sessions.ts";
import { HOSTS, openHost } from "../../adapters/mcp/support/hosts.ts";
import { chunk, type Raw, send } from "../../adapters/mcp/support/send.ts";
import {
  createMcpResourceServer,
  issuer,
  RESOURCE,
  tokenOf,
  TOOLS,
  type User,
} from "../../adapters/mcp/support/tools.ts";
import { serve } from "../../support/frameworks.ts";
import { askMcp } from "../../support/http.ts";
import { mistakesOf } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";
import { itPrevents } from "./prevents.ts";

type Gate = ReturnType<typeof protectMcp>;

const TASKS = {
  "* /mcp": [],
  "MCP tools/call report": [],
  "MCP tasks/get": [],
  "MCP tasks/result": [],
  "MCP tasks/cancel": [],
  "MCP tasks/list": [],
};

/** Sends a message or a request without a body through a gate, as this user. */
async function enter(
  gate: Gate,
  user: User,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response | McpAccess> {
  const sent = {
    authorization: `Bearer ${await tokenOf(user)}`,
    "content-type": "application/json",
    ...headers,
  };
  const text = body && JSON.stringify({ jsonrpc: "2.0", id: 1, ...body });
  return gate(
    new Request(RESOURCE, {
      method: body ? "POST" : "GET",
      headers: sent,
      ...(text !== undefined && { body: text }),
    }),
  );
}

/** What the gate responds to a message, or `passed`; with a result, the server behind it responds with it. */
async function outcomeOf(gate: Gate, user: User, body: object, result: object = {}): Promise<unknown> {
  const outcome = await enter(gate, user, body);
  if (outcome instanceof Response) return outcome.json();
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, result });
  await outcome.respond(new Response(text, { headers: { "content-type": "application/json" } }));
  return "passed";
}

itPrevents("CVE-2026-52870", async () => {
  const gate = protectMcp(createMcpResourceServer(TASKS));
  const call = { method: "tools/call", params: { name: "report", task: {} } };
  expect(await outcomeOf(gate, "reader", call, { task: { taskId: "one" } })).toBe("passed");
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    const ask = { method, params: { taskId: "one" } };
    expect(await outcomeOf(gate, "runner", ask), method).toMatchObject({ error: { code: -32602 } });
    expect(await outcomeOf(gate, "reader", ask), method).toBe("passed");
  }
});

/** Starts a session with this id. */
async function startSession(gate: Gate, user: User, id: string): Promise<void> {
  const access = await enter(gate, user, INITIALIZE);
  if (access instanceof Response) throw new Error(`${access.status}`);
  await access.respond(new Response("{}", { headers: { "mcp-session-id": id } }));
}

itPrevents("CVE-2026-52869", async () => {
  const gate = protectMcp(createMcpResourceServer());
  await startSession(gate, "reader", "one");
  const headers = { "mcp-session-id": "one" };
  const list = { method: "tools/list" };
  for (const body of [list, undefined]) {
    expect(await enter(gate, "runner", body, headers)).toMatchObject({ status: 404 });
    expect(await enter(gate, "reader", body, headers)).not.toBeInstanceOf(Response);
  }
});

itPrevents("CVE-2023-29019", async () => {
  const gate = protectMcp(createMcpResourceServer());
  await startSession(gate, "nobody", "chosen");
  await startSession(gate, "runner", "chosen");
  const headers = { "mcp-session-id": "chosen" };
  expect(await enter(gate, "runner", { method: "tools/list" }, headers)).toMatchObject({ status: 404 });
  expect(await enter(gate, "nobody", { method: "tools/list" }, headers)).not.toBeInstanceOf(Response);
});

itPrevents("CVE-2026-27896", async () => {
  const gate = protectMcp(createMcpResourceServer());
  const search = { name: "search" };
  const messages: readonly object[] = [
    { method: "ping", Method: "tools/call", params: { name: "remove_agent" } },
    { method: "tools/call", params: search, Params: { name: "remove_agent" } },
    { method: "tools/call", params: { ...search, Name: "remove_agent" } },
    { METHOD: "tools/call", params: { name: "remove_agent" } },
  ];
  for (const message of messages)
    expect(await enter(gate, "runner", message), JSON.stringify(message)).toMatchObject({ status: 400 });
  expect(await outcomeOf(gate, "runner", { method: "tools/call", params: search })).toBe("passed");
});

/** An MCP server of the official SDK on the first host, until the end of the test. */
async function open(options: McpOptions = {}, hostName = "Express 5") {
  const host = HOSTS.find(({ name }) => name === hostName);
  if (!host) throw new Error(`There is no host ${hostName}.`);
  const opened = await openHost(host, createMcpResourceServer(), options);
  onTestFinished(opened.close);
  return opened;
}

itPrevents("CVE-2026-25536", async () => {
  for (const { name } of HOSTS) {
    const { port, backend } = await open({}, name);
    const users = ["reader", "runner", "reader", "runner", "runner", "reader"] as const;
    const tokens = { reader: await tokenOf("reader"), runner: await tokenOf("runner") };
    const answers = await Promise.all(
      users.map((user) => askMcp(port, "tools/call", { name: "search", arguments: {} }, tokens[user])),
    );
    // The tool says whether its caller may run another one, which only `runner` may.
    for (const [index, { text }] of answers.entries())
      expect(text, name).toContain(`may run web: ${users[index] === "runner"}`);
    expect(backend.executions.map(({ user }) => user).sort(), name).toEqual([...users].sort());
  }
});

itPrevents("CVE-2025-66414", async () => {
  const { port, backend } = await open();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search" } });
  for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1"]) {
    const headers = { host, origin: "http://evil.example" };
    expect((await send(port, { headers, body }, undefined)).status, host).toBe(401);
  }
  expect(backend.executions).toEqual([]);
});

itPrevents("CVE-2025-69196", async () => {
  const { port, backend } = await open();
  const call = async (aud: unknown) =>
    (
      await askMcp(
        port,
        "tools/call",
        { name: "search", arguments: {} },
        await tokenOf("reader", { claims: { aud } }),
      )
    ).status;
  expect([
    await call("https://other.example/mcp"),
    await call("https://api.example"),
    await call([]),
  ]).toEqual([401, 401, 401]);
  expect(backend.executions).toEqual([]);
  expect(await call(RESOURCE)).toBe(200);
  const resource = { id: RESOURCE, authorizationServers: ["https://login.example/"] };
  const options = { ...issuer.resourceServerOptions, resource, verifyAudience: false };
  expect(mistakesOf(() => createResourceServer(options))).not.toEqual([]);
});

itPrevents("CVE-2026-0621", async () => {
  const gate = protectMcp(
    createMcpResourceServer({
      "* /mcp": [],
      "MCP resources/read docs://{a}/{b}/{c}": ["docs:read"],
      "MCP resources/read docs://files/{+path}": ["docs:read"],
    }),
  );
  const started = performance.now();
  for (const part of ["{", "%", "/", "-", "a/", "%7B", "{a}", "-a"])
    expect(
      await enter(gate, "nobody", {
        method: "resources/read",
        params: { uri: `docs://${part.repeat(8_000)}` },
      }),
    ).toBeInstanceOf(Response);
  expect(performance.now() - started).toBeLessThan(5_000);
});

itPrevents("CVE-2026-25223", async () => {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "remove_agent" } };
  const types = [
    "application/json\t; charset=latin1",
    "application/json\ta",
    "application/json;x",
    "application/json, text/plain",
    "application/jsonp",
    "Application/JSON5",
    "text/plain; application/json",
    "application/json;charset=utf-7",
    "",
  ];
  for (const { name } of HOSTS) {
    const { port, backend } = await open({}, name);
    for (const type of types) {
      const raw: Raw = { headers: { "content-type": type }, body: JSON.stringify(call) };
      expect((await send(port, raw, await tokenOf("runner"))).status, `${name} ${type}`).toBe(415);
    }
    // White space before and after is not a part of the value, so this is JSON: the rule decides.
    const raw: Raw = { headers: { "content-type": "  APPLICATION/JSON\t" }, body: JSON.stringify(call) };
    expect((await send(port, raw, await tokenOf("runner"))).status, name).toBe(403);
    expect(backend.executions, name).toEqual([]);
  }
});

itPrevents("CVE-2026-54288", async () => {
  const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search" } });
  const pieces = [" ".repeat(40_000), " ".repeat(40_000), call];
  const bodies: readonly Raw[] = [
    { headers: { "transfer-encoding": "chunked" }, body: [...pieces.map(chunk), "0\r\n\r\n"] },
    { body: pieces.join("") },
  ];
  const token = await tokenOf("runner");
  for (const { name } of HOSTS) {
    const { port, backend } = await open({ maxBodyBytes: 50_000 }, name);
    for (const { headers = {}, ...raw } of bodies) {
      const sent = { ...raw, headers: { "content-type": "application/json", ...headers } };
      expect((await send(port, sent, token)).status, name).toBe(413);
    }
    const short: Raw = { headers: { "content-length": "10" }, body: call };
    expect((await send(port, short, token)).status, name).toBe(400);
    expect(backend.executions, name).toEqual([]);
  }
});

itPrevents("GHSA-4hxc-9384-m385", async () => {
  const gate = protectMcp(
    createMcpResourceServer({ "* /mcp": [], "MCP tools/list": [], "MCP tools/call *": [] }),
    { listFilter: true },
  );
  const hostile = ["a\rdata: {}\r\rdata: x", "b\ndata: {}", "c\u2028data: {}\u2029", "d\u0085data: {}"];
  const tools = hostile.map((name) => ({ name }));
  const event = `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } })}\n\n`;
  const access = await enter(gate, "nobody", { method: "tools/list" });
  if (access instanceof Response) throw new Error(`${access.status}`);
  const headers = { "content-type": "text/event-stream" };
  const text = await (await access.respond(new Response(event, { headers }))).text();
  expect(text.split(/\r\n|\r|\n/)).toEqual([event.trimEnd(), "", ""]);
});

itPrevents("CVE-2025-7339", async () => {
  const app = express().use(protectMcp(createMcpResourceServer(), { listFilter: true }));
  const tools = TOOLS.map((name) => ({ name }));
  app.post("/mcp", (_request, response) => {
    response.writeHead(200, ["content-type", "application/json", "x-kept", "yes"]);
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } }));
  });
  const { headers, body } = await askMcp(await serve(app), "tools/list", {}, await tokenOf("reader"));
  expect(headers).toMatchObject({ "content-type": "application/json", "x-kept": "yes" });
  expect(body).toMatchObject({ result: { tools: [{ name: "search" }] } });
});
