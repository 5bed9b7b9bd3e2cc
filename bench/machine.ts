import { availableParallelism, cpus, release, type } from "node:os";

/** The environment of a measurement. */
export interface Machine {
  readonly node: string;
  readonly os: string;
  readonly arch: string;
  readonly cpu: string;
  readonly cores: number;
}

export const describeMachine = (): Machine => ({
  node: process.version,
  os: `${type()} ${release().split(".", 2).join(".")}`,
  arch: process.arch,
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: availableParallelism(),
});
