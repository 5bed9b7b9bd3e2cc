import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createSandbox } from "./sandbox.ts";
import type { Finding, Task } from "./worker.ts";

/** A mutant that runs longer than its tests may take is in an endless loop. */
const LIMIT_MS = 300_000;

/** A process with a copy of the repository. It is replaced after a mutant that never ends. */
export class WorkerProcess {
  readonly #root: string;
  readonly #sandbox: string;
  #child: ChildProcess | undefined;

  constructor(root: string, sandbox: string) {
    this.#root = root;
    this.#sandbox = sandbox;
  }

  async run(task: Task): Promise<Finding> {
    if (task.tests.length === 0) return { kind: "survived" };
    this.#child ??= await this.#start();
    const child = this.#child;
    child.send(task);
    const limit = AbortSignal.timeout(LIMIT_MS + task.seconds * 1000);
    try {
      const [finding] = (await once(child, "message", { signal: limit })) as [Finding];
      return finding;
    } catch {
      this.stop();
      return { kind: "killed", test: "timeout" };
    }
  }

  stop(): void {
    // Its group, because the tests run in a process of their own.
    if (this.#child?.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    this.#child = undefined;
  }

  async #start(): Promise<ChildProcess> {
    createSandbox(this.#root, this.#sandbox);
    const worker = fileURLToPath(new URL("worker.ts", import.meta.url));
    const options = { detached: true, stdio: ["ignore", "ignore", "inherit", "ipc"] as never };
    // eslint-disable-next-line no-restricted-syntax -- `run` ends it.
    const child = fork(worker, [this.#sandbox], { ...options, cwd: this.#sandbox });
    await once(child, "message");
    return child;
  }
}
