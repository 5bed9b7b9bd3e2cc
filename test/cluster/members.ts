/** Processes of the example service, and the heap of each. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";

const MAIN = fileURLToPath(new URL("../../examples/knowledge-service/main.ts", import.meta.url));
const REPORTER = fileURLToPath(new URL("heap-reporter.ts", import.meta.url));

export interface Member {
  readonly url: string;
  /** The heap after a garbage collection, in bytes. */
  readonly heap: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** Starts a process of the example with a configuration and a store. */
export async function startMember(config: string, store: string): Promise<Member> {
  const child: ChildProcess = fork(MAIN, ["express", "--config", config, "--port", "0", "--store", store], {
    ...LONG_CHILD_LIMIT,
    execArgv: ["--expose-gc", "--import", "tsx", "--import", REPORTER],
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let out = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`The service did not start: ${out}`)));
    child.stdout?.on("data", (chunk) => {
      if (out.length < 10_000) out += String(chunk);
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(out) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  return {
    url,
    async heap() {
      child.send("heap");
      const [bytes] = (await once(child, "message")) as [number];
      return bytes;
    },
    async stop() {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}
