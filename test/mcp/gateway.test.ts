/** The starter of a gateway, in front of an MCP server that is not written for Node.js. */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { Redis } from "ioredis";
import { createTestIssuer } from "scopegate/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/folder.ts";
import { ask, askMcp } from "../support/http.ts";
import { HAS_REDIS_SERVER, startRedis } from "../support/redis-server.ts";
import { until } from "../support/until.ts";
import {
  type Gateway,
  HAS_PYTHON,
  type PythonServer,
  type Received,
  startGateway,
  startPythonServer,
} from "./gateway/programs.ts";
import { SDK_CLIENTS } from "./step-up/clients.ts";

const RESOURCE = "http://localhost:3000/mcp";
const issuer = createTestIssuer({ algorithm: "RS256", audience: RESOURCE });
const folder = temporaryFolder("gateway");

const START = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "0" } };
const call = (name: string, args: object = {}) => ({ name, arguments: args });
const runAgent = (agent_id: string) => call("run_agent", { agent_id });

const toolCall = (params: object, id = 1) => ({ jsonrpc: "2.0", id, method: "tools/call", params });

const textOf = (value: string) => ({ content: [{ type: "text", text: value }] });

/** The values of a header that the MCP server received. */
const valuesOf = ({ headers }: Received, name: string): readonly string[] =>
  headers.filter(([header]) => header.toLowerCase() === name).map(([, value]) => value);

/** Repeats a request until it has a status. */
async function untilStatus(status: number, send: () => Promise<{ readonly status: number }>): Promise<void> {
  while ((await send()).status !== status);
}

/** Waits until a program accepts no connections. */
async function untilClosed(port: number): Promise<void> {
  for (;;) {
    const outcome = await ask(port, { path: "/health" }).catch(() => "refused");
    if (outcome === "refused") return;
  }
}

describe.skipIf(!HAS_PYTHON)("the gateway before an MCP server in Python", () => {
  let python: PythonServer;
  let gateway: Gateway;
  let runner: string;
  let other: string;
  const start = (env: Readonly<Record<string, string>> = {}) =>
    startGateway(folder, { JWT_PUBLIC_KEY: issuer.key.verificationKey, UPSTREAM: python.url, ...env });
  const tokenOf = (userId: string, scopes: readonly string[] = []) =>
    issuer.token({ userId, scopes: [...scopes] });

  beforeAll(async () => {
    runner = await tokenOf("user-1", [
      "docs:read",
      ...["web", "silent", "broken"].map((agent) => `agents:${agent}:run`),
    ]);
    other = await tokenOf("user-2", ["docs:read"]);
    python = await startPythonServer();
    gateway = await start();
  });
  afterAll(() => Promise.all([gateway.stop(), python.stop()]));
  beforeEach(async () => {
    await python.takeReceived();
    python.left.length = 0;
  });

  const expectNothingForwarded = async () => expect(await python.takeReceived()).toEqual([]);
  /** Sends messages, or these bytes. */
  const send = (token: string, body: object | string, signal?: AbortSignal) =>
    fetch(gateway.url, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });

  /** Sends a request and returns the response before its end. */
  async function open(
    port: number,
    { method, token, session, body }: { method: string; token: string; session?: string; body?: object },
  ): Promise<{ readonly sent: ClientRequest; readonly response: IncomingMessage }> {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      ...(session !== undefined && { "mcp-session-id": session }),
      ...(body && { "content-type": "application/json" }),
    };
    const sent = httpRequest({ host: "127.0.0.1", port, path: "/mcp", method, agent: false, headers });
    sent.on("error", () => undefined);
    sent.end(body && JSON.stringify(body));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { sent, response };
  }
  const openCall = (port: number, agent: string) =>
    open(port, {
      method: "POST",
      token: runner,
      body: toolCall(runAgent(agent)),
    });
  async function startSession(port: number, token: string): Promise<string> {
    const { status, headers } = await askMcp(port, "initialize", START, token);
    expect(status).toBe(200);
    return String(headers["mcp-session-id"]);
  }
  const askIn = (port: number, session: string, token: string, method = "POST") =>
    ask(port, {
      method,
      path: "/mcp",
      token,
      headers: [["mcp-session-id", session]],
      body: method === "POST" ? { jsonrpc: "2.0", id: 1, method: "tools/list" } : undefined,
    });

  it("shows without a token where to get one, and that it runs", async () => {
    const metadata = await ask(gateway.port, { path: "/.well-known/oauth-protected-resource/mcp" });
    expect(metadata.body).toMatchObject({
      resource: RESOURCE,
      authorization_servers: ["https://login.example/"],
    });
    expect(await ask(gateway.port, { path: "/health" })).toMatchObject({
      status: 200,
      body: { status: "ok" },
    });
  });

  it("refuses every other path, and requests without a token", async () => {
    const refused = await askMcp(gateway.port, "tools/list", {});
    expect(refused.status).toBe(401);
    expect(refused.headers["www-authenticate"]).toContain(
      'resource_metadata="http://localhost:3000/.well-known/oauth-protected-resource/mcp"',
    );
    const paths = ["/", "/admin", "/mcp/admin", "/mcp/..%2fadmin"];
    for (const path of paths)
      expect([400, 403], path).toContain((await ask(gateway.port, { path, token: runner })).status);
    await expectNothingForwarded();
  });

  it.each(["/mcp/", "/MCP", "//mcp", "/mcp?a=/", "/%6dcp", "/mcp;a", "/x/../mcp", "/mcp/x"])(
    "forwards no call that the table refuses, whatever spelling of the path reaches it: %s",
    async (path) => {
      const body = toolCall(call("delete_all"));
      const { status } = await ask(gateway.port, { method: "POST", path, token: runner, body });
      expect([400, 403]).toContain(status);
      await expectNothingForwarded();
    },
  );

  it.each([1, 2] as const)(
    "serves the official client %i.x: lists, calls, progress, sessions",
    async (line) => {
      const { Client, Transport } = SDK_CLIENTS[line];
      const client = new Client({ name: "test", version: "1.0.0" });
      const transport = new Transport(new URL(gateway.url), {
        requestInit: { headers: { authorization: `Bearer ${runner}` } },
      });
      await client.connect(transport);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["search", "run_agent", "delete_all"]);
      expect(await client.callTool(call("search"))).toMatchObject(textOf("found"));

      const progress: unknown[] = [];
      const onprogress = (value: unknown) => void progress.push(value);
      let hasEnded = false;
      const running = client.callTool(runAgent("web"), ...(line === 1 ? [undefined] : []), { onprogress });
      void running.finally(() => (hasEnded = true)).catch(() => undefined);
      await until(() => progress.length > 0);
      expect([progress, hasEnded]).toEqual([[{ progress: 1, total: 2 }], false]);
      python.endCall();
      expect(await running).toMatchObject(textOf("ran for user-1"));

      await python.takeReceived();
      await expect(client.callTool(call("delete_all"))).rejects.toThrow();
      await expect(client.callTool(runAgent("api"))).rejects.toThrow();
      // The client may open its stream at any time.
      expect((await python.takeReceived()).filter(({ method }) => method === "POST")).toEqual([]);

      const { sessionId } = transport;
      await transport.terminateSession();
      const deleted = (await python.takeReceived()).find(({ method }) => method === "DELETE");
      expect(deleted && valuesOf(deleted, "mcp-session-id")).toEqual([sessionId]);
      await client.close();
      await until(() => python.left.includes("GET"));
    },
  );

  it("forwards all of a batch, or nothing", async () => {
    const sendAll = (...calls: readonly object[]) => send(runner, calls.map(toolCall));
    expect((await sendAll(call("search"), call("delete_all"))).status).toBe(403);
    await expectNothingForwarded();
    const allowed = await sendAll(call("search"), call("search"));
    expect(await allowed.json()).toMatchObject([{ id: 0, result: textOf("found") }, { id: 1 }]);
  });

  it("names the caller itself, and forwards neither the token nor other headers of the client", async () => {
    const token = await tokenOf("Zoë|\r\n7", ["docs:read", "agents:web:run"]);
    const spoofed = [
      ...["X-Principal-User", "x-principal-user", "X_Principal_User", "X-Principal-Scopes"],
      ...["X-Principal-Admin", "Mcp_Session_Id", "Mcp-Session_Id", "X-Forwarded-User", "Cookie"],
      "Proxy-Authorization",
    ];
    const { status } = await ask(gateway.port, {
      method: "POST",
      path: "/mcp?user=admin",
      token,
      headers: [
        ["accept", "application/json"],
        ["mcp-protocol-version", "2025-06-18"],
        ["connection", "mcp-protocol-version, x-principal-user"],
        ...spoofed.map((name): [string, string] => [name, "admin"]),
      ],
      body: toolCall(call("search")),
    });
    expect(status).toBe(200);
    const [{ path, headers } = { path: "", headers: [] }] = await python.takeReceived();
    expect(path).toBe("/mcp");
    expect(Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))).toEqual({
      accept: "application/json",
      "mcp-protocol-version": "2025-06-18",
      "x-principal-user": "Zo%C3%AB%7C%0D%0A7",
      "x-principal-scopes": "docs:read agents:web:run",
      "content-type": "application/json",
      "content-length": expect.stringMatching(/^\d+$/) as string,
      host: new URL(python.url).host,
      connection: "close",
    });
    expect(headers).toHaveLength(8);
  });

  it("sends the body as it was checked, and refuses one that parsers read in two ways", async () => {
    const twice =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_all","name":"search"}}';
    expect((await send(runner, twice)).status).toBe(400);
    await expectNothingForwarded();
    const spaced =
      '{"jsonrpc":"2.0", "id":1,\n"method":"tools/call","params":{"name":"search","arguments":{"q":"\\u00eb"}}}';
    expect((await send(runner, spaced)).status).toBe(200);
    expect(await python.takeReceived()).toMatchObject([
      { body: { params: { name: "search", arguments: { q: "ë" } } } },
    ]);

    await python.takeReceived();
    const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}}`;
    const refused = await send(runner, deep);
    expect(refused.status).toBe(500);
    expect(await refused.text()).not.toMatch(/stack|\.mjs|node_modules/);
    await expectNothingForwarded();
  });

  it("sends the headers of a stream before its first event", async () => {
    const session = await startSession(gateway.port, runner);
    const { sent, response } = await open(gateway.port, { method: "GET", token: runner, session });
    expect(response.headers["content-type"]).toBe("text/event-stream");
    sent.destroy();
    await until(() => python.left.includes("GET"));
  });

  it("ends the stream of a session when the token expires", async () => {
    const session = await startSession(gateway.port, other);
    const token = await issuer.token({ userId: "user-2", expiresIn: 3 });
    const { response } = await open(gateway.port, { method: "GET", token, session });
    expect(response.statusCode).toBe(200);
    response.resume();
    await once(response, "close").catch(() => undefined);
    await until(() => python.left.includes("GET"));
  });

  it("passes on that the client leaves during a response, and before one", async () => {
    const { sent, response } = await openCall(gateway.port, "web");
    await once(response, "data");
    sent.destroy();
    await until(() => python.left.length === 1);
    await python.takeReceived();

    const client = new AbortController();
    const answer = send(runner, toolCall(runAgent("silent")), client.signal);
    const aborted = expect(answer).rejects.toThrow("aborted");
    while ((await python.takeReceived()).length === 0);
    client.abort();
    await aborted;
    await until(() => python.left.length === 2);
    expect(python.left).toEqual(["POST", "POST"]);
  });

  it("returns no header that describes the MCP server or the gateway", async () => {
    const { status, headers } = await askMcp(gateway.port, "tools/call", call("search"), runner);
    expect(status).toBe(200);
    const names = ["connection", "content-type", "date", "transfer-encoding"];
    expect(Object.keys(headers).sort()).toEqual(names);
  });

  it("keeps a session for the caller that started it, until it ends", async () => {
    const session = await startSession(gateway.port, runner);
    await python.takeReceived();
    for (const method of ["POST", "GET", "DELETE"])
      expect((await askIn(gateway.port, session, other, method)).status, method).toBe(404);
    await expectNothingForwarded();
    expect((await askIn(gateway.port, session, runner)).status).toBe(200);
    expect((await askIn(gateway.port, session, runner, "DELETE")).status).toBe(204);
    await python.takeReceived();
    expect((await askIn(gateway.port, session, runner)).status).toBe(404);
    await expectNothingForwarded();
  });

  it("cuts a response that the MCP server does not finish properly, and keeps running", async () => {
    const { response } = await openCall(gateway.port, "broken");
    expect(response.statusCode).toBe(200);
    response.resume();
    await expect(once(response, "end")).rejects.toThrow("aborted");
    expect((await askMcp(gateway.port, "tools/list", {}, runner)).status).toBe(200);
  });

  it("returns 502 without internals while the MCP server is down", async () => {
    const server = await startPythonServer();
    const front = await start({ UPSTREAM: server.url });
    try {
      const { response } = await openCall(front.port, "web");
      await once(response, "data");
      const cut = expect(once(response, "end")).rejects.toThrow("aborted");
      await server.stop();
      await cut;
      const refused = await askMcp(front.port, "tools/list", {}, runner);
      expect(refused.status).toBe(502);
      expect(refused.body).toEqual({
        jsonrpc: "2.0",
        id: null,
        error: { code: -32603, message: "The MCP server does not answer." },
      });
      const port = new URL(server.url).port;
      expect(JSON.stringify(refused.headers)).not.toMatch(new RegExp(`express|${port}`, "i"));
      // Another pipe than that of the response.
      await expect.poll(front.errors).toBe("The MCP server does not answer: ECONNREFUSED\n");
    } finally {
      await Promise.all([front.stop(), server.stop()]);
    }
  });

  it("finishes running calls after SIGTERM, cuts streams without an end, and exits", async () => {
    const front = await start({ SHUTDOWN_MS: "500" });
    try {
      const session = await startSession(front.port, runner);
      const stream = await open(front.port, { method: "GET", token: runner, session });
      stream.response.resume();
      const streamEnd = expect(once(stream.response, "end")).rejects.toThrow("aborted");
      const { response } = await openCall(front.port, "web");
      await once(response, "data");
      const exit = front.end();
      await untilClosed(front.port);
      python.endCall();
      let text = "";
      for await (const chunk of response) text += String(chunk);
      expect(text).toContain("ran for user-1");
      await streamEnd;
      expect(await exit).toBe(0);
    } finally {
      await front.stop();
    }
  });

  it.skipIf(!HAS_REDIS_SERVER)("shares sessions and revoked callers between processes", async () => {
    const redis = await startRedis();
    const fronts = await Promise.all([1, 2].map(() => start({ REDIS_URL: redis.url })));
    const [first, second] = fronts as [Gateway, Gateway];
    const client = new Redis(redis.url);
    try {
      const session = await startSession(first.port, runner);
      await untilStatus(200, () => askIn(second.port, session, runner));
      expect((await askIn(second.port, session, other)).status).toBe(404);
      await client.set("scopegate:revoked:user:user-1", "revoked by an operator");
      for (const { port } of fronts) await untilStatus(401, () => askIn(port, session, runner));
      expect((await askMcp(first.port, "tools/list", {}, other)).status).toBe(200);
      expect(await Promise.all(fronts.map((front) => front.end()))).toEqual([0, 0]);
    } finally {
      client.disconnect();
      await Promise.all([...fronts.map((front) => front.stop()), redis.remove()]);
    }
  });
});
