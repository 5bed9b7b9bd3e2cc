/** How revocations are stored: the keys that concern a principal, and what the value of a key revokes. */
import { hash } from "node:crypto";
import { orUndefined } from "../../core/errors.ts";
import { compact } from "../../core/runtime/compact.ts";
import { clientOf } from "../../core/token/clients.ts";
import type { Principal } from "../../core/token/principal.ts";
import { fingerprintOf, type RevokedEntry, type RevokedSubject } from "./target.ts";

/** What a value revokes: one entry for each issuer, or one for all of them. */
export type StoredEntry = Pick<RevokedEntry, "issuer" | "before" | "until" | "reason">;

/** Longer ids are hashed, because some stores limit the length of keys. */
const MAX_ID_LENGTH = 200;

const keyFor = (kind: RevokedEntry["kind"], id: string): string =>
  `revoked:${kind}:${id.length > MAX_ID_LENGTH ? hash("sha256", id, "base64url") : id}`;

export const keyOf = ({ kind, id }: RevokedSubject): string => keyFor(kind, id);

/** Returns the keys that can revoke a principal. */
export function keysOf(principal: Principal): readonly string[] {
  const { tokenId, sessionId, userId, issuer } = principal;
  const clientId = clientOf(principal);
  const keys = [
    tokenId === undefined || tokenId === ""
      ? keyFor("claims", fingerprintOf(principal))
      : keyFor("token", tokenId),
  ];
  if (sessionId !== undefined) keys.push(keyFor("session", sessionId));
  if (userId !== undefined) keys.push(keyFor("user", userId));
  if (clientId !== undefined) keys.push(keyFor("client", clientId));
  if (issuer !== undefined) keys.push(keyFor("issuer", issuer));
  return keys;
}

/** Returns whether the entries of a key revoke a principal. `now` is in seconds. */
export const areRevoking = (
  entries: readonly StoredEntry[],
  { issuer, claims }: Principal,
  now: number,
): boolean =>
  entries.some(
    (entry) =>
      (entry.issuer === undefined || entry.issuer === issuer) &&
      now < entry.until &&
      isIssuedBefore(claims["iat"], entry.before),
  );

/** A token without `iat` may have been issued at any time, so it counts as revoked. */
const isIssuedBefore = (issuedAt: unknown, before = Infinity): boolean =>
  typeof issuedAt !== "number" || Math.floor(issuedAt) <= before;

export const writeEntries = (entries: readonly StoredEntry[]): string => JSON.stringify(entries);

/** Any other value revokes every token with the id: an operator may have written it by hand. */
const EVERYTHING: readonly StoredEntry[] = [{ until: Infinity }];

export function readEntries(value: string | undefined): readonly StoredEntry[] {
  if (value === undefined) return [];
  const entries = orUndefined(() => JSON.parse(value) as unknown);
  const isOurs = Array.isArray(entries) && entries.length > 0 && entries.every(isEntry);
  return isOurs ? entries : EVERYTHING;
}

function isEntry(value: unknown): value is StoredEntry {
  const { issuer, before, until } = Object(value) as Partial<Record<keyof StoredEntry, unknown>>;
  return (
    typeof until === "number" &&
    (issuer === undefined || typeof issuer === "string") &&
    (before === undefined || typeof before === "number")
  );
}

/** Adds an entry to the others of the same key. The result revokes everything that they revoked. */
export function mergeEntry(
  entries: readonly StoredEntry[],
  { issuer, before, until, reason }: RevokedEntry,
): readonly StoredEntry[] {
  const added: StoredEntry = compact({ issuer, before, until, reason });
  // JSON has no infinity, so such a value ends when the new entry ends.
  if (entries === EVERYTHING) return [compact({ until, reason })];
  const earlier = entries.find((entry) => entry.issuer === issuer);
  if (!earlier) return [...entries, added];
  const isLimited = earlier.before !== undefined && before !== undefined;
  const merged: StoredEntry = compact({
    issuer,
    before: isLimited ? Math.max(earlier.before, before) : undefined,
    until: Math.max(earlier.until, until),
    reason: reason ?? earlier.reason,
  });
  return entries.map((entry) => (entry === earlier ? merged : entry));
}

/** When all entries have ended, in milliseconds. */
export const endOfEntries = (entries: readonly StoredEntry[]): number =>
  Math.max(...entries.map(({ until }) => until)) * 1000;

/** Removes the entry for an issuer; without `issuer`, all entries. */
export const withoutEntry = (
  entries: readonly StoredEntry[],
  issuer: string | undefined,
): readonly StoredEntry[] => (issuer === undefined ? [] : entries.filter((entry) => entry.issuer !== issuer));
