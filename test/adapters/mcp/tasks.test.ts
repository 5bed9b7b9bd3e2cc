/** Tasks belong to the caller of the call that started them. */
import { describe, expect, it } from "vitest";
import { type McpAccess, type McpOptions, protectMcp } from "scopegate/mcp";
import { memoryStore } from "scopegate/store";
import { requestOf } from "./support/memory.ts";
import { createMcpResourceServer, issuer } from "./support/tools.ts";

const TABLE = {
  "* /mcp": [],
  "MCP tools/call report": ["reports:<team>:write"],
  "MCP tasks/list": [],
  "MCP tasks/get": [],
  "MCP tasks/result": [],
  "MCP tasks/update": [],
  "MCP tasks/cancel": [],
};
const server = createMcpResourceServer(TABLE);

const MODERN = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
const CALL = { method: "tools/call", params: { name: "report", arguments: { team: "web" }, task: {} } };

interface Caller {
  readonly userId: string;
  readonly scopes: readonly string[];
}
const alice: Caller = { userId: "alice", scopes: ["reports:web:write"] };
const bob: Caller = { userId: "bob", scopes: ["reports:web:write"] };

const ONE = { task: { taskId: "one" } };

function createClient(options: McpOptions = {}) {
  const gate = protectMcp(server, options);
  /** Sends a message, and returns the response: the one of the gate, or `result` in the given form. */
  return async (
    { userId, scopes }: Caller,
    message: object | readonly object[],
    result: object = { done: true },
    isStream = false,
  ) => {
    const toRequest = (one: object, id: number) => ({ jsonrpc: "2.0", id, ...one });
    const body = Array.isArray(message) ? message.map(toRequest) : toRequest(message, 1);
    const token = await issuer.token({ userId, scopes: [...scopes] });
    const outcome = await gate(requestOf(body, token));
    if (outcome instanceof Response)
      return { status: outcome.status, body: (await outcome.json()) as object, passed: false };
    const json = JSON.stringify({ jsonrpc: "2.0", id: 1, result });
    const type = isStream ? "text/event-stream" : "application/json";
    const text = isStream ? `event: message\ndata: ${json}\n\n` : json;
    const response = await outcome.respond(new Response(text, { headers: { "content-type": type } }));
    const sent = (await response.text()).replace(/^event: message\ndata: /, "");
    return { status: response.status, body: JSON.parse(sent) as object, passed: true };
  };
}

/** A client of a server with the task `one` of alice. */
async function withTask() {
  const send = createClient();
  await send(alice, CALL, ONE);
  return send;
}

const task = (method: string, taskId = "one", more: object = {}) => ({
  method: `tasks/${method}`,
  params: { taskId, ...more },
});
const NOT_FOUND = { passed: false, status: 200, body: { id: 1, error: { code: -32602 } } };

describe("a task", () => {
  it.each([
    ["JSON", ONE, false],
    ["a stream of events", ONE, true],
    ["JSON of revision 2026-07-28", { resultType: "task", taskId: "one" }, false],
  ])("shows it only to its caller, if it was started in %s", async (_, result, isStream) => {
    const send = createClient();
    expect(await send(alice, CALL, result, isStream)).toMatchObject({ passed: true, body: { result } });
    for (const method of ["get", "result", "cancel"]) {
      expect(await send(bob, task(method))).toMatchObject(NOT_FOUND);
      expect(await send(alice, task(method))).toMatchObject({ passed: true });
      expect(await send(alice, task(method, "two"))).toMatchObject(NOT_FOUND);
    }
    expect(await send(bob, task("update", "one", MODERN))).toMatchObject(NOT_FOUND);
    expect(await send(alice, task("update", "one", MODERN))).toMatchObject({ passed: true });
  });

  it("does not start one because a tool mentions an id, or because another method returns one", async () => {
    const send = createClient();
    await send(bob, CALL, { structuredContent: ONE, taskId: "one" });
    expect(await send(bob, task("get"))).toMatchObject(NOT_FOUND);
  });

  it("keeps its first owner", async () => {
    const send = await withTask();
    await send(bob, CALL, ONE);
    expect(await send(bob, task("result"))).toMatchObject(NOT_FOUND);
  });

  it("needs the rule for its operation, with the same arguments, for its result", async () => {
    const send = await withTask();
    for (const scopes of [[], ["reports:api:write"]])
      expect(await send({ ...alice, scopes }, task("result"))).toMatchObject({ passed: false, status: 403 });
    expect(await send({ ...alice, scopes: ["reports:write"] }, task("result"))).toMatchObject({
      passed: true,
    });
  });

  it("needs the same scope for its result if the argument was an integer", async () => {
    const send = createClient();
    const caller = { ...alice, scopes: ["reports:7:write"] };
    const params = { ...CALL.params, arguments: { team: 7 } };
    await send(caller, { ...CALL, params }, ONE);
    expect(await send(caller, task("result"))).toMatchObject({ passed: true });
    const other = { ...alice, scopes: ["reports:8:write"] };
    expect(await send(other, task("result"))).toMatchObject({ passed: false, status: 403 });
  });

  it("does not list it for other callers", async () => {
    const send = await withTask();
    await send(bob, CALL, { task: { taskId: "two" } });
    const tasks = ["one", "two", "three"].map((taskId) => ({ taskId, status: "working" }));
    for (const isStream of [false, true]) {
      const listed = await send(bob, { method: "tasks/list" }, { tasks, nextCursor: "x" }, isStream);
      expect(listed.body).toMatchObject({ result: { tasks: [{ taskId: "two" }], nextCursor: "x" } });
    }
  });

  it("lists it only while the caller may repeat its call, with the same arguments", async () => {
    const send = await withTask();
    const tasks = [{ taskId: "one" }];
    const list = async (scopes: readonly string[]) =>
      (await send({ ...alice, scopes }, { method: "tasks/list" }, { tasks })).body;
    for (const scopes of [["reports:web:write"], ["reports:write"]])
      expect(await list(scopes)).toMatchObject({ result: { tasks } });
    for (const scopes of [[], ["reports:api:write"]])
      expect(await list(scopes)).toMatchObject({ result: { tasks: [] } });
  });

  it("refuses messages of others that are related to it", async () => {
    const send = await withTask();
    const _meta = { "io.modelcontextprotocol/related-task": { taskId: "one" } };
    const related = [
      { method: "tools/call", params: { ...CALL.params, _meta } },
      { method: "notifications/progress", params: { _meta } },
      { result: { action: "accept", _meta } },
    ];
    for (const message of related) {
      expect(await send(bob, message)).toMatchObject(NOT_FOUND);
      expect(await send(alice, message)).toMatchObject({ passed: true });
    }
    const withdrawn = { ...alice, scopes: ["other:scope"] };
    expect(await send(withdrawn, related[1] ?? {})).toMatchObject({ passed: false, status: 403 });
  });

  it("is known, and not listed for others, if a stream of a session has the response to the call", async () => {
    const gate = protectMcp(server);
    const stream = async ({ userId, scopes }: Caller, result: object) => {
      const token = await issuer.token({ userId, scopes: [...scopes] });
      const outcome = await gate(requestOf(undefined, token, {}, "GET"));
      const event = `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`;
      const headers = { "content-type": "text/event-stream" };
      return (await (outcome as McpAccess).respond(new Response(event, { headers }))).text();
    };
    await stream(alice, ONE);
    const tasks = [{ taskId: "one" }, { taskId: "two" }];
    expect(await stream(alice, { tasks })).toContain('"tasks":[{"taskId":"one"}]');
    expect(await stream(bob, { tasks })).toContain('"tasks":[]');
  });

  it("refuses it together with the rest of a batch", async () => {
    const send = await withTask();
    const batch = [{ method: "tasks/list" }, task("get")];
    expect(await send(bob, batch)).toMatchObject({ passed: false, body: { error: { code: -32602 } } });
    expect(await send(alice, batch)).toMatchObject({ passed: true });
  });

  it("knows it in every process with the same store, and not while the store fails", async () => {
    const store = memoryStore();
    const [first, second] = [createClient({ store }), createClient({ store })];
    await first(alice, CALL, ONE);
    expect(await second(bob, task("result"))).toMatchObject(NOT_FOUND);
    expect(await second({ ...alice, scopes: [] }, task("result"))).toMatchObject({ status: 403 });
    expect(await second(alice, task("result"))).toMatchObject({ passed: true });
    const failing = { ...store, get: () => Promise.reject(new Error("down")) };
    expect(await createClient({ store: failing })(alice, task("get"))).toMatchObject({ status: 503 });
  });

  it("sends its id only after other processes know its owner", async () => {
    const store = memoryStore();
    const set = async (...parameters: Parameters<typeof store.set>) => {
      for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      return store.set(...parameters);
    };
    const [first, second] = [createClient({ store: { ...store, set } }), createClient({ store })];
    for (const isStream of [false, true]) {
      const taskId = `of a ${isStream ? "stream" : "document"}`;
      await first(alice, CALL, { task: { taskId } }, isStream);
      expect(await second(alice, task("result", taskId))).toMatchObject({ passed: true });
    }
  });

  it("forgets it when the process keeps more than `maxSessions`, that of the same caller first", async () => {
    const send = createClient({ maxSessions: 20 });
    await send(alice, CALL, { task: { taskId: "alice's" } });
    for (let count = 0; count < 30; count += 1) await send(bob, CALL, { task: { taskId: `bob's ${count}` } });
    expect(await send(alice, task("get", "alice's"))).toMatchObject({ passed: true });
    expect(await send(bob, task("get", "bob's 27"))).toMatchObject(NOT_FOUND);
    expect(await send(bob, task("get", "bob's 29"))).toMatchObject({ passed: true });
  });
});
