import type { KeyObject, webcrypto } from "node:crypto";
import type { ConfigurationIssue } from "../errors.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type Algorithm, isSymmetric } from "./algorithm.ts";
import type { KeySourceStatus } from "./key-event.ts";

/** The properties of a JWK (RFC 7517 section 4) that this library reads. Compatible with jose and Node.js. */
export interface JsonWebKey {
  /** The key type. Required; checked at construction. */
  readonly kty?: string | undefined;
  /** The key id. A token names its key with the same id. */
  readonly kid?: string | undefined;
  /** The only algorithm that the key may be used with. */
  readonly alg?: string | undefined;
  /** `"sig"` or absent. Keys with another use don't verify tokens. */
  readonly use?: string | undefined;
  /** Contains `"verify"`, or is absent. */
  readonly key_ops?: readonly string[] | undefined;
  /** The secret of an `oct` key, in base64url. */
  readonly k?: string | undefined;
}

/** A JWK Set (RFC 7517 section 5). */
export interface JsonWebKeySet {
  /** Public keys, or secrets for HS*. A private key is an error. */
  readonly keys: readonly JsonWebKey[];
}

/** A key in any form that `verificationKeys` accepts. */
export type VerificationKeyInput = string | JsonWebKey | KeyObject | webcrypto.CryptoKey;

/** A key in the form that jose accepts. */
export type KeyMaterial = KeyObject | webcrypto.CryptoKey;

/** A key that may verify tokens with the listed algorithms and no other. */
export interface VerificationKey {
  readonly kid?: string;
  readonly algorithms: ReadonlySet<Algorithm>;
  /** Returns the key; a promise until it's imported. */
  readonly material: (algorithm: Algorithm) => KeyMaterial | Promise<KeyMaterial>;
}

/** Why a key can't be used. Never quotes the key. */
export type KeyMistake = Omit<ConfigurationIssue, "path">;

export type ImportedKey =
  | { readonly kind: "key"; readonly key: VerificationKey }
  | { readonly kind: "mistake"; readonly mistake: KeyMistake };

export const keyMistake = (code: KeyMistake["code"], message: string, hint: string): ImportedKey => ({
  kind: "mistake",
  mistake: { code, message, hint },
});

/** The header parameters that select a key. Never `jwk`, `jku`, `x5u` or `x5c`, which the sender controls. */
export interface KeyQuery {
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
}

/** Finds the keys for a token's header. Implementations limit how long this takes. */
export interface KeyResolver {
  /** Throws when the keys are unavailable. */
  find(query: KeyQuery): readonly VerificationKey[] | Promise<readonly VerificationKey[]>;
  /**
   * Finds newer keys when none of the earlier ones matched a signature. Doesn't throw: without newer keys,
   * the earlier ones decide.
   */
  findNewer?(query: KeyQuery): Promise<readonly VerificationKey[]>;
  /** Returns in how many seconds unavailable keys may be available again; at least 1. */
  retryAfterSeconds?(): number;
  /** Returns whether an earlier key is still in use; `false` if that is unknown without waiting. */
  holds(key: VerificationKey): boolean;
  /** Loads and imports all keys. */
  ready(): Promise<void>;
  /** Loads all keys again, by a request that starts after this call. */
  refresh(): Promise<void>;
  status(): KeySourceStatus;
  /** Stops background work. */
  close(): void;
}

/** Returns the keys with a token's algorithm and `kid`, or those without a `kid` if no key has this `kid`. */
export function selectKeys(
  keys: readonly VerificationKey[],
  { algorithm, kid }: KeyQuery,
): readonly VerificationKey[] {
  const supported = keys.filter((key) => key.algorithms.has(algorithm));
  if (kid === undefined) return supported;
  const withKid = supported.filter((key) => key.kid === kid);
  return withKid.length > 0 ? withKid : supported.filter((key) => key.kid === undefined);
}

/** Finds two secrets with one `kid`: tokens that are signed with the old one would still be accepted. */
export function findRepeatedSecret(keys: readonly VerificationKey[]): KeyMistake | undefined {
  const kids = keys
    .filter(({ kid, algorithms }) => kid !== undefined && [...algorithms].some(isSymmetric))
    .map(({ kid }) => kid);
  return new Set(kids).size < kids.length ? REPEATED_SECRET : undefined;
}

const REPEATED_SECRET: KeyMistake = {
  code: "key_invalid",
  message: "contains two secrets with the same `kid`.",
  hint: "Give each secret a `kid` of its own, and remove the secret that is no longer used.",
};

/** Returns the `kid`s of keys, for operators. */
export const keyIdsOf = (keys: readonly VerificationKey[]): readonly string[] =>
  keys.flatMap(({ kid }) => kid ?? []);

/** Returns a key in the form that jose accepts. Throws when the import takes too long. */
export function materialOf(key: VerificationKey, algorithm: Algorithm): KeyMaterial | Promise<KeyMaterial> {
  const material = key.material(algorithm);
  return material instanceof Promise ? withinLimit(material, "The import of a key") : material;
}

/** Imports every key for each of its algorithms, so that the first request doesn't have to. */
export async function importMaterial(keys: readonly VerificationKey[]): Promise<void> {
  for (const key of keys) for (const algorithm of key.algorithms) await materialOf(key, algorithm);
}
