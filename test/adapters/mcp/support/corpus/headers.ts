/** Headers that disagree with the body, and headers that describe the body in another way than it is. */
import { gzipSync } from "node:zlib";
import { ALLOWED, call, FORBIDDEN, HARMLESS, type Hostile, post } from "./hostile.ts";

type Headers = NonNullable<Hostile["headers"]>;

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

/** Methods and names that differ from those of the call. */
const METHODS = [
  ...["tools/list", "ping", "TOOLS/CALL", "", "tools/call, tools/call", ["tools/call", "tools/list"]],
  ...[["tools/call", "tools/call"], base64("tools/call")],
];
/** "run_agent" has nine bytes, so its Base64 has no padding and no spare bits. */
const NAMES = [
  ...["search", "", "RUN_AGENT", "run%5Fagent", '"run_agent"', "run_agent, search", ["run_agent", "search"]],
  ...[["search", "run_agent"], ["run_agent", "run_agent"], base64("search"), "=?base64??="],
  ...["=?base64?cnVuX2FnZW50", "=?base64?cnVuX2FnZW50?", "=?BASE64?cnVuX2FnZW50?="],
  ...["=?utf-8?B?cnVuX2FnZW50?=", "=?base64?cnVuX2FnZW50=?=", "=?base64?cnVu X2FnZW50?="],
  ...["=?base64?cnVuX2FnZW50\t?=", "=?base64?cnVuX2Fn-ZW50?=", "=?base64?####?=", "=?base64?/////w==?="],
  ...[base64("\uFEFFrun_agent"), base64("run_agent\n"), base64(base64("run_agent"))],
];

/** Headers in front of a forbidden call: a proxy would let them pass. */
const DISAGREE: readonly Headers[] = [
  ...METHODS.map((method) => ({ "mcp-method": method })),
  ...NAMES.map((name) => ({ "mcp-name": name })),
  { "mcp-method": "tools/call", "mcp-name": "search" },
  { "mcp-method": "tools/list", "mcp-name": "run_agent" },
  { "mcp-param-agent_id": "api" },
  { "mcp-method": "tools/call", "mcp-param-agent_id": "api" },
];

/** "docs" in Base64 is `ZG9jcw==`; with spare bits it is `ZG9jcx==`, and without padding `ZG9jcw`. */
const SPARE = ["=?base64?ZG9jcx==?=", "=?base64?ZG9jcw?=", "=?base64?ZG9jcw=?=", "=?base64?ZG9jcw===?="];

const TYPES = [
  ...["text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"],
  ...["application/json-rpc", "application/vnd.api+json", "application/jsonx", "application/*", "*/*"],
  "json",
  ...[
    "application/json; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/json; charset=",
  ],
  ...["application/json; charset=utf-8; charset=utf-16", "application/json, text/plain", "application/json;"],
  ...["application/json; boundary=x", "application/ json", "text/plain; application/json", ""],
  ...[
    "application/json\t; charset=latin1",
    "application/json\ta",
    "application/json;x",
    "application/json;charset=utf-7",
  ],
];

const CODINGS = [
  ...["gzip", "deflate", "br", "zstd", "compress", "x-gzip", "identity, gzip", "gzip, identity", "aes128gcm"],
];

const typed = (type: string | undefined) => ({ headers: { "content-type": type } });
const text = JSON.stringify(ALLOWED);

const RESPONSE = { jsonrpc: "2.0", id: 1, result: {} };
const SCOPES = ["x-scopes", "scope", "mcp-param-scope"].map((field) => [field, "agents:api:run"]);

type Row = readonly [name: string, status: number | readonly number[], body: object, headers: Headers];

const ROWS: readonly Row[] = [
  ["Mcp-Method with a batch of one", [400, 403], [FORBIDDEN], { "mcp-method": "tools/call" }],
  ["Mcp-Method with a batch", 400, [ALLOWED, FORBIDDEN], { "mcp-method": "tools/call" }],
  ["Mcp-Name with a batch", 400, [ALLOWED, FORBIDDEN], { "mcp-name": "search" }],
  ["Mcp-Name with no name", 400, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { "mcp-name": "search" }],
  ["Mcp-Method with a response", 400, RESPONSE, { "mcp-method": "tools/list" }],
  ["scopes in headers", 403, FORBIDDEN, Object.fromEntries(SCOPES) as Headers],
  ["the revision 2026-07-28", 403, FORBIDDEN, { "mcp-protocol-version": "2026-07-28" }],
  [
    "no revision",
    HARMLESS,
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { "mcp-protocol-version": "1999-01-01" },
  ],
];

export const HEADER_CASES: readonly Hostile[] = [
  ...DISAGREE.map((headers) =>
    post(`headers ${JSON.stringify(headers)}`, 400, call("run_agent", { agent_id: "web" }), { headers }),
  ),
  ...DISAGREE.slice(8, 12).map((headers) =>
    post(`a forbidden call with ${JSON.stringify(headers)}`, 400, FORBIDDEN, { headers }),
  ),
  ...SPARE.map((name) =>
    post(`the name docs as ${name}`, 400, call("docs"), { headers: { "mcp-name": name } }),
  ),
  ...["run_agent", base64("run_agent")].map((name) =>
    post("headers that agree with a forbidden call", 403, FORBIDDEN, {
      headers: { "mcp-method": "tools/call", "mcp-name": name },
    }),
  ),
  ...ROWS.map(([name, status, body, headers]) => post(name, status, body, { headers })),
  ...TYPES.map((type) => post(`the type ${JSON.stringify(type)}`, 415, text, typed(type))),
  post("no type", 415, text, typed(undefined)),
  // White space before and after is not a part of the value, so this is JSON: the rule decides.
  post("JSON between white space", 403, FORBIDDEN, typed("  APPLICATION/JSON\t")),
  ...[
    ["text/plain", "application/json"],
    ["application/json", "text/plain"],
  ].map((types) => post("two types", [403, 415], FORBIDDEN, { headers: { "content-type": types } })),
  ...CODINGS.map((coding) =>
    post(`Content-Encoding ${coding}`, 415, gzipSync(text), { headers: { "content-encoding": coding } }),
  ),
  post("gzip that is not declared", 400, gzipSync(text)),
  post("Content-Encoding of plain JSON", 415, text, { headers: { "content-encoding": "gzip" } }),
];
