/** A bounded queue for a sink that may be slow, hang, throw or be destroyed. */
import type { Writable } from "node:stream";
import { isPending } from "../../core/runtime/pending.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";

/** A stream, or a function that takes one line without its line break, and may return a promise. */
export type DecisionSink = { write(chunk: string): unknown } | ((line: string) => unknown);

/** The limit of all lines together, because a single line may contain many scopes. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

export class LineQueue {
  dropped = 0;
  /** How many dropped lines haven't been reported yet. */
  #unreported = 0;
  readonly #lines: string[] = [];
  #characters = 0;
  #running: Promise<void> | undefined;
  #resume = (): void => undefined;

  constructor(
    readonly sink: DecisionSink & Partial<Pick<Writable, "writable" | "on">>,
    private maxLines: number,
  ) {
    // Without a listener, an error of a stream would end the process.
    for (const event of ["error", "close", "drain"]) sink.on?.(event, () => this.#resume());
  }

  /** Adds a line if there is room for it, and returns whether there was. */
  add(render: () => string): boolean {
    if (this.#lines.length >= this.maxLines || this.#characters > MAX_CHARACTERS) return this.#drop(1);
    this.#running ??= this.#run();
    const line = render();
    this.#characters += line.length;
    return this.#lines.push(line) > 0;
  }

  async flush(): Promise<void> {
    // Keeps the process alive until the time limit, even if it only waits for a sink that hangs.
    const alive = setInterval(() => undefined, 1_000);
    await withinLimit(this.#running, "The sink").catch(() => undefined);
    clearInterval(alive);
  }

  async close(): Promise<void> {
    this.maxLines = 0;
    await this.flush();
    this.#drop(this.#lines.splice(0).length);
    this.#characters = 0;
  }

  #drop(count: number): false {
    const message = "The decision log drops records: its sink is slow, fails or is closed.";
    if (this.#unreported === 0 && count > 0) process.emitWarning(message, "ScopegateWarning");
    this.dropped += count;
    this.#unreported += count;
    return false;
  }

  async #run(): Promise<void> {
    // Lets requests run first.
    await new Promise(setImmediate);
    for (let sent = 1; this.#lines.length > 0; sent += 1) {
      const line = this.#lines.shift() ?? "";
      this.#characters -= line.length;
      if (!(await this.#send(line))) this.#drop(1);
      else await this.#report(this.#unreported);
      if (sent % 100 === 0) await new Promise(setImmediate);
    }
    this.#running = undefined;
  }

  async #report(dropped: number): Promise<void> {
    const line = JSON.stringify({ time: new Date().toISOString(), dropped });
    if (dropped > 0 && (await this.#send(line))) this.#unreported -= dropped;
  }

  /** Returns whether the sink has taken the line. */
  async #send(line: string): Promise<boolean> {
    const { sink } = this;
    try {
      if (sink.writable === false) return false;
      const result = typeof sink === "function" ? sink(line) : sink.write(`${line}\n`);
      if (isPending(result)) await result;
      if (result === false && sink.on) await new Promise<void>((resolve) => (this.#resume = resolve));
      return true;
    } catch {
      return false;
    }
  }
}
