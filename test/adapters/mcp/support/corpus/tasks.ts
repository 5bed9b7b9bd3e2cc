/** Tasks of another caller, by their ids in every spelling. */
import { type Hostile, message, refusal } from "./hostile.ts";
import { modern } from "./revisions.ts";

const spellingsOf = (id: string): readonly unknown[] => [
  ...[id, id.toUpperCase(), id.toLowerCase(), ` ${id}`, `${id} `, `${id}\n`, `${id}\u0000`, `\uFEFF${id}`],
  ...[
    id.replaceAll("-", "%2D"),
    id.replaceAll("-", "\u2010"),
    id.replace("k", "\u212A"),
    id.replace("s", "\u017F"),
  ],
  ...[
    id.slice(0, -1),
    `${id},x`,
    `x,${id}`,
    `${id}/../x`,
    `x/../${id}`,
    `"${id}"`,
    `/${id}`,
    `${id}#`,
    `${id}?x`,
  ],
  ...[id.repeat(2), `${id}*`, "*", "0", "x".repeat(100_000)],
  ...["__proto__", "constructor", "toString", "undefined", "null"],
];

const VERBS = ["get", "result", "cancel", "update"];

/** The id of a task of another caller, as values that some servers read as this id. */
export const coercedTaskCases = (victim: string): readonly Hostile[] =>
  VERBS.flatMap((verb) =>
    [[victim], [[victim]], { taskId: victim }, { toString: victim }, 0, true, null, ""].map((taskId) =>
      refusal("a task by another type", 400, message(`tasks/${verb}`, { taskId })),
    ),
  );

/** `victim` is of another caller, and `own` of the sender. */
export function taskCases(victim: string, own: string, sender: "clerk" | "director"): readonly Hostile[] {
  const refuse = (name: string, status: number, body: object | string) =>
    refusal(`a task of another caller ${name}`, status, body, { sender });
  return VERBS.flatMap((verb) => {
    const method = `tasks/${verb}`;
    const task = (taskId: unknown, id = 1) => message(method, { taskId }, id);
    const mine = task(own, 5);
    return [
      ...spellingsOf(victim).map((id) => refuse("by its id", 200, task(id))),
      refuse("behind one's own", 200, [mine, task(victim)]),
      refuse("in front of one's own", 200, [task(victim), mine]),
      refuse("behind a tool", 200, [message("tools/call", { name: "docs_read" }), task(victim)]),
      refuse("as a notification", 200, { ...task(victim), id: undefined }),
      refuse("beside an argument", 200, message(method, { taskId: victim, arguments: { taskId: own } })),
      ...(verb === "result" ? [] : [refuse("of 2026-07-28", 200, modern(method, { taskId: victim }))]),
      ...["TaskId", "taskID", "TASKID", "tas\u212AId", "ta\u017FkId"].flatMap((key) => [
        refuse("in another letter case", 400, message(method, { [key]: victim })),
        refuse("in another letter case, behind", 400, message(method, { taskId: own, [key]: victim })),
        refuse("in another letter case, in front", 400, message(method, { [key]: victim, taskId: own })),
      ]),
      ...["taskId", "task\\u0049d"].map((key) => {
        const params = `{"taskId":"${own}","${key}":"${victim}"}`;
        return refuse("twice", 400, `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`);
      }),
    ];
  });
}
