/** The record of a key in a store, and how a key is created. */
import { compact } from "../../core/runtime/compact.ts";
import { isText } from "../../core/runtime/json.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { type OptionChecks, required } from "../../core/options/option-checks.ts";
import { isScope } from "../../core/scopes/scope.ts";
import { digestOf, makeKey, PEPPER_CHECK, PREFIX_CHECK } from "./key-format.ts";

/** The record of a key in a store, without the key itself. Times are in seconds since the epoch. */
export interface ApiKeyRecord {
  /** The part of the key that isn't secret: 12 letters or digits. It becomes `principal.tokenId`. */
  readonly id: string;
  /** The SHA-256 of the key, or its HMAC-SHA-256 with the pepper, in base64url. */
  readonly hash: string;
  /** A name for the key. */
  readonly name: string;
  /** The scopes that the key grants: at least one. */
  readonly scopes: readonly string[];
  /** The user or service account that the key belongs to. It becomes `principal.userId`. */
  readonly ownerId: string;
  /** When the key was created. */
  readonly createdAt: number;
  /** When the key expires. If absent: never. */
  readonly expiresAt?: number;
  /** When the key was revoked. If absent: it isn't revoked. */
  readonly revokedAt?: number;
  /** Why the key was revoked, for operators. */
  readonly revokedReason?: string;
  /** When the key was last accepted, accurate to about a minute. */
  readonly lastUsedAt?: number;
}

/** The options of `createApiKey`. */
export interface NewApiKey extends Pick<ApiKeyRecord, "name" | "scopes" | "ownerId"> {
  /** The beginning of the key: the `prefix` of `apiKeys`. */
  readonly prefix: string;
  /** When the key expires. Default: never. */
  readonly expiresAt?: Date;
  /** The `pepper` of `apiKeys`, if it's set: at least 16 characters. Default: none. */
  readonly pepper?: string;
}

/** Returns whether the scope grants anything. */
const isUsefulScope = (scope: unknown): boolean => isText(scope) && isScope(scope) && !/<\w*>/.test(scope);

const OPTIONS: OptionChecks<NewApiKey> = {
  prefix: PREFIX_CHECK,
  name: required({ accepts: isText, hint: "Write a name for the key." }),
  scopes: required({
    accepts: (scopes) => Array.isArray(scopes) && scopes.length > 0 && scopes.every(isUsefulScope),
    hint: 'Write an array of at least one `resource:action`, such as ["agents:read"]. Templates such as <id> and empty parts grant nothing.',
  }),
  ownerId: required({ accepts: isText, hint: "Write the user or service account that the key belongs to." }),
  expiresAt: {
    accepts: (end) => toSeconds(Number(end)) > toSeconds(Date.now()),
    hint: "Write a Date in the future, or omit the option. Is the variable set?",
    rejectsUndefined: true,
  },
  pepper: PEPPER_CHECK,
};

/**
 * Creates a key with 256 random bits. Show `key` once, and add `record` to a store.
 *
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createApiKey } from "scopegate/api-keys";
 *
 * const { key, record } = createApiKey({ prefix: "acme_pat_", name: "ci", scopes: ["agents:read"], ownerId: "u1" });
 * console.log(key, record);
 * ```
 */
export function createApiKey(options: NewApiKey): { readonly key: string; readonly record: ApiKeyRecord } {
  checkOptions("createApiKey", options, OPTIONS);
  const { prefix, name, scopes, ownerId, expiresAt } = options;
  const { id, key } = makeKey(prefix);
  const record: ApiKeyRecord = {
    id,
    hash: digestOf(key, options.pepper).toString("base64url"),
    name,
    scopes: [...new Set(scopes)],
    ownerId,
    createdAt: toSeconds(Date.now()),
    ...compact({ expiresAt: expiresAt && toSeconds(Number(expiresAt)) }),
  };
  return { key, record };
}

export const toSeconds = (ms: number): number => Math.floor(ms / 1000);

const isAbsentOr = (isRight: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isRight(value);

const SHAPE: Readonly<Record<keyof ApiKeyRecord, (value: unknown) => boolean>> = {
  id: isText,
  // 32 bytes.
  hash: (value) => isText(value) && /^[\w-]{43}$/.test(value),
  name: isText,
  scopes: (value) => Array.isArray(value) && value.length > 0 && value.every(isText),
  ownerId: isText,
  createdAt: Number.isFinite,
  expiresAt: isAbsentOr(Number.isFinite),
  revokedAt: isAbsentOr(Number.isFinite),
  revokedReason: isAbsentOr(isText),
  lastUsedAt: isAbsentOr(Number.isFinite),
};

/** Checks what a store returns. @throws TypeError for anything but a valid record with this id */
export function requireRecord(value: unknown, id: unknown): ApiKeyRecord {
  const record = Object(value) as ApiKeyRecord;
  const wrong = Object.entries(SHAPE).find(
    ([name, isRight]) => !isRight(Object.hasOwn(record, name) ? Reflect.get(record, name) : undefined),
  );
  if (wrong) throw new TypeError(`An API key must have a valid \`${wrong[0]}\`.`);
  if (record.id !== id) throw new TypeError("The store returned the record of another API key.");
  return record;
}
