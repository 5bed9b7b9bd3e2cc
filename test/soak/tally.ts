/** What came back, counted, and what was wrong with it. */
import { createHistogram } from "node:perf_hooks";
import { expectedOf } from "./expected.ts";
import { type IssuerHistory } from "./history.ts";
import { type Answered } from "./load.ts";
import { type Kind, KINDS } from "./tokens.ts";

export interface Count {
  requests: number;
  readonly byStatus: Map<number, number>;
  /** Answers that were given where another one would have been right as well. */
  inWindow: number;
  violations: number;
}

const SHOWN = 5;

export class Tally {
  readonly #history: IssuerHistory;
  readonly #counts = new Map<string, Map<Kind, Count>>();
  /** Of the answers, in milliseconds. */
  readonly latency = createHistogram();
  readonly firstViolations: string[] = [];

  constructor(history: IssuerHistory, services: readonly string[]) {
    this.#history = history;
    for (const service of services) this.#counts.set(service, new Map(KINDS.map((kind) => [kind, empty()])));
  }

  add({ service, shot, sent, answered, status }: Answered): void {
    const count = this.#counts.get(service)?.get(shot.kind);
    if (!count) throw new Error(`Nobody counts ${shot.kind} for ${service}.`);
    const right = expectedOf(shot, sent, answered, this.#history);
    count.requests += 1;
    count.byStatus.set(status, (count.byStatus.get(status) ?? 0) + 1);
    if (right.length > 1) count.inWindow += 1;
    this.latency.record(Math.max(answered - sent, 1));
    if (right.some((one) => one === status)) return;
    count.violations += 1;
    if (this.firstViolations.length === SHOWN) return;
    const at = ((answered - this.#history.startedAt) / 1_000).toFixed(1);
    const said = `${status === 0 ? "no answer" : status} instead of ${right.join(" or ")}`;
    this.firstViolations.push(`${at} s, ${service}, ${shot.kind}, ${said}, ${this.#history.phase}`);
  }

  rows(): readonly (readonly [service: string, kind: Kind, count: Count])[] {
    return [...this.#counts].flatMap(([service, kinds]) =>
      [...kinds].map(([kind, count]) => [service, kind, count] as const),
    );
  }

  requests(): number {
    return this.rows().reduce((sum, [, , { requests }]) => sum + requests, 0);
  }

  /** What makes the run worth nothing or less: wrong answers, and kinds that were never put to a real test. */
  *failures(): Generator<string> {
    for (const [service, kind, { requests, inWindow, violations, byStatus }] of this.rows()) {
      if (violations > 0) yield `${service}, ${kind}: ${violations} wrong answers`;
      if (requests === inWindow) yield `${service}, ${kind}: no answer was given outside of a window`;
      if (kind === "valid" && !byStatus.has(503)) yield `${service}: no outage was longer than the bound`;
    }
  }
}

const empty = (): Count => ({ requests: 0, byStatus: new Map(), inWindow: 0, violations: 0 });
