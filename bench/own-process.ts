/**
 * Runs a part of a benchmark in its own process, so that the optimized code and heap of other parts do not
 * affect it.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs `program`, which reads its input with `readInput` and returns a result with `sendResult`. */
export function inOwnProcess<Result>(program: string, input: unknown): Promise<Result> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const execArgv = [...process.execArgv.filter((flag) => flag !== "--expose-gc"), "--expose-gc"];
  return new Promise((resolve, reject) => {
    const child = fork(file, [JSON.stringify(input)], { execArgv });
    child.once("message", (result) => resolve(result as Result));
    child.once("exit", (code) => reject(new Error(`${program} exited with ${code ?? "a signal"}.`)));
  });
}

export const readInput = (): unknown => JSON.parse(process.argv[2] ?? "null");

export function sendResult(result: object): void {
  process.send?.(result, () => process.exit());
}
