/** Converts a revocation target to an entry. */
import { hash } from "node:crypto";
import { compact } from "../../core/runtime/compact.ts";
import { timeOf } from "../../core/runtime/date.ts";
import { isText } from "../../core/runtime/json.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { RevocationContext, RevocationOptions, RevocationTarget } from "../../core/token/revocation.ts";

/** Which tokens are revoked, without the times. */
export interface RevokedSubject {
  /** What `id` identifies. `claims`: a token without `jti`, by the fingerprint of all its claims. */
  readonly kind: "token" | "claims" | "session" | "user" | "client" | "issuer";
  /** The `jti`, session id, user id, client id or issuer, or the fingerprint. */
  readonly id: string;
  /** Only tokens of this issuer are revoked. If absent: tokens of every issuer. */
  readonly issuer?: string;
}

/** One revocation. Times are in seconds since the epoch, as in the claims of tokens. */
export interface RevokedEntry extends RevokedSubject {
  /** Up to which `iat` tokens are revoked. Tokens without `iat` are revoked too. If absent: all tokens. */
  readonly before?: number;
  /** When the entry can be deleted, because the tokens have expired. */
  readonly until: number;
  /** The reason, for operators. */
  readonly reason?: string;
}

interface EntryContext extends RevocationContext {
  readonly keepSeconds: number;
}

/** The property of a target that identifies each kind. */
const KINDS: ReadonlyMap<string | undefined, RevokedEntry["kind"]> = new Map([
  ["tokenId", "token"],
  ["sessionId", "session"],
  ["userId", "user"],
  ["clientId", "client"],
  [undefined, "issuer"],
]);
const USAGE =
  "Write one of { token }, { tokenId }, { sessionId }, { userId, before }, { clientId, before } or { issuer, before }.";

/** Converts a target to an entry. */
export function toRevokedEntry(
  target: RevocationTarget,
  options: RevocationOptions,
  context: EntryContext,
): RevokedEntry {
  const { nowMs, toleranceSeconds, principal } = context;
  const subject = toRevokedSubject(target, principal);
  // A token is accepted for the clock tolerance after its `exp`.
  const until = Math.ceil(endOfRevocation(options.until, context)) + toleranceSeconds;
  const { before = new Date(nowMs) } = target as { readonly before?: Date };
  const isLimited = SINCE_A_TIME.has(subject.kind);
  if (!isLimited && "before" in target) throw new TypeError(USAGE);
  const latest = isLimited ? timeOf("before", before) / 1000 + toleranceSeconds : undefined;
  return compact({ ...subject, before: latest, until, reason: options.reason });
}

/** Converts a target to what it names. `principal` is for a target with a token. */
export function toRevokedSubject(target: RevocationTarget, principal: Principal | undefined): RevokedSubject {
  return principal ? identifyToken(principal, target) : identifyTarget({ ...target });
}

/** Subjects that are only revoked up to a time, because tokens issued later are valid. */
const SINCE_A_TIME: ReadonlySet<RevokedEntry["kind"]> = new Set(["user", "client", "issuer"]);

/** Returns until when the tokens can be valid, in seconds. */
function endOfRevocation(until: Date | undefined, { keepSeconds, nowMs, principal }: EntryContext): number {
  const now = Math.floor(nowMs / 1000);
  const latest = now + keepSeconds;
  let end = latest;
  if (until !== undefined) end = timeOf("until", until) / 1000;
  else if (principal) end = endOfToken(principal);
  if (until && end <= now)
    throw new RangeError("`until` has passed, so nothing would be revoked. Pass a later time.");
  if (end > latest)
    throw new RangeError(
      `The tokens can be valid for longer than revocations are kept (${keepSeconds} s). Raise \`keepSeconds\`.`,
    );
  return end;
}

/** Callers without types may pass a target with any properties. */
function identifyTarget(target: Readonly<Record<string, unknown>>): RevokedSubject {
  const { issuer, before: _, ...ids } = target;
  const [name, ...otherNames] = Object.keys(ids);
  // An `issuer` that is present but undefined must not revoke the tokens of all issuers.
  if (otherNames.length > 0 || ("issuer" in target && !isText(issuer))) throw new TypeError(USAGE);
  const kind = KINDS.get(name);
  // An id that is undefined must not revoke all tokens of an issuer.
  const id = name === undefined ? issuer : ids[name];
  if (!kind || !isText(id)) throw new TypeError(USAGE);
  return compact({ kind, id, issuer: kind === "issuer" ? undefined : (issuer as string | undefined) });
}

/** A token is identified by its `jti`, which is unique for its issuer (RFC 7519 section 4.1.7). */
function identifyToken(principal: Principal, target: RevocationTarget): RevokedSubject {
  if (Object.keys(target).length > 1) throw new TypeError(USAGE);
  const { tokenId, issuer } = principal;
  if (tokenId === undefined || tokenId === "")
    return compact({ kind: "claims", id: fingerprintOf(principal), issuer } as const);
  return compact({ kind: "token", id: tokenId, issuer } as const);
}

function endOfToken({ expiresAt }: Principal): number {
  if (expiresAt !== undefined) return expiresAt;
  throw new RangeError(
    "The token has no `exp`, so it would be accepted again when the revocation is forgotten. Pass `until`, or add `exp` to `requiredClaims`.",
  );
}

const fingerprints = new WeakMap<Principal, string>();

/**
 * Identifies a token without `jti` by its claims. A hash of the token wouldn't work: from an ECDSA signature,
 * a client can compute a second valid signature, and so a second token.
 */
export function fingerprintOf(principal: Principal): string {
  let fingerprint = fingerprints.get(principal);
  if (fingerprint === undefined) {
    fingerprint = hash("sha256", JSON.stringify(principal.claims), "base64url");
    fingerprints.set(principal, fingerprint);
  }
  return fingerprint;
}
