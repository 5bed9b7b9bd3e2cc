/** How a request is read: its headers, its messages, and the operations that they call. */
import { describe, expect, it } from "vitest";
import { protectMcp } from "scopegate/mcp";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { exchangeOf } from "../../../src/adapters/mcp/frameworks/node-exchange.ts";
import { isJson } from "../../../src/adapters/mcp/exchange.ts";
import { headersAgree } from "../../../src/adapters/mcp/headers.ts";
import { parseMessages, readMessages } from "../../../src/adapters/mcp/messages.ts";
import { readBody, type Sink } from "../../../src/adapters/mcp/body.ts";
import { renderOperation } from "../../../src/capabilities/mcp-operations/operation-key.ts";
import { MCP_METHODS } from "../../../src/capabilities/mcp-operations/operation-methods.ts";
import { ALLOWED, call } from "./support/corpus/hostile.ts";
import { createMcpResourceServer } from "./support/tools.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const CONTEXT = { methods: MCP_METHODS, revision: undefined };
const read = (value: unknown) => parseMessages(Buffer.from(JSON.stringify(value)), CONTEXT);
const readValid = (value: object) => {
  const found = read(value);
  if (found.kind === "invalid") throw new Error(found.body.error.message);
  return found;
};
const readOne = (value: object) => {
  const [message] = readValid(value).messages;
  if (!message) throw new Error("The body has no message.");
  return message;
};
const callsOf = (value: object) => readOne(value).calls.map(renderOperation);
const request = (method: string, params?: unknown) => ({ jsonrpc: "2.0", id: 1, method, params });

describe("parseMessages", () => {
  it("reads the name and the arguments of a call", () => {
    expect(readOne(call("run_agent", { agent_id: "web" }))).toEqual({
      method: "tools/call",
      name: "run_agent",
      isStateless: false,
      taskIds: [],
      calls: [{ method: "tools/call", name: "run_agent", parameters: { agent_id: "web" }, nameAt: ["name"] }],
    });
  });

  it.each(["7.0", "70e-1", "7E0", "0.7e1", "-7.0", "9007199254740990.0", "1.5"])(
    "reads the argument %s as an empty string for the table, and passes its value and bytes on",
    (number) => {
      const bytes = Buffer.from(
        JSON.stringify(call("run_agent", { agent_id: 0, q: "7.0" }, { id: 1.5 })).replace(":0", `:${number}`),
      );
      const found = parseMessages(bytes, CONTEXT);
      expect(found).toMatchObject({
        body: { id: 1.5, params: { arguments: { agent_id: Number(number), q: "7.0" } } },
        calls: [{ parameters: { agent_id: "", q: "7.0" } }],
      });
      expect((found as { bytes?: Buffer }).bytes).toBe(bytes);
    },
  );

  it.each([undefined, null, "x", 1, true, ["web"]])("reads the arguments %j as none", (args) => {
    expect(readOne(call("search", args)).calls[0]?.parameters).toEqual({});
  });

  it.each([
    ["prompts/get", { name: "greet" }, "prompts/get greet"],
    ["resources/read", { uri: "docs://a b", name: "other" }, "resources/read docs://a b"],
    ["resources/subscribe", { uri: "docs://a" }, "resources/subscribe docs://a"],
    ["completion/complete", { ref: { type: "ref/prompt", name: "greet" } }, "prompts/get greet"],
    ["completion/complete", { ref: { type: "ref/resource", uri: "docs://a" } }, "resources/read docs://a"],
    ["tools/list", undefined, "tools/list"],
    ["unknown/method", { name: "search" }, "unknown/method"],
    // Servers read the name of a completion as its type says.
    [
      "completion/complete",
      { ref: { type: "ref/resource", uri: "secret://x", name: "greet" } },
      "resources/read secret://x",
    ],
    [
      "subscriptions/listen",
      { notifications: { resourceSubscriptions: ["docs://a", "secret://x"] } },
      "subscriptions/listen, resources/read docs://a, resources/read secret://x",
    ],
  ])("reads %s with %j as the operations %s", (method, params, text) => {
    expect(callsOf(request(method, params)).join(", ")).toBe(text);
  });

  it.each(["initialize", "ping", "server/discover", "notifications/initialized", "notifications/x"])(
    "finds no operation in %s",
    (method) => {
      expect(readOne(request(method))).toEqual({
        method,
        isStateless: false,
        taskIds: [],
        calls: [],
      });
    },
  );

  it("reads the id of a task as a name for the header", () => {
    expect(readOne(request("tasks/get", { taskId: "seven" }))).toMatchObject({ name: "seven" });
    expect(readOne(request("tasks/list", { taskId: 7 }))).toMatchObject({ name: undefined });
  });

  it.each([
    ["completion/complete", { ref: "greet" }],
    ["completion/complete", {}],
    ["completion/complete", { ref: { name: "greet" } }],
    ["completion/complete", { ref: { type: "ref/other", name: "greet" } }],
    ["completion/complete", { ref: { type: "ref/resource", name: "greet" } }],
    ["subscriptions/listen", { notifications: { resourceSubscriptions: [7] } }],
    ["subscriptions/listen", { notifications: { resourceSubscriptions: "docs://a" } }],
    ["subscriptions/listen", { notifications: 7 }],
    ["resources/read", { name: "docs://a" }],
    ["prompts/get", { name: "" }],
    ["tasks/get", { taskId: 7 }],
    ["tasks/result", { taskId: ["one"] }],
    ["tasks/cancel", {}],
    ["tools/call", { name: "search", _meta: { "io.modelcontextprotocol/related-task": { taskId: 7 } } }],
    ["completion/complete", { ref: { type: "ref/prompt", name: "a" }, argument: { name: "b", Name: "c" } }],
    ["completion/complete", { ref: { type: "ref/prompt", name: "a" }, context: { Arguments: {} } }],
  ])("refuses %s with %j, which names nothing", (method, params) => {
    expect(read(request(method, params))).toMatchObject({
      kind: "invalid",
      body: { error: { code: -32602 }, id: 1 },
    });
  });

  it("refuses a batch with more than 32 subscriptions, however they are divided into messages", () => {
    const listen = (count: number) =>
      request("subscriptions/listen", {
        notifications: { resourceSubscriptions: Array.from({ length: count }, () => "docs://a") },
      });
    const subscribe = request("resources/subscribe", { uri: "docs://a" });
    expect(read(listen(100)).kind).toBe("messages");
    expect(read(listen(101)).kind).toBe("invalid");
    expect(read([listen(15), listen(15)]).kind).toBe("messages");
    expect(read([listen(15), listen(16)]).kind).toBe("invalid");
    expect(read(Array.from({ length: 32 }, () => subscribe)).kind).toBe("messages");
    expect(read([listen(0), ...Array.from({ length: 32 }, () => subscribe)]).kind).toBe("invalid");
    expect(read(Array.from({ length: 100 }, () => ALLOWED)).kind).toBe("messages");
  });

  it("refuses a URI that is too long, and several that are too long together", () => {
    const toRequest = (length: number, id = 1) => ({
      ...request("resources/read", { uri: "d://".padEnd(length, "a") }),
      id,
    });
    expect(read(toRequest(8_192)).kind).toBe("messages");
    expect(read(toRequest(8_193)).kind).toBe("invalid");
    expect(read([toRequest(8_192), toRequest(8_192, 2)]).kind).toBe("messages");
    expect(read([toRequest(8_192), toRequest(8_192, 2), toRequest(5, 3)]).kind).toBe("invalid");
  });

  it.each(["\uE000", "\uE001", "\uE002"])(
    "refuses %j in a URI, which stands for every value in patterns",
    (placeholder) => {
      expect(read(request("resources/read", { uri: `http://a${placeholder}/secret` })).kind).toBe("invalid");
    },
  );

  it("returns the id of a message that is refused, if it has one", () => {
    for (const id of ["a", 1.5]) expect(read({ ...call([]), id })).toMatchObject({ body: { id } });
    for (const id of [null, [], {}, true])
      expect(read({ ...call([]), id })).toMatchObject({ body: { id: null } });
    expect(read([call([]), ALLOWED])).toMatchObject({ body: { id: null } });
    expect(read(["x"])).toMatchObject({ body: { error: { code: -32600 } } });
  });

  it("ignores what a polluted prototype says", () => {
    withPollution({ arguments: { agent_id: "web" }, name: "search", jsonrpc: "2.0" }, () => {
      expect(readMessages({ id: 1, method: "ping" }, CONTEXT)).toMatchObject({ kind: "invalid" });
      expect(readMessages({ ...request("tools/call"), params: {} }, CONTEXT)).toMatchObject({
        kind: "invalid",
      });
      const one = readMessages({ ...request("tools/call"), params: { name: "run_agent" } }, CONTEXT);
      expect(one).toMatchObject({ messages: [{ calls: [{ parameters: {} }] }] });
    });
  });

  it("finds no operation in responses", () => {
    expect(readOne({ jsonrpc: "2.0", id: 1, result: {} })).toEqual({
      isStateless: false,
      taskIds: [],
      calls: [],
    });
    expect(readOne({ jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } })).toMatchObject({ calls: [] });
  });
});

describe("readBody", () => {
  it("ends with the first result, whatever the source does later", async () => {
    const late = ({ add, end, fail }: Sink): void => {
      add(Buffer.from("{}"));
      end();
      fail();
      expect(add(Buffer.from("{}"))).toBe(false);
    };
    expect(await readBody(late, { maxBodyBytes: 5, bodyTimeoutMs: 5000 }, 0)).toEqual(Buffer.from("{}"));
  });
});

describe("the headers of a request", () => {
  const fields = () => [];
  const withHeaders = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name];

  it.each([
    ...["application/json", "Application/JSON", "application/json; charset=utf-8"],
    'application/json;charset="UTF-8"',
  ])("announce JSON as %s", (type) => {
    expect(isJson(withHeaders({ "content-type": type }))).toBe(true);
    expect(isJson(withHeaders({ "content-type": type, "content-encoding": "Identity" }))).toBe(true);
    expect(isJson(withHeaders({ "content-type": type, "content-encoding": "gzip" }))).toBe(false);
    expect(isJson(withHeaders({}))).toBe(false);
  });

  it("join several values with one name", () => {
    const raw = { headers: { "mcp-name": ["run_agent", "search"] } };
    expect(exchangeOf(raw as never, "POST", undefined).header("mcp-name")).toBe("run_agent, search");
  });

  it("require Base64 for a name that is not ASCII", () => {
    const one = readValid(call("wörter"));
    const encoded = Buffer.from("wörter").toString("base64");
    expect(headersAgree({ header: withHeaders({ "mcp-name": `=?base64?${encoded}?=` }), fields }, one)).toBe(
      true,
    );
    expect(headersAgree({ header: withHeaders({ "mcp-name": "=?base64?/////w==?=" }), fields }, one)).toBe(
      false,
    );
  });
});

describe("the headers of arguments", () => {
  const agrees = (headers: Readonly<Record<string, string>>, args: object) =>
    [call("search", args), [call("search", args)]].every((body) =>
      headersAgree({ header: (name) => headers[name], fields: () => Object.keys(headers) }, readValid(body)),
    );

  it.each([{}, { "mcp-method": "tools/call" }])("must agree with the body, with %j", (headers) => {
    for (const [value, header, isEqual] of [
      ["eu", "eu", true],
      ["eu", "us", false],
      [1.5, "1.5", true],
      [1.5, "2.5", false],
      [true, "false", false],
      [{}, "x", true],
    ] as const)
      expect(agrees({ ...headers, "mcp-param-region": header }, { region: value })).toBe(isEqual);
    expect(agrees({ ...headers, "mcp-param-other": "x" }, { region: "eu" })).toBe(true);
  });

  it("must agree with every spelling of the argument's name, because a tool may read any of them", () => {
    expect(agrees({ "mcp-param-region": "eu" }, { Region: "eu", region: "eu" })).toBe(true);
    expect(agrees({ "mcp-param-region": "eu" }, { Region: "eu", region: "us" })).toBe(false);
    expect(agrees({ "mcp-param-region": "eu" }, { region: "us", Region: "eu" })).toBe(false);
  });

  it("are at most 64", () => {
    const headersOf = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`mcp-param-x${index}`, "1"]));
    expect(agrees(headersOf(64), {})).toBe(true);
    expect(agrees(headersOf(65), {})).toBe(false);
  });
});

describe("protectMcp", () => {
  it("passes the fault of a middleware in front on", async () => {
    const request = Object.defineProperty(new IncomingMessage(new Socket()), "method", {
      get: () => {
        throw new Error("broken");
      },
    });
    const gate = protectMcp(createMcpResourceServer());
    const passed = new Promise((next) =>
      gate(request as never, { setHeader: () => undefined } as never, next),
    );
    expect(await passed).toEqual(new Error("broken"));
  });
});
