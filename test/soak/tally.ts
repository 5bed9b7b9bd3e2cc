/** Counts the responses and their violations. */
import { printTable, type Row } from "../support/table.ts";
import { expectedOf, type IssuerHistory } from "./expected.ts";
import type { Answered } from "./load.ts";
import { KINDS } from "./tokens.ts";

interface Count {
  readonly service: string;
  readonly kind: string;
  requests: number;
  readonly byStatus: Map<number, number>;
  /** Responses for which more than one status was correct. */
  inWindow: number;
  violations: number;
}

const SHOWN = 5;
const STATUSES = [200, 401, 503];

export class Tally {
  readonly #history: IssuerHistory;
  readonly #counts = new Map<string, Count>();
  readonly firstViolations: string[] = [];

  constructor(history: IssuerHistory, services: readonly string[]) {
    this.#history = history;
    for (const service of services)
      for (const kind of KINDS) {
        const count = { service, kind, requests: 0, byStatus: new Map(), inWindow: 0, violations: 0 };
        this.#counts.set(`${service}, ${kind}`, count);
      }
  }

  add({ service, shot, sent, answered, status }: Answered): void {
    const count = this.#counts.get(`${service}, ${shot.kind}`);
    if (!count) throw new Error(`Unknown service: ${service}.`);
    const right = expectedOf(shot, sent, answered, this.#history);
    count.requests += 1;
    count.byStatus.set(status, (count.byStatus.get(status) ?? 0) + 1);
    if (right.length > 1) count.inWindow += 1;
    if (right.includes(status)) return;
    count.violations += 1;
    if (this.firstViolations.length === SHOWN) return;
    const at = ((answered - this.#history.startedAt) / 1_000).toFixed(1);
    const said = `${status === 0 ? "no response" : status} instead of ${right.join(" or ")}`;
    this.firstViolations.push(`${at} s, ${service}, ${shot.kind}, ${said}, ${this.#history.phase}`);
  }

  print(): void {
    const rows = [...this.#counts].map(([name, count]): Row => {
      const counted = STATUSES.map((status) => count.byStatus.get(status) ?? 0);
      const other = count.requests - counted.reduce((sum, number) => sum + number, 0);
      return [name, count.requests, ...counted, other, count.inWindow, count.violations];
    });
    printTable(["responses", "requests", ...STATUSES, "other", "in a window", "violations"], ...rows);
  }

  /** Wrong responses, and kinds of tokens for which the run proves nothing. */
  *failures(): Generator<string> {
    for (const { service, kind, requests, inWindow, violations, byStatus } of this.#counts.values()) {
      if (violations > 0) yield `${service}, ${kind}: ${violations} wrong responses`;
      if (requests === inWindow) yield `${service}, ${kind}: every response had more than one correct status`;
      if (kind === "valid" && !byStatus.has(503)) yield `${service}: no outage lasted long enough for 503`;
    }
  }
}
