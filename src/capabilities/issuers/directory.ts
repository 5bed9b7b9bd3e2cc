/** The issuers that `find` returns: asked for once, remembered, and asked for again. */
import { orUndefined } from "../../core/errors.ts";
import type { KeySourceStatus } from "../../core/keys/key-event.ts";
import type { KeyResolver } from "../../core/keys/verification-key.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import { BoundedMap } from "../../core/runtime/bounded-map.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { isCurrent, type Period } from "../../core/runtime/remembered.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { DirectoryContext } from "../../core/options/options.ts";
import type {
  IssuerConfiguration,
  IssuerDirectory,
  IssuerVerifier,
} from "../../core/token/issuer-directory.ts";
import { createIssuerVerifier } from "../../core/token/issuers.ts";
import {
  type RejectedToken,
  rejectToken,
  type UncheckedToken,
  unavailable,
} from "../../core/token/rejection.ts";
import type { TokenVerifier } from "../../core/token/verifier.ts";
import { guardFetch } from "./public-fetch.ts";
import { isSame, MAX_TOLERANCE_SECONDS, type ReadRecord, readRecord } from "./record.ts";
import { TokenBucket } from "./token-bucket.ts";

interface DirectoryRules extends DirectoryContext {
  readonly find: (issuer: string) => unknown;
  readonly freshSeconds: number;
  readonly maxIssuers: number;
  readonly timeoutMs: number;
  readonly allowPrivate: boolean;
}

/** A record in use. */
interface Trust {
  readonly kind: "trust";
  readonly issuer: string;
  readonly configuration: IssuerConfiguration;
  readonly verifier: IssuerVerifier;
  readonly snapshot: unknown;
  /** How long it's used without asking again. */
  period: Period;
  /** When `find` last failed for it. */
  failedAt: number | undefined;
}

type NoTrust = RejectedToken | UncheckedToken;

/** An unknown issuer, or one whose record has a mistake. */
type Negative = Period & { readonly result: NoTrust };

/** How long an unknown issuer is remembered at most. A new tenant waits as long as that. */
const MAX_NEGATIVE_MS = 30_000;
/** Anyone can invent issuers, so their number, their length and how often `find` is asked are limited. */
const MAX_NEGATIVES = 10_000;
const MAX_NEGATIVE_CHARACTERS = 4_000_000;
const MAX_ISSUER_LENGTH = 2_000;
const [NAMES_AT_ONCE, NAMES_PER_SECOND] = [100, 20] as const;
const MAX_WARNINGS = 100;

const FAILED = "The issuer of the token couldn't be looked up: `find` failed or timed out.";
const MISTAKE = "The trust record of the token's issuer has a mistake, which is a process warning.";

/** Creates the directory of one server. It asks and fetches nothing before the first token. */
export function createDirectory(rules: DirectoryRules): IssuerDirectory {
  const directory = new Directory(rules);
  return {
    find: (issuer) => andThen(directory.current(issuer, false), toVerifier),
    configurationOf: ({ claims }) => directory.trustOf(claims)?.configuration,
    async isCurrent({ claims }) {
      const accepted = directory.trustOf(claims);
      if (!accepted) return false;
      const current = await directory.current(accepted.issuer, true);
      if (current.kind === "unavailable") throw current.cause;
      return current.kind === "trust" && isSame(current.snapshot, accepted.snapshot);
    },
    configurations: () => directory.configurations(),
    maxToleranceSeconds: MAX_TOLERANCE_SECONDS,
    status: () => directory.status(),
    close: () => directory.close(),
  };
}

/** How long `find` isn't called again for an issuer for which it failed. */
const FAILURE_MS = 1_000;

const failurePeriod = (since: number): Period => ({ since, until: since + FAILURE_MS });

const toVerifier = (current: Trust | NoTrust): IssuerVerifier | NoTrust =>
  current.kind === "trust" ? current.verifier : current;

class Directory {
  readonly #rules: DirectoryRules;
  /** In the order of their last use. */
  readonly #trusts = new Map<string, Trust>();
  readonly #negatives = new BoundedMap<string, Negative>(MAX_NEGATIVES, MAX_NEGATIVE_CHARACTERS);
  readonly #pending = new Map<string, Promise<Trust | NoTrust>>();
  readonly #newNames = new TokenBucket(NAMES_AT_ONCE, NAMES_PER_SECOND);
  /** The record that accepted a token, by its claims, which all copies of a principal share. */
  readonly #acceptedBy = new WeakMap<object, Trust>();
  readonly #warnedAbout = new Set<string>();
  #lastSuccess: Date | undefined;
  #lastFailure: KeySourceStatus["lastFailure"];
  #isFailing = false;
  #isClosed = false;

  constructor(rules: DirectoryRules) {
    this.#rules = rules;
  }

  trustOf(claims: object): Trust | undefined {
    return this.#acceptedBy.get(claims);
  }

  /** Returns the record of an issuer. `isKnown`: a token of it was accepted before, so nobody invented it. */
  current(issuer: string, isKnown: boolean): Pending<Trust | NoTrust> {
    if (issuer.length > MAX_ISSUER_LENGTH) return rejectToken("issuer");
    const now = this.#now();
    const trust = this.#trusts.get(issuer);
    if (trust && isCurrent(trust.period, now)) return this.#markUsed(trust);
    // Forged tokens of a known issuer must not add to the load of a database that fails.
    if (trust?.failedAt !== undefined && isCurrent(failurePeriod(trust.failedAt), now))
      return unavailable(new Error(FAILED));
    const negative = this.#negatives.get(issuer);
    if (!trust && negative && isCurrent(negative, now)) return negative.result;
    const asking = this.#pending.get(issuer);
    if (asking) return asking;
    if (!trust && !isKnown && !this.#newNames.take(now))
      // During an outage, nobody knows whether the issuer exists.
      return this.#isFailing ? unavailable(new Error(FAILED)) : rejectToken("issuer");
    const started = this.#ask(issuer, now, isKnown).finally(() => this.#pending.delete(issuer));
    this.#pending.set(issuer, started);
    return started;
  }

  configurations(): readonly IssuerConfiguration[] {
    return [...this.#trusts.values()].map(({ configuration }) => configuration);
  }

  status(): KeySourceStatus {
    const state = this.#lastSuccess || this.#isFailing ? "fresh" : "not loaded";
    return compact({
      source: "issuersFrom",
      state: this.#isFailing ? "unavailable" : state,
      keyIds: [],
      lastSuccess: this.#lastSuccess,
      lastFailure: this.#lastFailure,
    } as const);
  }

  close(): void {
    this.#isClosed = true;
    for (const { configuration } of this.#trusts.values()) configuration.keys.close();
  }

  #now(): number {
    return readClock(this.#rules.options.now ?? Date.now).getTime();
  }

  #markUsed(trust: Trust): Trust {
    this.#trusts.delete(trust.issuer);
    this.#trusts.set(trust.issuer, trust);
    return trust;
  }

  /** The record counts from the question: it may change while `find` responds. */
  async #ask(issuer: string, since: number, isKnown: boolean): Promise<Trust | NoTrust> {
    const { find, timeoutMs } = this.#rules;
    let written: unknown;
    try {
      written = await withinLimit(find(issuer), "`find`", timeoutMs);
    } catch {
      // Anyone can invent a name for which `find` fails, and that must not take the server out of use.
      const trust = this.#trusts.get(issuer);
      if (trust || isKnown) this.#isFailing = true;
      if (trust) trust.failedAt = since;
      this.#lastFailure = { time: new Date(since), reason: FAILED };
      // Without the error: it may contain the text of a query, or a password.
      return unavailable(new Error(FAILED));
    }
    this.#isFailing = false;
    this.#lastSuccess = new Date(since);
    if (written === undefined) return this.#forget(issuer, since, rejectToken("issuer"));
    const read = this.#read(written, issuer);
    if (read.kind === "record") return this.#trust(issuer, since, read);
    this.#warn(issuer, `can't be used, so its tokens get 503. ${read.message}`);
    return this.#forget(issuer, since, unavailable(new Error(MISTAKE)));
  }

  #read(written: unknown, issuer: string): ReadRecord {
    try {
      return readRecord(written, issuer, this.#rules, this.#rules.allowPrivate ? undefined : guardFetch);
    } catch {
      return { kind: "mistake", message: "It can't be read. Return a plain object: { issuer, keys, ... }." };
    }
  }

  #trust(issuer: string, since: number, read: Extract<ReadRecord, { kind: "record" }>): Trust {
    const { configuration, snapshot, warning } = read;
    const period = { since, until: since + this.#rules.freshSeconds * 1000 };
    if (warning !== undefined) this.#warn(issuer, `has a mistake. ${warning}`);
    const earlier = this.#trusts.get(issuer);
    if (earlier && isSame(earlier.snapshot, snapshot)) {
      configuration.keys.close();
      earlier.period = period;
      earlier.failedAt = undefined;
      return this.#markUsed(earlier);
    }
    earlier?.configuration.keys.close();
    const trust = this.#createTrust(issuer, configuration, snapshot, period);
    this.#negatives.delete(issuer);
    this.#markUsed(trust);
    if (this.#isClosed) configuration.keys.close();
    for (const oldest of this.#trusts.values()) {
      if (this.#trusts.size <= this.#rules.maxIssuers) break;
      this.#drop(oldest);
    }
    return trust;
  }

  #createTrust(issuer: string, configuration: IssuerConfiguration, snapshot: unknown, period: Period): Trust {
    // The token cache asks whether a key is still held, so a record that is dropped ends remembered tokens.
    const isHeld = () =>
      this.#trusts.get(issuer) === trust && isCurrent(trust.period, orUndefined(() => this.#now()) ?? -1);
    const keys = limitedBy(isHeld, configuration.keys);
    const verifier = createIssuerVerifier({ ...configuration, keys }, this.#rules, true);
    const verify: TokenVerifier = async (jwt) => {
      const verification = await verifier.verify(jwt);
      if (verification.kind === "verified") this.#acceptedBy.set(verification.claims, trust);
      return verification;
    };
    const trust: Trust = {
      kind: "trust",
      issuer,
      configuration,
      verifier: { ...verifier, verify },
      snapshot,
      period,
      failedAt: undefined,
    };
    return trust;
  }

  #forget(issuer: string, since: number, result: NoTrust): NoTrust {
    const trust = this.#trusts.get(issuer);
    if (trust) this.#drop(trust);
    const until = since + Math.min(this.#rules.freshSeconds * 1000, MAX_NEGATIVE_MS);
    this.#negatives.set(issuer, { since, until, result }, issuer.length);
    return result;
  }

  #drop({ issuer, configuration }: Trust): void {
    this.#trusts.delete(issuer);
    configuration.keys.close();
  }

  /** Each warning once, and not without end: a record may change all the time. */
  #warn(issuer: string, text: string): void {
    const message = `The trust record of ${JSON.stringify(issuer)} ${text}`;
    if (this.#warnedAbout.has(message) || this.#warnedAbout.size >= MAX_WARNINGS) return;
    this.#warnedAbout.add(message);
    process.emitWarning(message, "ScopegateWarning");
  }
}

/** The keys of a record, which hold only as long as the record does. */
const limitedBy = (isHeld: () => boolean, keys: KeyResolver): KeyResolver => ({
  find: (query) => keys.find(query),
  findNewer: (query) => keys.findNewer?.(query) ?? Promise.resolve([]),
  retryAfterSeconds: () => keys.retryAfterSeconds?.() ?? 1,
  holds: (key) => isHeld() && keys.holds(key),
  ready: () => keys.ready(),
  refresh: () => keys.refresh(),
  status: () => keys.status(),
  close: () => keys.close(),
});
