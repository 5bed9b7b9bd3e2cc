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

const COMPLETION = { ref: { type: "ref/prompt", name: "hello" }, argument: { name: "note", value: "" } };

const allowed = (revision?: unknown) =>
  modern("tools/call", { name: "docs_export", arguments: { doc: "a" } }, revision);

export const REVISION_CASES: readonly Hostile[] = [
  ...[...REMOVED, ...UNKNOWN].flatMap((method) => [
    refusal("a method by its header", 404, message(method, PARAMS), {
      headers: { "mcp-protocol-version": "2026-07-28" },
    }),
    refusal("a method by its _meta", 404, modern(method, PARAMS)),
    refusal("a method of a later revision", 404, modern(method, PARAMS, "2027-01-01")),
    refusal("a method behind a call", 404, [allowed(), modern(method, PARAMS)]),
    refusal("a method in front of a call", 404, [modern(method, PARAMS), allowed()]),
  ]),
  ...REVISIONS.flatMap((revision) =>
    CALLS.map(([, { method, params }]) =>
      refusal("a call of a revision", 403, modern(method, params, revision)),
    ),
  ),
  ...REVISIONS.filter((revision) => typeof revision === "string" && /^[\x20-\x7e]*$/.test(revision)).flatMap(
    (revision) => {
      const header = { "mcp-protocol-version": String(revision) };
      const headers = { ...headersOf("tools/call", "docs_export"), ...header };
      return [
        ...CALLS.map(([, body]) => refusal("a call with the header", 403, body, { headers: header })),
        ...REVISIONS.map((inMeta) => probe("two revisions", "clerk", allowed(inMeta), { headers })),
      ];
    },
  ),
  ...CALLS.map(([name, { method, params }]) =>
    refusal("a call with all its headers", 403, modern(method, params), { headers: headersOf(method, name) }),
  ),
  ...["docs_export", "docs_read", base64("docs_export")].map((name) =>
    refusal("a batch with Mcp-Name", 400, [allowed(), allowed()], { headers: headersOf("tools/call", name) }),
  ),
  ...[
    ["docs://salaries", "docs://handbook"],
    ["docs://handbook", "docs://salaries"],
    ["docs://handbook", "DOCS://handbook"],
    ["docs://handbook", "docs://h%61ndbook"],
    ["DOCS://handbook", "docs://handbook"],
  ].map(([uri = "", name = ""]) =>
    refusal("a resource with another Mcp-Name", 400, modern("resources/read", { uri }), {
      headers: headersOf("resources/read", name),
    }),
  ),
  ...["review", "payroll://{month}", ""].map((name) =>
    refusal("a completion with another Mcp-Name", 400, modern("completion/complete", COMPLETION), {
      headers: headersOf("completion/complete", name),
    }),
  ),
];
