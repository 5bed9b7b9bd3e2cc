/** Streams end with their token, on every host, and the sessions of the transport with two endpoints have owners. */
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import type { McpOptions } from "scopegate/mcp";
import { ask, listen } from "../../support/http.ts";
import { until } from "../../support/until.ts";
import type { Access, Backend } from "./support/backend.ts";
import { EXPRESS, type Host, HOSTS } from "./support/hosts.ts";
import { createMcpResourceServer, tokenOf, type User } from "./support/tools.ts";

const TABLE = { "* /mcp": [], "MCP tools/list": [], "MCP tools/call search": [] };

/** Answers each request with a stream that has no end. */
class EndlessBackend implements Backend {
  readonly executions = [];
  open = 0;
  readonly #first: string;

  constructor(first: string) {
    this.#first = first;
  }

  node(_request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.open += 1;
    response.once("close", () => (this.open -= 1));
    response.writeHead(200, { "content-type": "text/event-stream" }).write(this.#first);
    return Promise.resolve();
  }

  web(_request: Request, _access: Access): Promise<Response> {
    this.open += 1;
    const close = () => void (this.open -= 1);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from(this.#first)),
      cancel: close,
    });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  }
}

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** An MCP server with a clock and revocations that a test changes. */
async function openStreams(host: Host, options: McpOptions = {}, first = "data: {}\n\n") {
  const state = { shiftMs: 0, revoked: new Set<unknown>() };
  const server = createMcpResourceServer(
    TABLE,
    {},
    {
      now: () => Date.now() + state.shiftMs,
      isRevoked: ({ userId }) => state.revoked.has(userId),
    },
  );
  const backend = new EndlessBackend(first);
  const { port, close } = await listen(
    await host.create(server, backend, { streamCheckSeconds: 0.02, ...options }),
  );
  closing.push(close);
  const start = async (user: User, method: string, path = "/mcp") => {
    const headers = {
      authorization: `Bearer ${await tokenOf(user, { expiresIn: 60 })}`,
      accept: "application/json, text/event-stream",
      ...(method === "POST" ? { "content-type": "application/json" } : {}),
    };
    const sent = httpRequest({ port, host: "127.0.0.1", method, path, headers, agent: false });
    sent.on("error", () => undefined);
    sent.end(method === "POST" ? CALL : undefined);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const stream = { status: response.statusCode, text: "", isOver: false, close: () => sent.destroy() };
    response.on("data", (chunk: Buffer) => (stream.text += chunk.toString()));
    response.on("error", () => undefined).once("close", () => (stream.isOver = true));
    await until(() => stream.text !== "" || stream.isOver);
    closing.push(stream.close);
    return stream;
  };
  return { port, state, backend, start };
}

/** How a query can name the session `one`, so that some server reads it. */
const SPELLINGS = [
  ...["x=1&session_id=one", "session%49d=one", "%73essionId=%6fne", "sessionId[]=one"],
  ...["sessionId%5B0%5D=one", "sessionId=two&sessionId=one", "SESSION-ID=one"],
];

const CALL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search" } });

describe.each(HOSTS)("a stream on $name", (host) => {
  it.each(["GET", "POST"])("of a %s ends when the token expires", async (method) => {
    const { state, backend, start } = await openStreams(host);
    const stream = await start("runner", method);
    expect(stream).toMatchObject({ status: 200, text: "data: {}\n\n", isOver: false });
    state.shiftMs = 61_000;
    await until(() => stream.isOver && backend.open === 0);
  });

  it("ends when the token is revoked, and the streams of others go on", async () => {
    const { state, start } = await openStreams(host);
    const [revoked, other] = [await start("runner", "GET"), await start("reader", "GET")];
    state.revoked.add("runner");
    await until(() => revoked.isOver);
    expect(other.isOver).toBe(false);
  });

  it("goes on if streams are not checked", async () => {
    const { state, start } = await openStreams(host, { streamCheckSeconds: false });
    const unchecked = await start("runner", "GET");
    const checked = await openStreams(host);
    const ended = await checked.start("runner", "GET");
    state.shiftMs = checked.state.shiftMs = 61_000;
    await until(() => ended.isOver);
    expect(unchecked.isOver).toBe(false);
  });

  it("of the transport with two endpoints belongs to its caller until it closes", async () => {
    const endpoint = "event: endpoint\ndata: /mcp?sessionId=one\n\n";
    const { port, backend, start } = await openStreams(host, {}, endpoint);
    const stream = await start("runner", "GET");
    expect(stream.text).toBe(endpoint);
    const answer = JSON.stringify({ jsonrpc: "2.0", id: 7, result: { action: "accept" } });
    const send = async (user: User, path: string) =>
      (await ask(port, { method: "POST", path, token: await tokenOf(user), body: JSON.parse(answer) }))
        .status;
    expect(await send("reader", "/mcp?sessionId=one")).toBe(404);
    for (const query of SPELLINGS) expect(await send("reader", `/mcp?${query}`), query).toBe(404);
    expect(await send("runner", "/mcp?sessionId=two")).toBe(404);
    // A session of the other transport does not show whose events are replayed.
    const token = await tokenOf("runner");
    const headers = [["last-event-id", "1"]] as const;
    expect((await ask(port, { path: "/mcp?sessionId=one", token, headers })).status).toBe(404);
    const own = await start("runner", "POST", "/mcp?sessionId=one");
    expect(own.status).toBe(200);
    own.close();
    stream.close();
    await until(() => backend.open === 0);
    expect(await send("runner", "/mcp?sessionId=one")).toBe(404);
  });
});

it("does not watch a stream whose client has left before its headers are written", async () => {
  const left = new AbortController();
  const server = createMcpResourceServer(
    TABLE,
    {},
    {
      isRevoked: () => {
        checks += 1;
        return false;
      },
    },
  );
  let checks = 0;
  let isWritten = false;
  const backend: Backend = {
    executions: [],
    node: async (_request, response) => {
      left.abort();
      await once(response, "close");
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: {}\n\n");
      checks = 0;
      isWritten = true;
    },
    web: () => Promise.reject(new Error("unused")),
  };
  const { port, close } = await listen(await EXPRESS.create(server, backend, { streamCheckSeconds: 0.001 }));
  closing.push(close);
  const headers = { authorization: `Bearer ${await tokenOf("runner")}` };
  await fetch(`http://127.0.0.1:${port}/mcp`, { headers, signal: left.signal }).catch(() => undefined);
  await until(() => isWritten);
  for (let turn = 0; turn < 1_000; turn += 1) await new Promise(setImmediate);
  expect(checks).toBe(0);
});
