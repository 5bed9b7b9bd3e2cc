/** A bounded set of revocations, which forgets entries whose tokens have expired. */
import { compact } from "../../core/runtime/compact.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import type { Principal } from "../../core/token/principal.ts";
import { fingerprintOf, type RevokedEntry } from "../../core/token/revocation.ts";

/** When an entry ends, in seconds. `before`, for users and issuers only: the latest `iat` that it revokes. */
type Kept = number | { readonly until: number; readonly before: number };

type Kind = RevokedEntry["kind"];
type Kinds = Map<Kind, Map<string, Kept>>;

/** How many entries are checked for each one that is added: more than one, so that the set can shrink. */
const SWEPT_PER_ENTRY = 2;

/** An entry is deleted later than it ends: the clock may be ahead for a while. */
const MARGIN_SECONDS = 3_600;
/** Accepted difference of the clock of an issuer. */
const SKEW_SECONDS = 300;

/** Thrown when the set is full. Dropping entries instead would accept revoked tokens. */
export class RevokedSetFullError extends Error {
  /** The name of the class. */
  override readonly name = "RevokedSetFullError";
}

export class RevokedSet {
  readonly #maxEntries: number;
  readonly #now: () => number;
  /** By the issuer whose tokens are revoked; the key `undefined` is for tokens of every issuer. */
  readonly #byIssuer = new Map<string | undefined, Kinds>();
  #size = 0;
  #sweep: Iterator<unknown> | undefined;
  /** No entry ends earlier. */
  #firstEnd = Infinity;

  /** `now` returns milliseconds since the epoch. */
  constructor(maxEntries: number, now: () => number) {
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  get size(): number {
    return this.#size;
  }

  isRevoked(principal: Principal): boolean {
    if (this.#size === 0) return false;
    const { issuer } = principal;
    return (
      this.#isListed(this.#byIssuer.get(undefined), principal) ||
      (issuer !== undefined && this.#isListed(this.#byIssuer.get(issuer), principal))
    );
  }

  #isListed(kinds: Kinds | undefined, principal: Principal): boolean {
    if (!kinds) return false;
    const { tokenId, sessionId, userId, issuer } = principal;
    const now = this.#now() / 1000;
    const isKept = (kind: Kind, id: string | undefined): boolean => {
      const kept = id === undefined ? undefined : kinds.get(kind)?.get(id);
      if (kept === undefined) return false;
      if (typeof kept === "number") return kept > now;
      return kept.until > now && isIssuedBy(kept.before, principal, now);
    };
    return (
      isKept("token", tokenId) ||
      isKept("session", sessionId) ||
      isKept("user", userId) ||
      isKept("issuer", issuer) ||
      (!tokenId && kinds.has("claims") && isKept("claims", fingerprintOf(principal)))
    );
  }

  /** Adds an entry. If its id has one already, the longer time counts. @throws RevokedSetFullError */
  add({ kind, id, issuer, before, until }: RevokedEntry): void {
    this.sweep(SWEPT_PER_ENTRY);
    const kinds: Kinds = this.#byIssuer.get(issuer) ?? new Map<Kind, Map<string, Kept>>();
    const ids = kinds.get(kind) ?? new Map<string, Kept>();
    const old = ids.get(id);
    if (old === undefined) {
      if (this.#size >= this.#maxEntries) this.#sweepNow();
      if (this.#size >= this.#maxEntries)
        throw new RevokedSetFullError(
          `The set of revoked tokens is full (${this.#maxEntries} entries). Raise \`maxEntries\`.`,
        );
      this.#size += 1;
    }
    this.#firstEnd = Math.min(this.#firstEnd, until);
    this.#byIssuer.set(issuer, kinds);
    kinds.set(kind, ids);
    ids.set(id, old === undefined ? keptOf(before, until) : longer(old, before, until));
  }

  /** Returns whether the set already revokes everything that an entry revokes, for as long. */
  covers({ kind, id, issuer, before, until }: RevokedEntry): boolean {
    const old = this.#byIssuer.get(issuer)?.get(kind)?.get(id);
    if (old === undefined) return false;
    if (typeof old === "number") return old >= until;
    return old.until >= until && (before === undefined ? false : old.before >= before);
  }

  /** Checks up to `most` entries, and deletes those that have ended. The next call continues from there. */
  sweep(most: number): void {
    this.#sweep ??= this.#sweepAll();
    for (let count = 0; count < most; count += 1)
      if (this.#sweep.next().done) {
        this.#sweep = undefined;
        return;
      }
  }

  /** Deletes every entry that has ended, unless none can have ended yet: it takes time. */
  #sweepNow(): void {
    if (this.#now() / 1000 < this.#firstEnd) return;
    this.#firstEnd = Infinity;
    const sweep = this.#sweepAll(0);
    while (!sweep.next().done);
  }

  *#sweepAll(marginSeconds = MARGIN_SECONDS): Generator<undefined> {
    for (const kinds of this.#byIssuer.values())
      for (const ids of kinds.values())
        for (const [id, kept] of ids) {
          if (untilOf(kept) + marginSeconds <= this.#now() / 1000 && ids.delete(id)) this.#size -= 1;
          else this.#firstEnd = Math.min(this.#firstEnd, untilOf(kept));
          yield;
        }
  }

  /** Returns all entries that have not ended, without their reasons. */
  *entries(): Generator<RevokedEntry> {
    for (const [issuer, kinds] of this.#byIssuer)
      for (const [kind, ids] of kinds)
        for (const [id, kept] of ids) {
          if (untilOf(kept) <= this.#now() / 1000) continue;
          const times = typeof kept === "number" ? { until: kept } : kept;
          yield { kind, id, ...times, ...compact({ issuer }) };
        }
  }
}

/** A token without `iat`, or with one in the future, counts as revoked: it may be an old one. */
function isIssuedBy(before: number, { claims }: Principal, now: number): boolean {
  const issuedAt = claimAt(claims, "iat");
  return typeof issuedAt !== "number" || Math.floor(issuedAt) <= before || issuedAt > now + SKEW_SECONDS;
}

const untilOf = (kept: Kept): number => (typeof kept === "number" ? kept : kept.until);

const keptOf = (before: number | undefined, until: number): Kept =>
  before === undefined ? until : { until, before };

/** Combines two entries for one id. The result revokes everything that either of them revokes. */
function longer(old: Kept, before: number | undefined, until: number): Kept {
  const latest = Math.max(untilOf(old), until);
  return typeof old === "number" || before === undefined
    ? latest
    : { until: latest, before: Math.max(old.before, before) };
}
