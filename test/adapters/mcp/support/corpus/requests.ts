/** Callers without a right to the endpoint, and other methods and spellings of its path. */
import { ALLOWED, FORBIDDEN, type Hostile, post, type Sender } from "./hostile.ts";

const CALLS = { search: ALLOWED, run_agent: FORBIDDEN };
const STRANGERS: readonly Sender[] = ["anonymous", "expired", "wrong audience", "another issuer", "unsigned"];

const CREDENTIALS = [
  ...["", "Bearer", "Bearer ", "Bearer x", "Bearer null", "Bearer undefined", "Bearer a.b.c"],
  "Basic cnVubmVyOng=",
  ...["Bearer eyJhbGciOiJub25lIn0.e30.", "Token x", "Digest x", "bearer", "Bearer x, Bearer y", "Bearer \tx"],
];

const WAYS = ["PUT", "PATCH", "QUERY", "PROPFIND", "LOCK", "TRACE", "M-SEARCH"];
const PATHS = [
  ...["/MCP", "/mcp/", "/%6dcp", "/mc%70", "//mcp", "/./mcp", "/x/../mcp", "/mcp%2f", "/mcp;a=b", "/mcp/."],
  "/Mcp",
  ...["/mcp%00", "/mcp%20", "/mcp\\", "/mcp?x=1", "/mcp?access_token=x", "/mcp#x", "http://127.0.0.1/mcp"],
  "/mcp//",
  ...["/", "/other", "/mcp/search", "/.well-known/oauth-protected-resource/../../mcp", "*", "/mcp%"],
  "/%2e/mcp",
];
const OVERRIDES = [
  ...["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"],
];

/** Whatever is no endpoint of the application may be refused, or not be found. */
const REFUSED = [400, 401, 403, 404, 405, 415, 501] as const;

export const REQUEST_CASES: readonly Hostile[] = [
  ...STRANGERS.flatMap((sender) =>
    Object.entries(CALLS).map(([tool, body]) =>
      post(`${tool} of a caller: ${sender}`, 401, body, { sender }),
    ),
  ),
  ...STRANGERS.flatMap((sender) =>
    ["GET", "DELETE", "PUT"].map((method) => ({
      name: `${method} of a caller: ${sender}`,
      status: [401],
      method,
      sender,
    })),
  ),
  ...["tools/list", "ping", "initialize", "notifications/initialized", "server/discover"].map((method) =>
    post(`anonymous ${method}`, 401, { jsonrpc: "2.0", id: 1, method }, { sender: "anonymous" }),
  ),
  ...CREDENTIALS.map((authorization) =>
    post(`Authorization ${JSON.stringify(authorization)}`, [400, 401], ALLOWED, {
      sender: "anonymous",
      headers: { authorization },
    }),
  ),
  post("search without its scope", 403, ALLOWED, { sender: "nobody" }),
  post("run_agent without its scope", 403, FORBIDDEN, { sender: "reader" }),
  post("a token in the body", 401, { ...ALLOWED, access_token: "x" }, { sender: "anonymous" }),
  ...WAYS.map((method) => post(`${method} of a forbidden call`, [...REFUSED], FORBIDDEN, { method })),
  ...PATHS.map((path) => post(`a forbidden call to ${path}`, [...REFUSED], FORBIDDEN, { path })),
  ...OVERRIDES.flatMap((field) =>
    ["GET", "DELETE", "/other"].map((value) =>
      post(`${field}: ${value}`, 403, FORBIDDEN, { headers: { [field]: value } }),
    ),
  ),
  ...OVERRIDES.slice(0, 3).map((field) => ({
    ...post(`${field} with GET`, [...REFUSED, 200, 202, 406], FORBIDDEN, {
      method: "GET",
      headers: { [field]: "POST" },
    }),
  })),
];
