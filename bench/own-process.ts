/** Runs a part of the benchmarks in a process of its own: it finds neither code warmed up for another nor a heap filled by it. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** `program` sends its one result; it reads its input with `readInput`. */
export function inOwnProcess<Result>(program: string, input: unknown): Promise<Result> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const execArgv = [...process.execArgv.filter((flag) => flag !== "--expose-gc"), "--expose-gc"];
  return new Promise((resolve, reject) => {
    const child = fork(file, [JSON.stringify(input)], { execArgv });
    child.once("message", (result) => resolve(result as Result));
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code ?? "a signal"}.`)));
  });
}

export const readInput = (): unknown => JSON.parse(process.argv[2] ?? "null");

export function sendResult(result: object): void {
  process.send?.(result, () => process.exit());
}
