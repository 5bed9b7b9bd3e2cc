/** Clients that send requests to all processes in turn, and compare each answer with what was revoked. */
import type { Member } from "./members.ts";

/** A token, and when `revoke` returned for it, by `performance.now()`. */
export interface Tracked {
  readonly token: string;
  revokedAt: number | undefined;
  /** While the revocation is under way, both answers are right. */
  isBeingRevoked: boolean;
}

export interface Tally {
  readonly counts: Map<number, number>;
  /** Revoked tokens that were accepted, later than a second after `revoke` had returned. */
  readonly late: string[];
  /** Valid tokens that were refused, except in an announced outage. */
  readonly wrong: string[];
  /** For each revoked token the latest moment at which it was accepted, in milliseconds after `revoke`. */
  readonly delays: number[];
}

const LATEST_MS = 1000;

export interface Load {
  readonly tally: Tally;
  /** Whether 503 is expected now. */
  isOutage: boolean;
  /** Whether the store is down, so that processes may not know the tokens that are revoked now. */
  isStoreDown: boolean;
  readonly stop: () => Promise<void>;
}

export function startLoad(members: readonly Member[], tokens: readonly Tracked[], clients: number): Load {
  const tally: Tally = { counts: new Map(), late: [], wrong: [], delays: [] };
  let isRunning = true;
  let next = 0;
  const load: Load = {
    tally,
    isOutage: false,
    isStoreDown: false,
    async stop() {
      isRunning = false;
      await Promise.all(running);
    },
  };

  const ask = async (): Promise<void> => {
    next += 1;
    const member = members[next % members.length];
    const tracked = tokens[Math.floor(Math.random() * tokens.length)];
    if (!member || !tracked) return;
    const wasRevoking = tracked.isBeingRevoked;
    const [wasOutage, sentAt] = [load.isOutage, performance.now()];
    const { revokedAt } = tracked;
    const response = await fetch(`${member.url}/agents`, {
      headers: { authorization: `Bearer ${tracked.token}` },
    });
    await response.arrayBuffer();
    const { status } = response;
    tally.counts.set(status, (tally.counts.get(status) ?? 0) + 1);
    if (revokedAt !== undefined) {
      const sinceRevoked = sentAt - revokedAt;
      if (status === 200) tally.delays.push(sinceRevoked);
      if (status === 200 && sinceRevoked > LATEST_MS && !load.isStoreDown)
        tally.late.push(`${member.url} accepted a token ${Math.round(sinceRevoked)} ms after its revocation`);
    }
    const isExpected =
      status === 200 ||
      (status === 401 && (wasRevoking || tracked.isBeingRevoked || tracked.revokedAt !== undefined)) ||
      (status === 503 && (wasOutage || load.isOutage));
    if (!isExpected) tally.wrong.push(`${member.url} answered ${status}`);
  };
  const run = async (): Promise<void> => {
    while (isRunning) await ask();
  };
  const running = Array.from({ length: clients }, run);
  return load;
}
