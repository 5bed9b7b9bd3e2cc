/** Headers that disagree with the body, and headers that describe the body in another way than it is. */
import { gzipSync } from "node:zlib";
import { ALLOWED, call, FORBIDDEN, HARMLESS, type Hostile, post } from "./hostile.ts";

type Headers = NonNullable<Hostile["headers"]>;

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

/** Headers in front of a forbidden call: a proxy would let them pass. */
const DISAGREE: readonly Headers[] = [
  { "mcp-method": "tools/list" },
  { "mcp-method": "ping" },
  { "mcp-method": "TOOLS/CALL" },
  { "mcp-method": "" },
  { "mcp-method": "tools/call, tools/call" },
  { "mcp-method": ["tools/call", "tools/list"] },
  { "mcp-method": ["tools/call", "tools/call"] },
  { "mcp-method": base64("tools/call") },
  { "mcp-name": "search" },
  { "mcp-name": "" },
  { "mcp-name": "RUN_AGENT" },
  { "mcp-name": "run%5Fagent" },
  { "mcp-name": '"run_agent"' },
  { "mcp-name": "run_agent, search" },
  { "mcp-name": ["run_agent", "search"] },
  { "mcp-name": ["search", "run_agent"] },
  { "mcp-name": ["run_agent", "run_agent"] },
  { "mcp-name": base64("search") },
  { "mcp-name": "=?base64??=" },
  { "mcp-name": "=?base64?cnVuX2FnZW50" },
  { "mcp-name": "=?base64?cnVuX2FnZW50?" },
  { "mcp-name": "=?BASE64?cnVuX2FnZW50?=" },
  { "mcp-name": "=?utf-8?B?cnVuX2FnZW50?=" },
  // "run_agent" has nine bytes, so its Base64 has no padding and no spare bits.
  { "mcp-name": "=?base64?cnVuX2FnZW50=?=" },
  { "mcp-name": "=?base64?cnVu X2FnZW50?=" },
  { "mcp-name": "=?base64?cnVuX2FnZW50\t?=" },
  { "mcp-name": "=?base64?cnVuX2Fn-ZW50?=" },
  { "mcp-name": "=?base64?####?=" },
  { "mcp-name": "=?base64?/////w==?=" },
  { "mcp-name": base64("\uFEFFrun_agent") },
  { "mcp-name": base64("run_agent\n") },
  { "mcp-name": base64(base64("run_agent")) },
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
];

const CODINGS = [
  ...["gzip", "deflate", "br", "zstd", "compress", "x-gzip", "identity, gzip", "gzip, identity", "aes128gcm"],
];

const typed = (type: string | undefined) => ({ headers: { "content-type": type } });
const text = JSON.stringify(ALLOWED);

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
  post("headers that agree with a forbidden call", 403, FORBIDDEN, {
    headers: { "mcp-method": "tools/call", "mcp-name": "run_agent" },
  }),
  post("a name in Base64 of a forbidden call", 403, FORBIDDEN, {
    headers: { "mcp-method": "tools/call", "mcp-name": base64("run_agent") },
  }),
  post("Mcp-Method with a batch of one", [400, 403], [FORBIDDEN], {
    headers: { "mcp-method": "tools/call" },
  }),
  post("Mcp-Method with a batch", 400, [ALLOWED, FORBIDDEN], { headers: { "mcp-method": "tools/call" } }),
  post("Mcp-Name with a batch", 400, [ALLOWED, FORBIDDEN], { headers: { "mcp-name": "search" } }),
  post(
    "Mcp-Name with a method without a name",
    400,
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
    {
      headers: { "mcp-name": "search" },
    },
  ),
  post(
    "Mcp-Method with a response",
    400,
    { jsonrpc: "2.0", id: 1, result: {} },
    {
      headers: { "mcp-method": "tools/list" },
    },
  ),
  post("scopes in headers", 403, FORBIDDEN, {
    headers: { "x-scopes": "agents:api:run", scope: "agents:api:run", "mcp-param-scope": "agents:api:run" },
  }),
  post("a forbidden call with the revision 2026-07-28", 403, FORBIDDEN, {
    headers: { "mcp-protocol-version": "2026-07-28" },
  }),
  post(
    "a revision that does not exist",
    HARMLESS,
    { jsonrpc: "2.0", id: 1, method: "ping" },
    {
      headers: { "mcp-protocol-version": "1999-01-01" },
    },
  ),
  ...TYPES.map((type) => post(`the type ${JSON.stringify(type)}`, 415, text, typed(type))),
  post("no type", 415, text, typed(undefined)),
  post("two types", [403, 415], JSON.stringify(FORBIDDEN), {
    headers: { "content-type": ["text/plain", "application/json"] },
  }),
  post("two types, JSON first", [403, 415], JSON.stringify(FORBIDDEN), {
    headers: { "content-type": ["application/json", "text/plain"] },
  }),
  ...CODINGS.map((coding) =>
    post(`Content-Encoding ${coding}`, 415, gzipSync(text), { headers: { "content-encoding": coding } }),
  ),
  post("gzip that is not declared", 400, gzipSync(text)),
  post("Content-Encoding of plain JSON", 415, text, { headers: { "content-encoding": "gzip" } }),
];
