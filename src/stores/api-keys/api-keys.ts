/** API keys as an entry of the option `opaqueTokens`. */
import { timingSafeEqual } from "node:crypto";
import type { Rejection } from "../../core/errors.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { callback, numberFrom, type OptionChecks, required } from "../../core/options/option-checks.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import { notify } from "../../core/runtime/notify.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type LookupResult, Remembered } from "../../core/runtime/remembered.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import { opaqueTokens } from "../../capabilities/opaque/index.ts";
import type { OpaqueTokens, OpaqueVerification } from "../../core/token/opaque-tokens.ts";
import { digestOf, idOf, PEPPER_CHECK, PREFIX_CHECK } from "./key-format.ts";
import { type ApiKeyRecord, requireRecord, toSeconds } from "./record.ts";

/** The options of `apiKeys`. */
export interface ApiKeysOptions {
  /**
   * The beginning of each key: 3 to 32 letters, digits and `_`. It begins with a letter and ends with `_`.
   * A token that begins with it is only ever verified as a key.
   */
  readonly prefix: string;
  /**
   * Returns the record with an id, or `null` or `undefined` if there is none. It needn't run in constant
   * time: the id isn't secret, and the hash of the key is compared by the library. The request is refused
   * with 503 if `find` throws, takes more than five seconds, or returns anything else.
   */
  readonly find: (id: string) => Pending<ApiKeyRecord | null | undefined>;
  /** A secret of at least 16 characters, without which nobody can create keys. Default: none. */
  readonly pepper?: string;
  /**
   * Called in the background with the id of an accepted key and the time in seconds, at most once a minute
   * for each key. A failure doesn't affect the request. Default: none.
   */
  readonly onUse?: (id: string, at: number) => unknown;
  /**
   * How long a record is used before `find` is called again, in seconds from 0 to 3600. Requests that arrive
   * during a call share its result, even with 0. Default: `30`.
   */
  readonly cacheSeconds?: number;
  /**
   * How much longer the last record of a key is used while `find` fails, in seconds from 0 to 3600, after
   * `cacheSeconds`. Other keys get 503. Default: `30`.
   */
  readonly staleSeconds?: number;
}

const OPTIONS: OptionChecks<ApiKeysOptions> = {
  prefix: PREFIX_CHECK,
  find: required(callback("Write a function that takes an id and returns its record.")),
  pepper: PEPPER_CHECK,
  onUse: callback("Write a function that takes an id and a time in seconds."),
  cacheSeconds: numberFrom(0, 3600),
  staleSeconds: numberFrom(0, 3600),
};

const MAX_KEYS = 10_000;
/** How long an unknown id is remembered. */
const UNKNOWN_SECONDS = 5;
const USE_MS = 60_000;
/** How long a known key doesn't wait for `find` after a failure. */
const RETRY_MS = 1_000;

interface KnownKey {
  readonly kind: "known";
  /** A copy, because the store may change its own object. */
  readonly record: ApiKeyRecord;
  readonly digest: Buffer;
  readonly json: string;
  /** The same object as long as the record grants the same, so that the principal also stays the same. */
  readonly claims: Record<string, unknown>;
  /** When `find` was called for the record. */
  readonly readAt: number;
  usedAt: number;
}

type KeyLookup = KnownKey | { readonly kind: "unknown" };

/**
 * Accepts API keys: an entry of the option `opaqueTokens`. The `userId` of the principal is the owner of the
 * key, and its `tokenId` is the id of the key. It has no `issuer` and no `audience`, because a store of keys
 * belongs to one service.
 *
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { apiKeyFile, apiKeys } from "scopegate/api-keys";
 *
 * const { find, markUsed } = apiKeyFile("keys.json");
 * export const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   opaqueTokens: [apiKeys({ prefix: "acme_pat_", find, onUse: markUsed })],
 * });
 * ```
 */
export function apiKeys(options: ApiKeysOptions): OpaqueTokens {
  checkOptions("apiKeys", options, OPTIONS);
  const { prefix, find, onUse, cacheSeconds = 30, staleSeconds = 30 } = options;
  // Kept longer than it's used: the next record of the key may grant the same, and the store has no `usedAt`.
  const remembered = new Remembered<KeyLookup>({ maxEntries: MAX_KEYS, keepMs: Infinity });

  let fault: unknown;

  const findKey = async (id: string, since: number): Promise<LookupResult<KeyLookup>> => {
    const last = remembered.last(id);
    const lastKey = last?.kind === "known" ? last : undefined;
    let record: ApiKeyRecord | null | undefined;
    try {
      record = await withinLimit(find(id), "`find` of the API keys");
      fault = undefined;
    } catch (cause) {
      fault = cause;
      const staleUntil = (lastKey?.readAt ?? -Infinity) + (cacheSeconds + staleSeconds) * 1000;
      if (!lastKey || since < lastKey.readAt || since >= staleUntil) throw cause;
      return { value: lastKey, until: Math.min(since + RETRY_MS, staleUntil) };
    }
    if (record === undefined || record === null) {
      const seconds = Math.min(cacheSeconds, UNKNOWN_SECONDS);
      return { value: { kind: "unknown" }, until: since + seconds * 1000, isNegative: true };
    }
    const value = toKnownKey(requireRecord(record, id), since, lastKey);
    return { value, until: since + cacheSeconds * 1000 };
  };

  const decideKey = (key: KeyLookup, digest: Buffer, time: number): OpaqueVerification => {
    if (key.kind === "unknown") return reject("key", "There is no API key with this id.");
    if (!timingSafeEqual(key.digest, digest)) return reject("key", "The API key doesn't match its hash.");
    const { id, expiresAt, revokedAt } = key.record;
    if (revokedAt !== undefined) return reject("revoked");
    if (expiresAt !== undefined && time >= expiresAt * 1000) return reject("expired");
    if (onUse && time - key.usedAt >= USE_MS) {
      key.usedAt = time;
      notify(onUse, id, toSeconds(time));
    }
    return { kind: "verified", claims: key.claims };
  };

  return opaqueTokens({
    tokenKind: "api_key",
    status: () => ({
      tokenKind: "api_key",
      state: fault === undefined ? "ok" : "degraded",
      underWay: remembered.lookups.size,
      ...compact({ cause: fault }),
    }),
    scopesClaim: "scopes",
    claimNames: ["sub", "jti", "iat", "exp", "scopes", "name"],
    prefixes: [prefix],
    matches: (token) => token.startsWith(prefix),
    verify(key, { now }) {
      const id = idOf(key, prefix);
      if (id === undefined) return reject("malformed", "The API key has a wrong length or checksum.");
      const timeOf = () => readClock(now).getTime();
      const digest = digestOf(key, options.pepper);
      const time = timeOf();
      const result = remembered.get(id, time);
      if (result) return decideKey(result, digest, time);
      return remembered
        .lookUp(id, time, () => findKey(id, time))
        .then((lookup) => decideKey(lookup, digest, timeOf()));
    },
  });
}

const reject = (rejection: Rejection, cause?: string): OpaqueVerification => ({
  kind: "rejected",
  rejection,
  ...compact({ cause }),
});

/** Creates the entry to remember for a record. `last` is the previous entry of the same key. */
function toKnownKey(record: ApiKeyRecord, readAt: number, last: KnownKey | undefined): KnownKey {
  const json = JSON.stringify(claimsOf(record));
  const recordUsedAt = (record.lastUsedAt ?? 0) * 1000;
  return {
    kind: "known",
    record: { ...record },
    digest: Buffer.from(record.hash, "base64url"),
    json,
    claims: last?.json === json ? last.claims : (JSON.parse(json) as KnownKey["claims"]),
    readAt,
    usedAt: last ? Math.max(last.usedAt, recordUsedAt) : recordUsedAt,
  };
}

const claimsOf = ({ id, name, scopes, ownerId, createdAt, expiresAt }: ApiKeyRecord) => ({
  ...{ sub: ownerId, jti: id, iat: createdAt, exp: expiresAt, scopes, name },
});
