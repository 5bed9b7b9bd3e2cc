/** A repeated cycle of events at the issuer: two rotations, a short outage and a long outage. */
import { setTimeout as wait } from "node:timers/promises";
import type { OpenIdProvider } from "../support/openid-provider.ts";
import type { IssuerHistory } from "./expected.ts";
import { BOUND_MS, NOTICE_MS, REFRESH_MS, SLACK_MS, TIMES } from "./times.ts";
import type { Mix } from "./tokens.ts";

/** Keys become older than `maxAgeMs` during this outage, but services must still use them. */
const SHORT_OUTAGE_MS = BOUND_MS - REFRESH_MS - SLACK_MS;
const LONG_OUTAGE_MS = BOUND_MS + 2 * SLACK_MS + 1_000;
const SETTLE_MS = 2 * NOTICE_MS;
/** Long enough for services to notice a withdrawal before the next outage. */
const KNOWN_MS = TIMES.maxAgeMs + 1_000;
/** Too short for services to notice a withdrawal before the next outage. */
const UNKNOWN_MS = 500;

/** The approximate duration of one cycle, in seconds. */
export const CYCLE_SECONDS =
  (NOTICE_MS + KNOWN_MS + UNKNOWN_MS + SHORT_OUTAGE_MS + LONG_OUTAGE_MS + 4 * SETTLE_MS) / 1_000;

export class IssuerLife {
  readonly #provider: OpenIdProvider;
  readonly #history: IssuerHistory;
  readonly #mix: Mix;
  #signing: string;
  #keys = 1;

  constructor(provider: OpenIdProvider, kid: string, history: IssuerHistory, mix: Mix) {
    this.#provider = provider;
    this.#history = history;
    this.#mix = mix;
    this.#signing = kid;
    history.publishedAt.set(kid, -Infinity);
  }

  async begin(): Promise<void> {
    await this.#mix.renew(this.#provider, this.#signing);
  }

  async cycle(): Promise<void> {
    // Without tokens of unknown keys, services fetch the keys again only because of their age.
    this.#mix.sendsUnknown = false;
    this.#mix.forgetWithdrawn();
    await this.#rotate("rotation", NOTICE_MS, KNOWN_MS);
    this.#mix.forgetWithdrawn();
    await this.#fail("outage", SHORT_OUTAGE_MS);

    this.#mix.sendsUnknown = true;
    await this.#rotate("rotation at once", 0, UNKNOWN_MS);
    await this.#fail("long outage", LONG_OUTAGE_MS);
  }

  async #rotate(phase: string, aheadMs: number, afterMs: number): Promise<void> {
    const older = this.#signing;
    const kid = `key-${(this.#keys += 1)}`;
    this.#provider.publish(kid);
    this.#history.publishedAt.set(kid, Date.now());
    await this.#pass(`${phase}: published`, aheadMs);
    this.#provider.signWith(kid);
    this.#signing = kid;
    await this.#mix.renew(this.#provider, kid);
    await this.#pass(`${phase}: signs`, SETTLE_MS);
    this.#history.withdrawnAt.set(older, Date.now());
    this.#provider.withdraw(older);
    this.#mix.withdrawOlder();
    await this.#pass(`${phase}: withdrawn`, afterMs);
  }

  async #fail(phase: string, ms: number): Promise<void> {
    const outage = { from: Date.now(), to: Infinity };
    this.#history.outages.push(outage);
    await this.#provider.stop();
    await this.#pass(phase, ms);
    outage.to = Date.now();
    await this.#provider.start();
    await this.#pass(`after the ${phase}`, SETTLE_MS);
  }

  async #pass(phase: string, ms: number): Promise<void> {
    this.#history.phase = phase;
    await wait(ms);
  }
}
