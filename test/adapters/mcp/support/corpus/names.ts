/** Spellings and types of methods, names and arguments. */
import { call, HARMLESS, type Hostile, post } from "./hostile.ts";

const NAMES = [
  ..."__proto__ constructor toString valueOf hasOwnProperty prototype __defineGetter__ then".split(" "),
  ...["RUN_AGENT", "Remove_Agent", " remove_agent", "remove_agent ", "remove_agent\n", "\tremove_agent"],
  ...["remove_agent\u0000", "search\u0000remove_agent", "remove_agent\u200B", "\uFEFFremove_agent"],
  "search ",
  ...["*", "search *", "* search", "tools/call search", "search remove_agent", "search,remove_agent"],
  ...["/search", "search/", "search/../remove_agent", "search#remove_agent", "search?x", "%73earch"],
  ...["remove_agen\u0074 ", "ｓearch", "seаrch", "se\u0301arch", "\uD800", "search\r\nMcp-Name: search"],
  ...["x".repeat(10_000), "MCP tools/call search", "search;remove_agent", "SEARCH"],
];

const NO_STRINGS: readonly unknown[] = [
  ...[1, 0, -1, 1.5, true, false, null, [], ["search"], [["search"]], {}, { name: "search" }],
  ...[{ toString: "search" }, { 0: "search" }, ""],
];

/** Arguments that are not `web`, the only agent that the sender may run. */
const AGENTS: readonly unknown[] = [
  ...[0, 1, -1, 1e2, 9_007_199_254_740_991],
  ...["api", "WEB", " web", "web ", "web\u0000", "web\n", "*", "web,api", "web api", "we", "webb", "%77eb"],
  ...["../web", "web/../api", "web:run", "web:run agents:api", "__proto__", "constructor", "<agent_id>"],
  "ｗeb",
];

/** Arguments that no scope can contain. */
const NO_AGENTS: readonly unknown[] = [
  ...["", 0.5, 2 ** 53, 1e21, true, false, null],
  ...[[], ["web"], ["web", "api"], {}, { toString: "web" }, { agent_id: "web" }],
];

/** Arguments without `agent_id`, so the sender would need the scope for every agent. */
const ARGUMENTS: readonly unknown[] = [
  ...["agent_id=web", '{"agent_id":"web"}', ["web"], [{ agent_id: "web" }], 1, true, null, {}],
  ...[{ "agent_id ": "web" }, { agentId: "web" }, { "agent_id\u0000": "web" }],
  ...[
    { arguments: { agent_id: "web" } },
    { params: { agent_id: "web" } },
    { constructor: { agent_id: "web" } },
  ],
];

/** Own properties that set the prototype in code that copies carelessly. */
const POLLUTION = [
  ...['{"__proto__":{"agent_id":"web"}}', '{"__proto__":{"agent_id":"web"},"x":1}'],
  ...['{"constructor":{"prototype":{"agent_id":"web"}}}', '{"__proto__":null}'],
  '{"toString":"web","valueOf":"web"}',
];

/** Values that `JSON.stringify` does not write. */
const NO_AGENTS_AS_JSON = ["-0", "-0.0", "1e400", '{"__proto__":{"toString":"web"}}'];

const UNKNOWN_METHODS = [
  ...["tools/Call", "TOOLS/CALL", "tools/call/", "tools//call", "/tools/call", "tools/call\u0000"],
  "tool/call",
  ...["tools.call", "tools/%63all", "tools/call#", "tools/call?", "tools/call/search", "../tools/call"],
  "tools",
  ...["__proto__", "constructor", "toString", "rpc.discover", "$/cancelRequest", "sampling/createMessage"],
  ...["elicitation/create", "roots/list", "initialize/", "Initialize", "xnotifications/x"],
  "server/discover/x",
  ...["notifications", "tasks/call", "*"],
];

const METHODS_WITH_SPACE = [
  ...["tools/call ", " tools/call", "tools/call search", "tools/call\t", "tools/call\nsearch", "tools /call"],
  ...["notifications/ tools/call", "ping tools/call", "tools/call\u00A0", "tools/call\u2028", ""],
  "\uFEFFtools/call",
];

/** Housekeeping in front of a name: the official SDK must not run a tool for them. */
const HOUSEKEEPING = [
  ...["notifications/tools/call", "notifications/../tools/call", "notifications/", "notifications/cancelled"],
  ...["ping", "initialize", "server/discover", "notifications/__proto__"],
];

const REMOVE = { name: "remove_agent" };

/** A reader of JSON that ignores letter case would run `remove_agent`. */
const OTHER_CASE: readonly object[] = [
  { method: "ping", Method: "tools/call", params: REMOVE },
  { method: "tools/call", params: { name: "search" }, Params: REMOVE },
  { method: "tools/call", params: { name: "search", Name: "remove_agent" } },
  { METHOD: "tools/call", params: REMOVE },
];

const withArguments = (json: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_agent","arguments":${json}}}`;
const show = (value: unknown): string => JSON.stringify(value).slice(0, 60);
const withMethod = (method: unknown) => call("remove_agent", { agent_id: "web" }, { method });

export const NAME_CASES: readonly Hostile[] = [
  ...NAMES.map((name) => post(`a tool named ${show(name)}`, 403, call(name, { agent_id: "web" }))),
  ...NO_STRINGS.map((name) => post(`a name that is ${show(name)}`, 400, call(name, { agent_id: "web" }))),
  post("no name", 400, call(undefined)),
  ...AGENTS.map((agent_id) => post(`run_agent for ${show(agent_id)}`, 403, call("run_agent", { agent_id }))),
  ...NO_AGENTS.map((agent_id) => post("no agent", 400, call("run_agent", { agent_id }))),
  ...ARGUMENTS.map((args) => post(`arguments ${show(args)}`, 403, call("run_agent", args))),
  post("no arguments", 403, call("run_agent")),
  ...OTHER_CASE.map((one) =>
    post("a property in another letter case", 400, { jsonrpc: "2.0", id: 1, ...one }),
  ),
  post("an argument in another letter case", 400, call("run_agent", { AGENT_ID: "web" })),
  ...POLLUTION.map((args) => post(`arguments ${args}`, 403, withArguments(args))),
  ...NO_AGENTS_AS_JSON.map((json) => post("no agent", 400, withArguments(`{"agent_id":${json}}`))),
  ...[[], ["search"], [{ name: "search" }], "search", 1, true, null].map((params) =>
    post("other params", 400, call("search", {}, { params })),
  ),
  post("no params", 400, { jsonrpc: "2.0", id: 1, method: "tools/call" }),
  post("the name beside params", 400, { jsonrpc: "2.0", id: 1, method: "tools/call", name: "search" }),
  ...['"__proto__":{"params":{"name":"search"}}', '"params":{"__proto__":{"name":"search"}}'].map((part) =>
    post("__proto__", 400, `{"jsonrpc":"2.0","id":1,"method":"tools/call",${part}}`),
  ),
  ...UNKNOWN_METHODS.map((method) => post(`method ${show(method)}`, 403, withMethod(method))),
  ...METHODS_WITH_SPACE.map((method) => post(`method ${show(method)}`, 400, withMethod(method))),
  ...[1, null, true, [], ["tools/call"], {}].map((method) => post("no method", 400, withMethod(method))),
  ...HOUSEKEEPING.map((method) => post(`a tool's name for ${show(method)}`, HARMLESS, withMethod(method))),
  ...["resources/read", "resources/subscribe", "prompts/get", "completion/complete"].map((method) =>
    post(`${method} without a rule`, 403, {
      ...withMethod(method),
      params: { name: "search", uri: "file:///etc/passwd", ref: { type: "ref/prompt", name: "x" } },
    }),
  ),
];
