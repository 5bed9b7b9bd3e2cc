/** Programs of the examples in their own processes, as a user runs them. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { CHILD_LIMIT } from "../support/child-limit.ts";

export type Program = ChildProcessByStdio<null, Readable, Readable>;

/** Starts a program of the examples in its own process. */
export const start = (file: string, ...args: readonly string[]): Program =>
  spawn(process.execPath, ["--import", "tsx", file, ...args], {
    ...CHILD_LIMIT,
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: ["ignore", "pipe", "pipe"],
  });

/** Waits for the end of a program. */
export async function readAll(
  program: Program,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  let [out, err] = ["", ""];
  program.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  program.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(program, "close")) as [number | null];
  return { code, out, err };
}

/** Ends a program with a signal, and returns its exit code. */
export async function stop(program: Program, signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
  program.kill(signal);
  const [code] = (await once(program, "close")) as [number | null];
  return code;
}

/** Collects the output, and waits for lines in it. */
export function follow(program: Program): {
  readonly until: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly text: () => string;
} {
  let text = "";
  const waiting = new Set<() => void>();
  program.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    for (const check of waiting) check();
  });
  return {
    text: () => text,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = pattern.exec(text);
          if (!found) return;
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        program.once("close", () =>
          reject(new Error(`The program exited without printing ${String(pattern)}: ${text}`)),
        );
        check();
      }),
  };
}
