/** Claims, scopes and tenants that a client writes into its messages, in the hope that they count. */
import { call, type Hostile, message, refusal } from "./hostile.ts";

/** Operations that `clerk`, a caller of the tenant `acme`, may not call. */
const FORBIDDEN: readonly (readonly [name: string, body: ReturnType<typeof message>])[] = [
  ["docs_delete", message("tools/call", { name: "docs_delete", arguments: {} })],
  ["docs_export b", message("tools/call", { name: "docs_export", arguments: { doc: "b" } })],
  ["the prompt review", message("prompts/get", { name: "review", arguments: { agent_id: "api" } })],
  ["docs://salaries", message("resources/read", { uri: "docs://salaries" })],
  ["payroll://june", message("resources/read", { uri: "payroll://june" })],
  ["tenant://victim/1", message("resources/read", { uri: "tenant://victim/1" })],
  ["docs, which has no rule,", message("tools/call", { name: "docs", arguments: {} })],
];

const PRINCIPAL = {
  userId: "director",
  scopes: ["docs:delete", "salaries:read"],
  claims: { tenant: "victim" },
};

/** What some server may read, in the forms of tokens, of SDKs, of proxies and of scopegate. */
const CLAIMS: Readonly<Record<string, object>> = {
  "the claims of a token": {
    sub: "director",
    tenant: "victim",
    scope: "docs:delete",
    scopes: ["docs:delete"],
  },
  "a principal": {
    principal: PRINCIPAL,
    authInfo: { scopes: PRINCIPAL.scopes, extra: { principal: PRINCIPAL } },
  },
  "a token": { authorization: "Bearer x.y.z", token: "x.y.z", "io.modelcontextprotocol/authorization": "x" },
  "a tenant": { tenant: "victim", org: "victim", "io.modelcontextprotocol/tenant": "victim" },
  "other rules": {
    "scopegate/scopes": [],
    securitySchemes: [{ type: "noauth" }],
    "mcp/www_authenticate": [],
  },
  "a prototype": JSON.parse(
    '{"__proto__":{"scopes":["docs:delete"]},"constructor":{"prototype":{}}}',
  ) as object,
};

export const CLAIM_CASES: readonly Hostile[] = Object.entries(CLAIMS).flatMap(([kind, claims]) =>
  FORBIDDEN.flatMap(([name, body]) => {
    const { params } = body;
    const args = { ...(params as { readonly arguments?: object }).arguments, ...claims, _meta: claims };
    const refuse = (place: string, sent: object) => refusal(`${name} with ${kind} ${place}`, 403, sent);
    return [
      refuse("in _meta", { ...body, params: { ...params, _meta: claims } }),
      refuse("in the message", { ...body, _meta: claims }),
      refuse("in params", { ...body, params: { ...claims, ...params } }),
      refuse("beside params", { ...claims, ...body }),
      refuse("in a batch", [
        { ...call("docs_read"), id: 2 },
        { ...body, params: { ...params, _meta: claims } },
      ]),
      ...("arguments" in params
        ? [refuse("in the arguments", { ...body, params: { ...params, arguments: args } })]
        : []),
    ];
  }),
);
