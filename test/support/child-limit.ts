/**
 * The limits of child processes in tests: a process that hangs is ended, and fails its test. `SIGKILL`, because a
 * process whose thread is blocked handles no other signal.
 */
export const CHILD_LIMIT = { timeout: 50_000, killSignal: "SIGKILL" } as const;

/** For child processes that install, compile or build, and for services that several tests use. */
export const LONG_CHILD_LIMIT = { timeout: 600_000, killSignal: "SIGKILL" } as const;
