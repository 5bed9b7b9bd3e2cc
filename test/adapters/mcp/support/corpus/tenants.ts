/** Requests of a caller of the tenant `acme` that must not act for the tenant `victim`. */
import { call, message } from "./hostile.ts";
import type { Raw } from "../send.ts";

const VICTIM = "/t/victim/mcp";

/** What a client may send beside the path, in the hope that it counts instead of the path. */
const CLAIMS: readonly object[] = [
  { org: "acme" },
  { org: "acme", Org: "acme" },
  { org: ["acme"] },
  { params: { org: "acme" } },
  { _meta: { org: "acme" } },
];

const META = [
  { org: "acme", org_id: "acme", "io.modelcontextprotocol/tenant": "acme" },
  { authInfo: { extra: { principal: { claims: { org_id: "acme" } } } } },
  { scopes: ["orgs:victim:use", "docs:read"], claims: { org_id: "victim" }, sub: "admin" },
  { "scopegate/scopes": [], "mcp/www_authenticate": [] },
];

const HEADERS = [
  { "x-org": "acme", "x-forwarded-prefix": "/t/acme/mcp", "x-original-url": "/t/acme/mcp" },
  { "x-rewrite-url": "/t/acme/mcp", "x-forwarded-uri": "/t/acme/mcp", referer: "/t/acme/mcp" },
  { "mcp-param-org": "acme" },
];

const PATHS = [
  VICTIM,
  "/t/%76ictim/mcp",
  "/T/victim/MCP",
  "/t/victim/mcp/",
  "/t/victim/mcp?org=acme",
  "/t/victim/mcp?path=/t/acme/mcp",
  "/t/acme/../victim/mcp",
  "/t/acme/%2e%2e/victim/mcp",
  "/t/acme%2f..%2fvictim/mcp",
  "/t/victim;org=acme/mcp",
  "/t//victim/mcp",
  "/t/victim%00acme/mcp",
  "http://127.0.0.1/t/victim/mcp",
  "http://127.0.0.1?/t/acme/mcp/../../victim/mcp",
  "//t/acme/mcp/../../victim/mcp",
];

const post = (path: string, body: object, headers: Raw["headers"] = {}): Raw => ({
  path,
  headers,
  body: JSON.stringify(body),
});

export const TENANT_CASES: readonly Raw[] = [
  ...PATHS.map((path) => post(path, call("search", { org: "acme" }))),
  ...CLAIMS.map((claims) => post(VICTIM, call("search", claims))),
  ...META.map((_meta) => post(VICTIM, call("search", {}, { params: { name: "search", _meta } }))),
  ...META.map((_meta) => post(VICTIM, { ...call("search", { org: "acme" }), _meta })),
  ...HEADERS.map((headers) => post(VICTIM, call("search", { org: "acme" }), headers)),
  post(VICTIM, [call("search", { org: "acme" }), call("search", {}, { id: 2 })]),
  post(VICTIM, message("tools/call", { name: "search", org: "acme", arguments: {} })),
];
