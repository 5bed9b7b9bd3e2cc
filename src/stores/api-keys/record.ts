/** The record of a key in a store, and how a key is created. */
import { isScopeToken, splitScope } from "../../core/scopes/scope.ts";
import { digestOf, makeKey, requirePrefix } from "./key-format.ts";

/** The record of a key in a store, without the key itself. Times are in seconds since the epoch. */
export interface ApiKeyRecord {
  /** The part of the key that is not secret: 12 letters or digits. It becomes `principal.tokenId`. */
  readonly id: string;
  /** The SHA-256 of the key, or its HMAC-SHA-256 with the pepper, in base64url. */
  readonly hash: string;
  /** What people call the key. */
  readonly name: string;
  /** The scopes that the key grants: at least one. */
  readonly scopes: readonly string[];
  /** The user or service account that the key speaks for. It becomes `principal.userId`. */
  readonly ownerId: string;
  /** When the key was created. */
  readonly createdAt: number;
  /** When the key expires. Absent: never. */
  readonly expiresAt?: number;
  /** When the key was revoked. Absent: it is not revoked. */
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
  /** The `pepper` of `apiKeys`, if it is set: at least 16 characters. Default: none. */
  readonly pepper?: string;
}

/**
 * Creates a key with 256 random bits. Show `key` once, and add `record` to a store.
 *
 * @throws TypeError for an option that is missing or invalid
 * @example
 * ```ts
 * import { createApiKey } from "scopegate/api-keys";
 *
 * const { key, record } = createApiKey({ prefix: "acme_pat_", name: "ci", scopes: ["agents:read"], ownerId: "u1" });
 * console.log(key, record);
 * ```
 */
export function createApiKey(options: NewApiKey): { readonly key: string; readonly record: ApiKeyRecord } {
  const { prefix, name, scopes, ownerId, expiresAt } = options;
  requirePrefix(prefix);
  // An unset variable must not create a key that never expires.
  const end = "expiresAt" in options && toSeconds(Number(expiresAt));
  if (end !== false && !(end > toSeconds(Date.now())))
    throw new TypeError("`expiresAt` must be a Date in the future.");
  const { id, key } = makeKey(prefix);
  const hash = digestOf(key, options).toString("base64url");
  const createdAt = toSeconds(Date.now());
  const made = { id, hash, name, scopes, ownerId, createdAt, ...(end !== false && { expiresAt: end }) };
  const record = requireRecord(made, id);
  const useless = scopes.find(
    (scope) => !isScopeToken(scope) || /<\w*>/.test(scope) || splitScope(scope).includes(""),
  );
  if (useless !== undefined)
    throw new TypeError(
      `${JSON.stringify(useless)} is a scope that grants nothing. Write \`resource:action\`.`,
    );
  return { key, record: { ...record, scopes: [...new Set(scopes)] } };
}

export const toSeconds = (ms: number): number => Math.floor(ms / 1000);

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
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
