/** Runs a part of the benchmarks in its own process, with a new heap and without code that was optimized for another part. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** `program` reads its input with `readInput` and sends one result with `sendResult`. */
export function inOwnProcess<Result>(program: string, input: unknown): Promise<Result> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const execArgv = [...process.execArgv.filter((flag) => flag !== "--expose-gc"), "--expose-gc"];
  return new Promise((resolve, reject) => {
    const child = fork(file, [JSON.stringify(input)], { execArgv });
    child.once("message", (result) => resolve(result as Result));
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code ?? "a signal"}.`)));
  });
}

/** Returns the next message of a child, or throws if it exits before. */
export async function hear<Message>(child: ChildProcess): Promise<Message> {
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error("A process of the benchmark exited."));
  child.once("exit", onExit);
  try {
    const [message] = (await once(child, "message", { signal: ended.signal })) as [Message];
    return message;
  } finally {
    child.off("exit", onExit);
  }
}

export const readInput = (): unknown => JSON.parse(process.argv[2] ?? "null");

export function sendResult(result: object): void {
  process.send?.(result, () => process.exit());
}
