/** The revision 2026-07-28: removed and unknown methods, and headers that differ from the body. */
import { type Hostile, message, probe, refusal } from "./hostile.ts";

const REVISION = "io.modelcontextprotocol/protocolVersion";
const CLIENT = {
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
};

/** A message of a revision. */
export const modern = (method: string, params: object = {}, revision: unknown = "2026-07-28") =>
  message(method, { ...params, _meta: { [REVISION]: revision, ...CLIENT } });

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;
export const headersOf = (method: string, name?: string): NonNullable<Hostile["headers"]> => ({
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name }),
});

const REMOVED = [
  ...["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"],
  ...["tasks/list", "tasks/result"],
];
const UNKNOWN = [
  ...["tools/Call", "TOOLS/LIST", "tools/call/", "tools//list", "tools", "x", "*", "__proto__"],
  "constructor",
  ...["toString", "hasOwnProperty", "tasks/send", "tasks/Get", "resources/Read", "prompts/"],
  "server/Discover",
  ...["sampling/createMessage", "elicitation/create", "roots/list", "rpc.discover", "tools/call\u0000"],
  "Ping",
];
const PARAMS = { name: "docs_delete", uri: "docs://salaries", taskId: "Task-0-k", arguments: { doc: "b" } };

/** Revisions that are the same, a later one, or none. */
const REVISIONS: readonly unknown[] = [
  ...["2026-07-28", "2026-07-29", "2027-01-01", "9999-99-99", "2026-7-28", "2026-07-28x", "2025-11-25"],
  ...["2025-06-18", "0000-00-00", "", "DRAFT-2026", "２026-07-28", null, 20260728, ["2026-07-28"], {}, true],
];

const CALLS = [
  ["docs_export", message("tools/call", { name: "docs_export", arguments: { doc: "b" } })],
  ["docs_delete", message("tools/call", { name: "docs_delete", arguments: { doc: "a" } })],
  ["docs://salaries", message("resources/read", { uri: "docs://salaries" })],
  ["payroll://june", message("resources/read", { uri: "payroll://june" })],
  ["review", message("prompts/get", { name: "review", arguments: { agent_id: "api" } })],
] as const;

const allowed = (revision?: unknown) =>
  modern("tools/call", { name: "docs_export", arguments: { doc: "a" } }, revision);

export const REVISION_CASES: readonly Hostile[] = [
  ...[...REMOVED, ...UNKNOWN].flatMap((method) => [
    refusal(`${JSON.stringify(method)} by its header`, 404, message(method, PARAMS), {
      headers: { "mcp-protocol-version": "2026-07-28" },
    }),
    refusal(`${JSON.stringify(method)} by its _meta`, 404, modern(method, PARAMS)),
    refusal(`${JSON.stringify(method)} of a later revision`, 404, modern(method, PARAMS, "2027-01-01")),
    refusal(`${JSON.stringify(method)} behind a call`, 404, [allowed(), modern(method, PARAMS)]),
    refusal(`${JSON.stringify(method)} in front of a call`, 404, [modern(method, PARAMS), allowed()]),
  ]),
  ...REVISIONS.flatMap((inMeta) =>
    CALLS.map(([name, body]) =>
      refusal(`${name} of the revision ${JSON.stringify(inMeta)}`, 403, {
        ...body,
        params: { ...body.params, _meta: { [REVISION]: inMeta, ...CLIENT } },
      }),
    ),
  ),
  ...REVISIONS.filter((revision) => typeof revision === "string" && /^[\x20-\x7e]*$/.test(revision)).flatMap(
    (inHeader) => [
      ...CALLS.map(([name, body]) =>
        refusal(`${name} with the header ${JSON.stringify(inHeader)}`, 403, body, {
          headers: { "mcp-protocol-version": String(inHeader) },
        }),
      ),
      ...REVISIONS.map((inMeta) =>
        probe(
          `the revision ${JSON.stringify(inHeader)} in the header, and ${JSON.stringify(inMeta)}`,
          "clerk",
          allowed(inMeta),
          {
            headers: { ...headersOf("tools/call", "docs_export"), "mcp-protocol-version": String(inHeader) },
          },
        ),
      ),
    ],
  ),
  ...CALLS.map(([name, { method, params }]) =>
    refusal(`a forbidden ${name} with all its headers`, 403, modern(method, params), {
      headers: headersOf(method, name),
    }),
  ),
  ...["docs_export", "docs_read", base64("docs_export")].map((name) =>
    refusal(`a batch with Mcp-Name ${name}`, 400, [allowed(), allowed()], {
      headers: headersOf("tools/call", name),
    }),
  ),
  ...[
    ["docs://salaries", "docs://handbook"],
    ["docs://handbook", "docs://salaries"],
    ["docs://handbook", "DOCS://handbook"],
    ["docs://handbook", "docs://h%61ndbook"],
    ["DOCS://handbook", "docs://handbook"],
  ].map(([uri = "", name = ""]) =>
    refusal(`reads ${uri} with Mcp-Name ${name}`, 400, modern("resources/read", { uri }), {
      headers: headersOf("resources/read", name),
    }),
  ),
  ...["review", "payroll://{month}", ""].map((name) =>
    refusal(
      `completes hello with Mcp-Name ${JSON.stringify(name)}`,
      400,
      modern("completion/complete", {
        ref: { type: "ref/prompt", name: "hello" },
        argument: { name: "note", value: "" },
      }),
      { headers: headersOf("completion/complete", name) },
    ),
  ),
];
