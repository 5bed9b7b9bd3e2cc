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
      refusal(`tasks/${verb} of ${JSON.stringify(taskId)}`, 400, message(`tasks/${verb}`, { taskId })),
    ),
  );

/** `victim` is of another caller, and `own` of the sender. */
export function taskCases(victim: string, own: string, sender: "clerk" | "director"): readonly Hostile[] {
  const more = { sender };
  return VERBS.flatMap((verb) => {
    const task = (taskId: unknown, id = 1) => message(`tasks/${verb}`, { taskId }, id);
    const mine = task(own, 5);
    return [
      ...spellingsOf(victim).map((id) =>
        refusal(`tasks/${verb} of ${JSON.stringify(id).slice(0, 40)} by ${sender}`, 200, task(id), more),
      ),
      refusal(`tasks/${verb} behind its own by ${sender}`, 200, [mine, task(victim)], more),
      refusal(`tasks/${verb} in front of its own by ${sender}`, 200, [task(victim), mine], more),
      refusal(
        `tasks/${verb} behind a tool by ${sender}`,
        200,
        [message("tools/call", { name: "docs_read" }), task(victim)],
        more,
      ),
      refusal(`tasks/${verb} as a notification by ${sender}`, 200, { ...task(victim), id: undefined }, more),
      refusal(
        `tasks/${verb} as an argument by ${sender}`,
        200,
        message(`tasks/${verb}`, { taskId: victim, arguments: { taskId: own } }),
        more,
      ),
      ...(verb === "result"
        ? []
        : [
            refusal(
              `tasks/${verb} of 2026-07-28 by ${sender}`,
              200,
              modern(`tasks/${verb}`, { taskId: victim }),
              more,
            ),
          ]),
      ...["TaskId", "taskID", "TASKID", "tas\u212AId", "ta\u017FkId"].flatMap((key) => [
        refusal(
          `tasks/${verb} with ${key} by ${sender}`,
          400,
          message(`tasks/${verb}`, { [key]: victim }),
          more,
        ),
        refusal(
          `tasks/${verb} with ${key} behind by ${sender}`,
          400,
          message(`tasks/${verb}`, { taskId: own, [key]: victim }),
          more,
        ),
        refusal(
          `tasks/${verb} with ${key} in front by ${sender}`,
          400,
          message(`tasks/${verb}`, { [key]: victim, taskId: own }),
          more,
        ),
      ]),
      ...[`{"taskId":"${own}","taskId":"${victim}"}`, `{"taskId":"${own}","task\\u0049d":"${victim}"}`].map(
        (params) =>
          refusal(
            `tasks/${verb} of ${params} by ${sender}`,
            400,
            `{"jsonrpc":"2.0","id":1,"method":"tasks/${verb}","params":${params}}`,
            more,
          ),
      ),
    ];
  });
}
