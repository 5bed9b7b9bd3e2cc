/** What can be revoked, and the interface of revocation stores. */
import { hash } from "node:crypto";
import { compact } from "../runtime/compact.ts";
import type { Pending } from "../runtime/pending.ts";
import type { Principal } from "./principal.ts";

/** One revocation. Times are in seconds since the epoch, as in the claims of tokens. */
export interface RevokedEntry {
  /** What `id` identifies. `claims`: a token without `jti`, by the fingerprint of all its claims. */
  readonly kind: "token" | "claims" | "session" | "user" | "issuer";
  /** The `jti`, session id, user id or issuer, or the fingerprint. */
  readonly id: string;
  /** Only tokens of this issuer are revoked. Absent: tokens of every issuer. */
  readonly issuer?: string;
  /** The latest `iat` that is revoked. Tokens without `iat` are revoked too. Absent: all tokens. */
  readonly before?: number;
  /** When the entry can be deleted, because the tokens have expired. */
  readonly until: number;
  /** Why, for operators. */
  readonly reason?: string;
}

/** The state of a revocation store. */
export interface RevocationStatus {
  /**
   * `ok`: all revocations are known. `degraded`: the shared store cannot be read, and the revocations that
   * are already known are used. `unavailable`: it is not known what is revoked, so requests with a token get
   * 503.
   */
  readonly state: "ok" | "degraded" | "unavailable";
  /** The number of entries in this process. */
  readonly entries: number;
  /** When the shared store was last read. Absent without a shared store, and before the first read. */
  readonly readAt?: Date;
  /** Why the state is not `ok`. */
  readonly cause?: unknown;
}

/** A store of revocations, for the option `revocation` of a server. */
export interface RevocationStore {
  /**
   * Returns whether a principal is revoked. It is called for every request with an accepted token, so it
   * should not need a promise. If it throws or rejects, the request gets 503.
   */
  isRevoked(principal: Principal): Pending<boolean>;
  /** Adds entries. Resolves when every process that shares the store can read them. */
  add(entries: readonly RevokedEntry[]): Promise<void>;
  /** The longest time that an entry is kept, in seconds: at least as long as a token is valid. */
  readonly keepSeconds: number;
  /** Resolves when all earlier revocations are known. */
  ready(): Promise<void>;
  /** Returns the current state, without reading the store. */
  status(): RevocationStatus;
  /** Stops background work. */
  close(): void;
}

/** What to revoke: one token, a session, a user or an issuer. Without `issuer`, tokens of every issuer. */
export type RevocationTarget =
  | {
      /** A token that this server accepts. It is identified by its `jti`, or else by all its claims. */
      readonly token: string;
    }
  | {
      /** The `jti` of a token, or the id of an API key. */
      readonly tokenId: string;
      readonly issuer?: string;
    }
  | {
      /** The `principal.sessionId` of the tokens. */
      readonly sessionId: string;
      readonly issuer?: string;
    }
  | {
      /** The `principal.userId` of the tokens. */
      readonly userId: string;
      readonly issuer?: string;
      /** Tokens that were issued in this second or earlier. Default: now. */
      readonly before?: Date;
    }
  | {
      readonly issuer: string;
      /** Tokens that were issued in this second or earlier. Default: now. */
      readonly before?: Date;
    };

/** How long a revocation is kept, and why it was made. */
export interface RevocationOptions {
  /**
   * When the revocation can be forgotten, because the tokens have expired. Default: the `exp` of `token`;
   * without `token`, `keepSeconds` of the store from now.
   */
  readonly until?: Date;
  /** Why, for operators. It is stored, and never sent to a client. */
  readonly reason?: string;
}

interface RevocationContext {
  readonly keepSeconds: number;
  readonly nowMs: number;
  readonly toleranceSeconds: number;
  /** The principal of a target with a token. */
  readonly principal?: Principal;
}

/** The property of a target that identifies each kind. */
const KINDS: ReadonlyMap<string | undefined, RevokedEntry["kind"]> = new Map([
  ["tokenId", "token"],
  ["sessionId", "session"],
  ["userId", "user"],
  [undefined, "issuer"],
]);
const USAGE = "Write one of { token }, { tokenId }, { sessionId }, { userId, before } or { issuer, before }.";

/** Converts a target to an entry. */
export function toRevokedEntry(
  target: RevocationTarget,
  options: RevocationOptions,
  context: RevocationContext,
): RevokedEntry {
  const { principal, nowMs, toleranceSeconds } = context;
  // A token is accepted for the clock tolerance after its `exp`.
  const until = Math.ceil(endOfRevocation(options.until, context)) + toleranceSeconds;
  const identity = principal ? identifyToken(principal, target) : identifyTarget({ ...target }, nowMs);
  return compact({ ...identity, until, reason: options.reason });
}

/** Returns until when the tokens can be valid, in seconds. */
function endOfRevocation(
  until: Date | undefined,
  { keepSeconds, nowMs, principal }: RevocationContext,
): number {
  const now = Math.floor(nowMs / 1000);
  const latest = now + keepSeconds;
  let end = latest;
  if (until) end = secondsOf("until", until);
  else if (principal) end = endOfToken(principal);
  if (until && end <= now)
    throw new RangeError("`until` has passed, so nothing would be revoked. Pass a later time.");
  if (end > latest)
    throw new RangeError(
      `The tokens can be valid for longer than revocations are kept (${keepSeconds} s). Raise \`keepSeconds\` of the store.`,
    );
  return end;
}

type Identity = Omit<RevokedEntry, "until" | "reason">;

/** Callers without types may pass a target with any properties. */
function identifyTarget(target: Readonly<Record<string, unknown>>, nowMs: number): Identity {
  const { issuer, before = new Date(nowMs), ...ids } = target;
  const [name, ...otherNames] = Object.keys(ids);
  // An issuer that is present, but undefined, must not revoke the tokens of all issuers.
  if (otherNames.length > 0 || ("issuer" in target && !isText(issuer))) throw new TypeError(USAGE);
  const kind = KINDS.get(name);
  // An id that is undefined must not revoke all tokens of an issuer.
  const id = name === undefined ? issuer : ids[name];
  if (!kind || !isText(id)) throw new TypeError(USAGE);
  const isLimited = kind === "user" || kind === "issuer";
  if (!isLimited && "before" in target) throw new TypeError(USAGE);
  return compact({
    kind,
    id,
    issuer: kind === "issuer" ? undefined : (issuer as string | undefined),
    before: isLimited ? secondsOf("before", before) : undefined,
  });
}

/** A token is identified by its `jti`, which is unique for one issuer (RFC 7519 section 4.1.7). */
function identifyToken(principal: Principal, target: RevocationTarget): Identity {
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
 * Identifies a token without `jti` by its claims. Its characters would not do: from an ECDSA signature, a
 * client can compute a second valid signature, and so a second token.
 */
export function fingerprintOf(principal: Principal): string {
  let fingerprint = fingerprints.get(principal);
  if (fingerprint === undefined) {
    fingerprint = hash("sha256", JSON.stringify(principal.claims), "base64url");
    fingerprints.set(principal, fingerprint);
  }
  return fingerprint;
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

function secondsOf(name: string, date: unknown): number {
  const seconds = date instanceof Date ? date.getTime() / 1000 : Number.NaN;
  if (Number.isNaN(seconds)) throw new TypeError(`\`${name}\` must be a valid Date.`);
  return name === "before" ? Math.floor(seconds) : seconds;
}
