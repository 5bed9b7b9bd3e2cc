/**
 * Which statuses are correct, given what the issuer did during a request. One status is correct, except in
 * these windows, in which the service may not know of a change yet:
 *
 * - A service may not have a key that was published less than `NOTICE_MS` ago, so 401 is also correct.
 * - A service may still use a key that was withdrawn less than `maxAgeMs` ago. If an outage starts before the
 *   service notices the withdrawal, it may use the key until `BOUND_MS`.
 * - During an outage, keys expire `BOUND_MS` after they were fetched. They may have been fetched up to
 *   `REFRESH_MS` before the outage, so 503 is also correct that much earlier.
 * - In the first `NOTICE_MS` of an outage, and in the first `NOTICE_MS` after it, the statuses before and
 *   after the change are both correct.
 */
import { BOUND_MS, NOTICE_MS, REFRESH_MS, SLACK_MS, TIMES } from "./times.ts";

interface Outage {
  readonly from: number;
  /** `Infinity` while it lasts. */
  to: number;
}

/** What the issuer did and when. */
export class IssuerHistory {
  /** When each key was published and withdrawn. */
  readonly publishedAt = new Map<string, number>();
  readonly withdrawnAt = new Map<string, number>();
  readonly outages: Outage[] = [];
  readonly startedAt = Date.now();
  /** What the issuer is doing now, for the report of a violation. */
  phase = "start";

  /** How long the issuer has been up, without its outages. */
  upMs(): number {
    const now = Date.now();
    const downMs = this.outages.reduce((sum, { from, to }) => sum + Math.min(to, now) - from, 0);
    return now - this.startedAt - downMs;
  }
}

/** The `kid` of a token, and the correct status once the key is known. */
export interface Claim {
  /** `undefined` for a request that is refused before the key lookup. */
  readonly kid: string | undefined;
  readonly deserves: 200 | 401;
}

/** Returns the correct statuses of a request that was sent and answered at these times. */
export function expectedOf(
  { kid, deserves }: Claim,
  sent: number,
  answered: number,
  history: IssuerHistory,
): readonly number[] {
  if (kid === undefined) return [deserves];
  const publishedAt = history.publishedAt.get(kid) ?? Infinity;
  const withdrawnAt = history.withdrawnAt.get(kid) ?? Infinity;

  // Windows of two outages never overlap: `IssuerLife` waits longer between outages.
  const outage = history.outages.find(({ from, to }) => from <= answered && sent <= to + NOTICE_MS);
  /** Whether the whole request fell into an outage that had already lasted `ms` milliseconds. */
  const past = (ms: number): boolean =>
    outage !== undefined && sent >= outage.from + ms && answered <= outage.to;
  const mayBeExpired = outage !== undefined && answered >= outage.from + BOUND_MS - REFRESH_MS;
  const isLastSet = outage !== undefined && withdrawnAt >= outage.from - REFRESH_MS;
  const keptMs = isLastSet ? BOUND_MS : TIMES.maxAgeMs;
  const mayHold = answered >= publishedAt && sent <= withdrawnAt + keptMs && !past(BOUND_MS + SLACK_MS);
  const mayLack = sent < publishedAt + NOTICE_MS || answered >= withdrawnAt;

  const right = new Set<number>();
  if (mayHold) right.add(deserves);
  if (mayLack && !past(NOTICE_MS)) right.add(401);
  if (outage && (mayLack || mayBeExpired)) right.add(503);
  return [...right];
}
