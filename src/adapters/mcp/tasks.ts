/** Tasks: the results of calls that a client fetches later. Only the caller of the call may see them. */
import type { Operation } from "../../capabilities/mcp-operations/operation-key.ts";
import { orUndefined } from "../../core/errors.ts";
import { isIdentifier, type Json } from "../../core/runtime/json.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { andThenAll } from "./and-then-all.ts";
import { ownObject } from "./messages.ts";

/** Longer arguments aren't remembered, so a scope with one of them must be granted for all values. */
const MAX_ARGUMENT = 200;
const MAX_ARGUMENTS = 20;

/** Writes the operation of a task, with the arguments that can fill a scope. */
export function writeOperation({ method, name, parameters }: Operation): string {
  const texts = Object.entries(parameters).filter(
    ([key, value]) => isIdentifier(value) && key.length + String(value).length <= MAX_ARGUMENT,
  );
  return JSON.stringify([method, name, Object.fromEntries(texts.slice(0, MAX_ARGUMENTS))]);
}

/** Reads what `writeOperation` wrote. For a missing argument, only a grant for all values is enough. */
export function readOperation(note: string): Operation | undefined {
  const [method, name, parameters] =
    orUndefined(() => JSON.parse(note) as [string, string | null, Json]) ?? [];
  if (method === undefined || parameters === undefined) return undefined;
  return { method, name: name ?? undefined, parameters, isPartial: true };
}

/** Returns the id of the task that a response starts. Until revision 2025-11-25, it is in `task`. */
export function findStartedTask(message: Json): string | undefined {
  const result = ownObject(message, "result");
  if (!result) return undefined;
  const task = result["resultType"] === "task" ? result : ownObject(result, "task");
  const taskId = task?.["taskId"];
  return typeof taskId === "string" && taskId !== "" ? taskId : undefined;
}

/** Removes the tasks that the caller may not see from a message with the result of `tasks/list`. */
export function filterTasks(message: Json, isListed: (taskId: string) => Pending<boolean>): Pending<Json> {
  const result = ownObject(message, "result");
  const tasks: unknown = result?.["tasks"];
  if (!result || !Array.isArray(tasks)) return message;
  const listed = tasks.map((task: Json) => isListed(String((Object(task) as Json)["taskId"])));
  return andThenAll(listed, (areListed) => ({
    ...message,
    result: { ...result, tasks: tasks.filter((_, index) => areListed[index]) as readonly unknown[] },
  }));
}
