/** Names beside a rule of `docs_*`, names of prototypes, and batches that mix every kind of message. */
import { COMPANY_SCOPES, COMPANY_TOOLS, type Colleague } from "../company.ts";
import { type Hostile, message, probe, refusal } from "./hostile.ts";
import { modern } from "./revisions.ts";

const COLLEAGUES = Object.keys(COMPANY_SCOPES) as Colleague[];
const tool = (name: unknown, args?: unknown) =>
  message("tools/call", { name, ...(args !== undefined && { arguments: args }) });

/** None of these has a rule, although some look like `docs_*`. */
const BESIDE = [
  ...["docs", "DOCS_read", "docsread", "my_docs_read", "Docs_read", "docs-read", "docs*", "docs.read"],
  "doc_s_read",
  ...[" docs_read", "\tdocs_read", "\u0000docs_read", "\uFEFFdocs_read", "\u200Bdocs_read"],
  "docs\u200B_read",
  ...["docs\uFF3Fread", "doc\u017F_read", "d\u043Ecs_read", "docs%5Fread", "docs\\u005fread", "/docs_read"],
  "x docs_read",
  ...["report ", "Report", "REPORT", "repo\u0280t", "report\u0000", "report,docs_read"],
  "tools/call docs_read",
  ...["__proto__", "constructor", "toString", "prototype", "hasOwnProperty", "__proto__docs_read"],
];

/** Names of `docs_*` that `docs_delete` and `docs_export` do not decide: the SDK must not run these two. */
const UNDER = [
  ...["docs_", "docs_*", "docs_**", "docs___proto__", "docs_constructor", "docs_READ", "docs_Delete"],
  "docs_DELETE",
  ...["docs_delete ", "docs_delete\u0000", "docs_delete\n", "docs_delete*", "docs_ delete"],
  "docs_d\u0435lete",
  ...["docs_%64elete", "docs_export ", "docs_export\u200B", "docs_Export", "docs_delete,docs_export"],
  "docs_../docs_delete",
  ...["docs_\uD800", `docs_${"x".repeat(10_000)}`, "docs_delete;", "docs_/delete", "docs_\\u0064elete"],
];

const WHERE = [
  ['{"name":"docs_export","arguments":{"doc":"b"},"__proto__":{"arguments":{"doc":"a"}}}', 403],
  ['{"__proto__":{"name":"docs_export","arguments":{"doc":"a"}}}', 400],
  ['{"__proto__":{"name":"docs_read"},"name":"docs_delete"}', 403],
  ['{"constructor":{"name":"docs_read"},"name":"docs_delete"}', 403],
  ['{"name":{"__proto__":"docs_read"}}', 400],
  ['{"name":"docs_read","arguments":{"__proto__":{"x":1},"__proto__":{"x":2}}}', 400],
] as const;

/** What `clerk` may do, each kind once. */
const ALLOWED: Readonly<Record<string, object>> = {
  list: message("tools/list", {}, 10),
  tool: { ...tool("docs_read"), id: 11 },
  export: { ...tool("docs_export", { doc: "a" }), id: 12 },
  read: message("resources/read", { uri: "payroll://may" }, 13),
  prompt: message("prompts/get", { name: "review", arguments: { agent_id: "web" } }, 14),
  notification: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } },
  response: { jsonrpc: "2.0", id: 99, result: {} },
};

/** What `clerk` may not do, and the status of a batch with it. */
const FORBIDDEN: Readonly<Record<string, readonly [number, unknown]>> = {
  "a tool": [403, tool("docs_delete")],
  "a tool beside docs_*": [403, tool("docsread")],
  "a tool of a prototype": [403, tool("__proto__")],
  "an argument": [403, tool("docs_export", { doc: "b" })],
  "an argument that is an array": [400, tool("docs_export", { doc: ["a"] })],
  "no argument": [403, tool("docs_export")],
  "an argument that is a fraction": [400, tool("docs_export", { doc: 1.5 })],
  "an argument that is an integer": [403, tool("docs_export", { doc: 1 })],
  "an argument in capitals": [400, tool("docs_export", { DOC: "a" })],
  "a resource": [403, message("resources/read", { uri: "docs://salaries" })],
  "a resource in capitals": [403, message("resources/read", { uri: "DOCS://salaries" })],
  "a resource of a template": [403, message("resources/read", { uri: "payroll://june" })],
  "a resource of another tenant": [403, message("resources/read", { uri: "tenant://globex/1" })],
  "a file behind dots": [403, message("resources/read", { uri: "file:///x/../private/a" })],
  "a subscription": [403, message("resources/subscribe", { uri: "payroll://june" })],
  "a second subscription": [
    403,
    message("subscriptions/listen", {
      notifications: { resourceSubscriptions: ["docs://handbook", "payroll://june"] },
    }),
  ],
  "a prompt": [403, message("prompts/get", { name: "other" })],
  "a prompt for another agent": [
    403,
    message("prompts/get", { name: "review", arguments: { agent_id: "api" } }),
  ],
  "a completion": [
    403,
    message("completion/complete", {
      ref: { type: "ref/resource", uri: "payroll://{month}" },
      argument: { name: "month", value: "" },
    }),
  ],
  "a wrong completion": [
    400,
    message("completion/complete", { ref: { type: "ref/tool", name: "docs_read" } }),
  ],
  "a task that is unknown": [200, message("tasks/result", { taskId: "unknown" })],
  "a removed method": [404, modern("ping")],
  "an unknown method": [403, message("tools/Call", { name: "docs_read" })],
  "Method in capitals": [400, { jsonrpc: "2.0", id: 1, METHOD: "ping" }],
  "PARAMS in capitals": [400, { jsonrpc: "2.0", id: 1, method: "tools/call", PARAMS: { name: "docs_read" } }],
  "a batch": [400, [tool("docs_read")]],
  null: [400, null],
};

export const MIXTURE_CASES: readonly Hostile[] = [
  ...COLLEAGUES.flatMap((sender) => [
    ...BESIDE.map((name) =>
      refusal("a tool beside docs_*", 403, tool(name, { doc: "a", team: "web" }), { sender }),
    ),
    ...[...UNDER, ...COMPANY_TOOLS.slice(0, 5)].map((name) =>
      probe("a tool under docs_*", sender, tool(name, { doc: "a" })),
    ),
  ]),
  ...WHERE.map(([params, status]) =>
    refusal("params", status, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`),
  ),
  ...Object.entries(FORBIDDEN).flatMap(([what, [status, forbidden]], index, all) => {
    const kinds = Object.values(ALLOWED);
    const [, [otherStatus, second]] = all[(index + 7) % all.length] ?? ["", [0, undefined]];
    return [
      ...kinds.flatMap((one) => [
        refusal(`${what} behind another message`, status, [one, forbidden]),
        refusal(`${what} in front of another message`, status, [forbidden, one]),
      ]),
      refusal(`${what} between all kinds`, status, kinds.toSpliced(4, 0, forbidden as object)),
      refusal(`${what} behind 99 calls`, status, [...Array<unknown>(99).fill(ALLOWED["tool"]), forbidden]),
      refusal(`${what} and what another row forbids`, [status, otherStatus], [forbidden, second]),
    ];
  }),
];
