/**
 * The limits of child processes in tests: a process that hangs is ended, and fails its test. `SIGKILL`, because a
 * process whose thread is blocked handles no other signal.
 */
import { spawnSync, type SpawnSyncOptions, type SpawnSyncReturns } from "node:child_process";

export const CHILD_LIMIT = { timeout: 50_000, killSignal: "SIGKILL" } as const;

/** For child processes that install, compile or build, and for services that several tests use. */
export const LONG_CHILD_LIMIT = { timeout: 600_000, killSignal: "SIGKILL" } as const;

/** Runs a program to its end, and returns its status and its output as text. */
export const runChild = (
  file: string,
  args: readonly string[],
  options: SpawnSyncOptions,
): SpawnSyncReturns<string> => spawnSync(file, args, { ...LONG_CHILD_LIMIT, ...options, encoding: "utf8" });
