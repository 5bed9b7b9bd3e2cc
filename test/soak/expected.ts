/**
 * Which answers are right, from what the issuer did while a request was on its way. There is one right answer, except in
 * these windows, where the service may or may not know yet:
 *
 * - a key that was published less than `NOTICE_MS` ago may not be there yet: 401 is right as well;
 * - a key that was withdrawn less than `maxAgeMs` ago may still be in use; where an outage came before the withdrawal
 *   was known, until the bound;
 * - keys that the outage made unusable are so `BOUND_MS` after they were fetched, which was up to `REFRESH_MS` before it
 *   began: in between 503 is right as well;
 * - in the first `NOTICE_MS` of an outage, and after its end, both answers of before and after are right.
 */
import { type IssuerHistory, type Outage } from "./history.ts";
import { BOUND_MS, NOTICE_MS, REFRESH_MS, SLACK_MS, TIMES } from "./times.ts";

export type Status = 200 | 401 | 503;

/** A request: what is asked of it is the key that its token names, and what the token deserves once that is found. */
export interface Claim {
  /** `undefined` for what is refused before a key is looked for. */
  readonly kid: string | undefined;
  readonly deserves: 200 | 401;
}

/** The right answers to a request that was sent and answered at these times. */
export function expectedOf(
  { kid, deserves }: Claim,
  sent: number,
  answered: number,
  history: IssuerHistory,
): readonly Status[] {
  if (kid === undefined) return [deserves];
  const publishedAt = history.publishedAt.get(kid) ?? Infinity;
  const withdrawnAt = history.withdrawnAt.get(kid) ?? Infinity;

  // One outage at a time: the life of the issuer keeps them apart by more than the windows.
  const outage = history.outages.find(({ from, to }) => from <= answered && sent <= to + NOTICE_MS);
  const past = (ms: number): boolean => outage !== undefined && isWithin(outage, ms, sent, answered);
  const mayBeExpired = outage !== undefined && answered >= outage.from + BOUND_MS - REFRESH_MS;
  const isLastSet = outage !== undefined && withdrawnAt >= outage.from - REFRESH_MS;
  const keptMs = isLastSet ? BOUND_MS : TIMES.maxAgeMs;
  const mayHold = answered >= publishedAt && sent <= withdrawnAt + keptMs && !past(BOUND_MS + SLACK_MS);
  const mayLack = sent < publishedAt + NOTICE_MS || answered >= withdrawnAt;

  const right = new Set<Status>();
  if (mayHold) right.add(deserves);
  if (mayLack && !past(NOTICE_MS)) right.add(401);
  if (outage && (mayLack || mayBeExpired)) right.add(503);
  return [...right];
}

/** Whether all of a request fell into an outage that had lasted for so long already. */
const isWithin = ({ from, to }: Outage, ms: number, sent: number, answered: number): boolean =>
  sent >= from + ms && answered <= to;
