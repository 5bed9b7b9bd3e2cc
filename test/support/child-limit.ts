/** Options of every child process of a test: one that hangs ends, and fails its test, instead of standing still. */

/** `SIGKILL`, because a process whose thread is blocked handles no other signal. */
export const CHILD_LIMIT = { timeout: 25_000, killSignal: "SIGKILL" } as const;

/** For child processes that install, compile or build. */
export const LONG_CHILD_LIMIT = { timeout: 280_000, killSignal: "SIGKILL" } as const;
