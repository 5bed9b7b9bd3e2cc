/** Counts the responses and their violations. */
import { createHistogram } from "node:perf_hooks";
import { expectedOf } from "./expected.ts";
import { type IssuerHistory } from "./history.ts";
import { type Answered } from "./load.ts";
import { type Kind, KINDS } from "./tokens.ts";

export interface Count {
  requests: number;
  readonly byStatus: Map<number, number>;
  /** Responses for which more than one status was correct. */
  inWindow: number;
  violations: number;
}

const SHOWN = 5;

export class Tally {
  readonly #history: IssuerHistory;
  readonly #counts = new Map<string, Map<Kind, Count>>();
  /** The latency of the responses, in milliseconds. */
  readonly latency = createHistogram();
  readonly firstViolations: string[] = [];

  constructor(history: IssuerHistory, services: readonly string[]) {
    this.#history = history;
    for (const service of services) this.#counts.set(service, new Map(KINDS.map((kind) => [kind, empty()])));
  }

  add({ service, shot, sent, answered, status }: Answered): void {
    const count = this.#counts.get(service)?.get(shot.kind);
    if (!count) throw new Error(`Unknown service or kind of token: ${service}, ${shot.kind}.`);
    const right = expectedOf(shot, sent, answered, this.#history);
    count.requests += 1;
    count.byStatus.set(status, (count.byStatus.get(status) ?? 0) + 1);
    if (right.length > 1) count.inWindow += 1;
    this.latency.record(Math.max(answered - sent, 1));
    if (right.some((one) => one === status)) return;
    count.violations += 1;
    if (this.firstViolations.length === SHOWN) return;
    const at = ((answered - this.#history.startedAt) / 1_000).toFixed(1);
    const said = `${status === 0 ? "no response" : status} instead of ${right.join(" or ")}`;
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

  /** Wrong responses, and kinds of tokens for which the run proves nothing. */
  *failures(): Generator<string> {
    for (const [service, kind, { requests, inWindow, violations, byStatus }] of this.rows()) {
      if (violations > 0) yield `${service}, ${kind}: ${violations} wrong responses`;
      if (requests === inWindow) yield `${service}, ${kind}: every response had more than one correct status`;
      if (kind === "valid" && !byStatus.has(503)) yield `${service}: no outage lasted long enough for 503`;
    }
  }
}

const empty = (): Count => ({ requests: 0, byStatus: new Map(), inWindow: 0, violations: 0 });
