/** How revocations are stored: the keys that concern a principal, and what the value of a key revokes. */
import { hash } from "node:crypto";
import { orUndefined } from "../../core/errors.ts";
import { compact } from "../../core/runtime/compact.ts";
import { ownProperty } from "../../core/request.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import { clientOf } from "../../core/token/clients.ts";
import type { Principal } from "../../core/token/principal.ts";
import { fingerprintOf, type RevokedEntry, type RevokedSubject } from "./target.ts";

/** What the value of a key revokes. */
export type StoredEntry = Pick<RevokedEntry, "before" | "until" | "reason">;

/** The value of a key: a revocation, or when the last one was withdrawn, by the clock of the store. */
export type StoredValue = StoredEntry | { readonly withdrawnAt: number };

/** Other ids are hashed: some stores limit the length of keys, and not every store takes every character. */
const SAFE_ID = /^[\x21-\x7e]{1,200}$/;

const digestOf = (text: string): string => hash("sha256", text, "base64url");

/** The issuer comes before the id and as a hash, so that no id can contain it. */
export function keyOf(subject: RevokedSubject): string {
  const { kind, id } = subject;
  const issuer = ownProperty(subject, "issuer");
  const place = issuer === undefined ? "" : `@${digestOf(issuer)}`;
  return `revoked:${kind}${place}:${SAFE_ID.test(id) ? id : digestOf(id)}`;
}

/** Returns the keys that can revoke a principal: for its issuer, and for every issuer. */
export function keysOf(principal: Principal): readonly string[] {
  // Own properties only: a polluted prototype must not change which keys are read.
  const tokenId = ownProperty(principal, "tokenId");
  const issuer = ownProperty(principal, "issuer");
  const hasId = tokenId !== undefined && tokenId !== "";
  const ofToken = hasId
    ? ({ kind: "token", id: tokenId } as const)
    : ({ kind: "claims", id: fingerprintOf(principal) } as const);
  const ids = [
    ofToken,
    { kind: "session", id: ownProperty(principal, "sessionId") },
    { kind: "user", id: ownProperty(principal, "userId") },
    { kind: "client", id: clientOf(principal) },
  ] as const;
  const subjects = ids.flatMap(({ kind, id }): readonly RevokedSubject[] => {
    if (id === undefined) return [];
    return issuer === undefined
      ? [{ kind, id }]
      : [
          { kind, id },
          { kind, id, issuer },
        ];
  });
  const keys = subjects.map(keyOf);
  if (issuer !== undefined) keys.push(keyOf({ kind: "issuer", id: issuer }));
  return keys;
}

/**
 * Returns whether a value revokes a principal. `now` is in seconds, and `aheadSeconds` is how far the clock
 * of its issuer may be ahead.
 */
export const isRevoking = (
  value: StoredValue | undefined,
  { claims }: Principal,
  now: number,
  aheadSeconds: number,
): boolean =>
  isEntry(value) &&
  now < value.until &&
  isIssuedBefore(claimAt(claims, "iat"), beforeOf(value) + aheadSeconds);

/** Own properties only, here and below: a polluted prototype must not limit a revocation. */
const beforeOf = (entry: StoredEntry): number => ownProperty(entry, "before") ?? Infinity;

/** A token without `iat` may have been issued at any time, so it counts as revoked. */
const isIssuedBefore = (issuedAt: unknown, before: number): boolean =>
  typeof issuedAt !== "number" || Math.floor(issuedAt) <= before;

/** Any other value revokes every token with the id: an operator may have written it by hand. */
const EVERYTHING: StoredEntry = { until: Infinity };

export function readValue(text: string | undefined): StoredValue | undefined {
  if (text === undefined) return undefined;
  const parsed = orUndefined(() => JSON.parse(text) as unknown);
  const value = Object.assign(Object.create(null), parsed) as Record<string, unknown>;
  const { before, until, withdrawnAt } = value;
  if (typeof withdrawnAt === "number") return { withdrawnAt };
  const isOurs = typeof until === "number" && (before === undefined || typeof before === "number");
  return isOurs
    ? { until, ...compact({ before, reason: value["reason"] as string | undefined }) }
    : EVERYTHING;
}

export const isEntry = (value: StoredValue | undefined): value is StoredEntry =>
  value !== undefined && Object.hasOwn(value, "until");

export const isWithdrawn = (value: StoredValue | undefined): value is { readonly withdrawnAt: number } =>
  value !== undefined && !isEntry(value);

/** Returns whether a value revokes everything that an entry revokes, for as long. */
export const covers = (value: StoredValue | undefined, entry: StoredEntry): value is StoredEntry =>
  isEntry(value) && value.until >= entry.until && beforeOf(value) >= beforeOf(entry);

/** Returns an entry that covers both. */
export function merge(earlier: StoredValue | undefined, entry: StoredEntry): StoredEntry {
  const entries = isEntry(earlier) ? [entry, earlier] : [entry];
  const before = Math.max(...entries.map(beforeOf));
  return compact({
    before: before === Infinity ? undefined : before,
    until: Math.max(...entries.map(({ until }) => until)),
    reason: entries.map((each) => ownProperty(each, "reason")).find((reason) => reason !== undefined),
  });
}
