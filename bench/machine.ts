import { availableParallelism, cpus, release, type } from "node:os";

/** The machine that the figures depend on, and the day. */
export interface Machine {
  /** When it was measured: `2026-11-27`, in UTC. */
  readonly date: string;
  readonly node: string;
  readonly os: string;
  readonly arch: string;
  readonly cpu: string;
  readonly cores: number;
}

export const describeMachine = (): Machine => ({
  date: new Date().toISOString().slice(0, 10),
  node: process.version,
  os: `${type()} ${release().split(".", 2).join(".")}`,
  arch: process.arch,
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: availableParallelism(),
});
