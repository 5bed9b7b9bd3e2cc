/** Properties in another letter case, twice, and with escapes, at each level that decides. */
import { type Hostile, message, probe, refusal } from "./hostile.ts";

type Json = Readonly<Record<string, unknown>>;

const review = message("prompts/get", { name: "review", arguments: { agent_id: "web" } });
/** Requests that `clerk` may send, and a value that it may not write at each place. */
const PLACES: readonly (readonly [path: string, allowed: Json, other: unknown])[] = [
  ["jsonrpc", message("ping"), "1.0"],
  ["id", message("ping"), 7],
  ["method", message("ping"), "tools/call"],
  ["params", message("tools/call", { name: "docs_read" }), { name: "docs_delete" }],
  ["result", { jsonrpc: "2.0", id: 1, result: {} }, { x: 1 }],
  ["error", { jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } }, null],
  ["params.name", message("tools/call", { name: "docs_read" }), "docs_delete"],
  ["params.arguments", message("tools/call", { name: "docs_export", arguments: { doc: "a" } }), { doc: "b" }],
  ["params.arguments.doc", message("tools/call", { name: "docs_export", arguments: { doc: "a" } }), "b"],
  ["params.uri", message("resources/read", { uri: "payroll://may" }), "payroll://june"],
  ["params.uri", message("resources/subscribe", { uri: "payroll://may" }), "payroll://june"],
  ["params.name", review, "other"],
  ["params.arguments", review, {}],
  ["params.arguments.agent_id", review, "api"],
  ["params.task", message("tools/call", { name: "report", arguments: { team: "web" }, task: {} }), null],
  ["params._meta", message("tools/call", { name: "docs_read", _meta: {} }), { x: 1 }],
  ["params.taskId", message("tasks/get", { taskId: "unknown" }), "Task-0-k"],
  ["params.taskId", message("tasks/result", { taskId: "unknown" }), "Task-0-k"],
  ["params.taskId", message("tasks/cancel", { taskId: "unknown" }), "Task-0-k"],
  ["params.ref", completion(), { type: "ref/prompt", name: "review" }],
  ["params.ref.type", completion(), "ref/resource"],
  ["params.ref.name", completion(), "review"],
  ["params.ref.uri", completion({ type: "ref/resource", uri: "file:///{+path}" }), "payroll://{month}"],
  ["params.argument", completion(), { name: "agent_id", value: "" }],
  ["params.context", completion(), { arguments: { agent_id: "api" } }],
  ["params.argument.name", completion({ type: "ref/prompt", name: "review" }), "agent_id"],
  ["params.context.arguments", completion({ type: "ref/prompt", name: "review" }), { agent_id: "api" }],
  ["params.notifications", listening(), { resourceSubscriptions: ["docs://salaries"] }],
  ["params.notifications.resourceSubscriptions", listening(), ["docs://salaries"]],
];

function completion(ref: object = { type: "ref/prompt", name: "hello" }): Json {
  const argument = { name: "note", value: "" };
  return message("completion/complete", { ref, argument, context: { arguments: { agent_id: "web" } } });
}
function listening(): Json {
  return message("subscriptions/listen", { notifications: { resourceSubscriptions: ["docs://handbook"] } });
}

/** Ways in which parsers that ignore letter case write a key. */
const CASES: readonly ((key: string) => string)[] = [
  (key) => key.toUpperCase(),
  (key) => key.replace(/[a-z]/, (letter) => letter.toUpperCase()),
  (key) => key.slice(0, -1) + key.slice(-1).toUpperCase(),
  (key) => key.replace("s", "\u017F"),
  (key) => key.replace("k", "\u212A"),
  (key) => key.replace("s", "\\u017f").toUpperCase().replace("\\U017F", "\\u017f"),
  (key) => key.replace("i", "\u0131"),
];

/** The first or every character as an escape: the same key for a parser, another one for a search. */
const ESCAPES: readonly ((key: string) => string)[] = [
  (key) => key,
  (key) => escapeOf(key.charAt(0)) + key.slice(1),
  (key) => key.replace(/./g, escapeOf),
  (key) => key.slice(0, -1) + escapeOf(key.slice(-1)).replace(/[a-f]/g, (digit) => digit.toUpperCase()),
];
const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

type Position = "in place of it" | "in front of it" | "behind it";
const POSITIONS: readonly Position[] = ["in place of it", "in front of it", "behind it"];

/** Renders a message with another key beside the one at a path, or in place of it. `key` can have escapes. */
function withKey(root: Json, path: string, key: string, other: unknown, position: Position): string {
  const [last = "", ...parents] = path.split(".").toReversed();
  const render = (value: Json, names: readonly string[]): string => {
    const [name, ...deeper] = names;
    const members = Object.entries(value).flatMap(([each, child]) => {
      const member = (text: string) => `${JSON.stringify(each)}:${text}`;
      if (name !== undefined)
        return member(each === name ? render(child as Json, deeper) : JSON.stringify(child));
      if (each !== last) return member(JSON.stringify(child));
      const own = member(JSON.stringify(child));
      if (position === "in place of it") return `"${key}":${JSON.stringify(child)}`;
      const added = `"${key}":${JSON.stringify(other)}`;
      return position === "behind it" ? [own, added] : [added, own];
    });
    return `{${members.join(",")}}`;
  };
  return render(root, parents.toReversed());
}

export const KEY_CASES: readonly Hostile[] = PLACES.flatMap(([path, allowed, other]) => {
  const name = path.split(".").at(-1) ?? "";
  const write = (key: string, position: Position) => withKey(allowed, path, key, other, position);
  const shown = `${path} of ${String(allowed["method"])}`;
  const spelled = new Set(CASES.map((change) => change(name)).filter((key) => key !== name));
  return [
    ...[...spelled].flatMap((key) =>
      POSITIONS.map((position) =>
        refusal(`${shown}, spelled ${key}, ${position}`, 400, write(key, position)),
      ),
    ),
    // The same key with escapes is the key.
    ...ESCAPES.slice(1).map((change) =>
      probe(`${shown} as ${change(name)}`, "clerk", write(change(name), "in place of it")),
    ),
    ...ESCAPES.flatMap((change) =>
      (["in front of it", "behind it"] as const).flatMap((position) => {
        const body = write(change(name), position);
        return [body, `[${body}]`].map((each) => refusal(`${shown} twice, ${position}`, 400, each));
      }),
    ),
    // These are not the deciding keys, however they look: the request has no such property.
    ...[
      `${name} `,
      ` ${name}`,
      `${name}\\u0000`,
      `\\ufeff${name}`,
      `${name}\\u200b`,
      `${name}[]`,
      "__proto__",
    ].map((key) => probe(`${shown} beside ${key}`, "clerk", write(key, "behind it"))),
  ];
});
