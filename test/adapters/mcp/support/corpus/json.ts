/** Bodies that two parsers read in two ways, or that no parser should read. */
import { ALLOWED, call, FORBIDDEN, HARMLESS, type Hostile, post } from "./hostile.ts";

const text = JSON.stringify(ALLOWED);
const MALFORMED: readonly (readonly [string, string | Buffer])[] = [
  ["no body", ""],
  ["spaces", "   "],
  ["half an object", text.slice(0, -1)],
  ["an object and a bracket", `${text}]`],
  ["two objects", text + text],
  ["two lines", `${text}\n${text}`],
  ["a comment", `/* */${text}`],
  ["a trailing comma", text.replace(/\}$/, ",}")],
  ["single quotes", text.replaceAll('"', "'")],
  ["names without quotes", text.replaceAll(/"(\w+)":/g, "$1:")],
  ["NaN", text.replace('"id":1', '"id":NaN')],
  ["a form feed", `\f${text}`],
  ["a no-break space", `\u00A0${text}`],
  ["a control character in a string", text.replace("search", "sea\u0001rch")],
  ["a byte order mark", `\uFEFF${text}`],
  ["two byte order marks", `\uFEFF\uFEFF${text}`],
  ["UTF-16, little endian", Buffer.from(text, "utf16le")],
  ["UTF-16 with a mark", Buffer.from(`\uFEFF${text}`, "utf16le")],
  ["UTF-16, big endian", Buffer.from(text, "utf16le").swap16()],
  ["a byte that is no UTF-8", Buffer.from(text.replace("x", "\u00FF"), "latin1")],
  ["an overlong slash", Buffer.from(text.replace("tools/call", "tools\u00C0\u00AFcall"), "latin1")],
  ["half a surrogate in UTF-8", Buffer.from(text.replace("x", "\u00ED\u00A0\u0080"), "latin1")],
  ["a cut character", Buffer.concat([Buffer.from(text.slice(0, -3)), Buffer.from([0xe2, 0x82])])],
  ["a NUL behind it", `${text}\u0000`],
  ["a prefix against XSSI", `)]}',\n${text}`],
];

const NO_MESSAGES: readonly unknown[] = [
  ...[null, true, 0, "tools/call", {}, [null], ["x"], [1], [true], [[]], [{}]],
];

const response = (more: object) => ({ jsonrpc: "2.0", id: 1, ...more });
const withRpc = (jsonrpc: unknown) => call("search", {}, { jsonrpc });

/** A member of `params` that a recursive reader cannot read. */
const withLevels = (message: object): string =>
  JSON.stringify(message).replace(
    '"name"',
    `"_meta":{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}},"name"`,
  );

/** Only some parsers read these as an integer. */
const AGENT_0 = JSON.stringify(call("run_agent", { agent_id: 0 }));
const NUMBERS = ["7.0", "70e-1", "0.7E+1"];

export const JSON_CASES: readonly Hostile[] = [
  ...NUMBERS.map((number) =>
    post(`the argument ${number} of a scope`, 400, AGENT_0.replace(":0", `:${number}`)),
  ),
  post("a second id in a batch", 400, `[${text},{"id":1,"id":2,${text.slice(1)}]`),
  post("a duplicate in _meta", 400, text.replace('"name"', '"_meta":{"a":1,"a":2},"name"')),
  post("a duplicate that is empty", 400, text.replace('"name"', '"":1,"":2,"name"')),
  post("a duplicate __proto__", 400, text.replace('"name"', '"__proto__":{},"__proto__":{},"name"')),
  ...MALFORMED.map(([name, body]) => post(name, 400, body)),
  ...NO_MESSAGES.map((value) => post(`the body ${JSON.stringify(value)}`, 400, JSON.stringify(value))),
  post("100,000 brackets", 400, "[".repeat(100_000) + "]".repeat(100_000)),
  post("100,000 open brackets", 400, "[".repeat(100_000)),
  post("an id of 100,000 digits", 403, JSON.stringify(FORBIDDEN).replace(":1,", `:${"1".repeat(100_000)},`)),
  post("a forbidden call with 50,000 levels", 403, withLevels(FORBIDDEN)),
  ...["1.0", "2", "2.00", 2, null, [], ["2.0"], {}].map((jsonrpc) =>
    post(`jsonrpc ${JSON.stringify(jsonrpc)}`, 400, withRpc(jsonrpc)),
  ),
  post("no jsonrpc", 400, withRpc(undefined)),
  post("jsonrpc as __proto__", 400, '{"__proto__":{"jsonrpc":"2.0"},"id":1,"method":"ping"}'),
  post("a method and a result", 400, call("search", {}, { result: {} })),
  post("a method and a result that is null", 400, call("search", {}, { result: null })),
  post("a method and an error", 400, call("search", {}, { error: { code: 1, message: "x" } })),
  post("a response in place of a request", HARMLESS, response({ result: FORBIDDEN })),
  post("an error in place of a request", HARMLESS, response({ error: { code: 1, message: "x" } })),
  post("a result and an error", HARMLESS, response({ result: {}, error: { code: 1, message: "x" } })),
  post("a response with the params of a call", HARMLESS, {
    ...response({ result: {} }),
    params: FORBIDDEN.params,
  }),
  post("neither a method nor a result", 400, response({})),
  ...[null, [], {}, true, 1.5].map((id) =>
    post(`a forbidden call with the id ${JSON.stringify(id)}`, 403, { ...FORBIDDEN, id }),
  ),
  post("a forbidden call as a notification", 403, { ...FORBIDDEN, id: undefined }),
];
