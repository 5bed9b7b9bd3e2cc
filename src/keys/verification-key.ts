import { type KeyObject, type webcrypto } from "node:crypto";
import { type ConfigurationIssueCode } from "../errors.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type Algorithm } from "./algorithm.ts";

/** A JSON Web Key (RFC 7517 section 4), as far as this library reads it; the types of jose and of Node.js fit it. */
export interface JsonWebKey {
  /** Required; checked at construction. */
  readonly kty?: string | undefined;
  /** The key's name; a token names its key by it. */
  readonly kid?: string | undefined;
  /** The one algorithm that the key is for, where it says so. */
  readonly alg?: string | undefined;
  /** `"sig"`, or left out: other keys verify nothing. */
  readonly use?: string | undefined;
  /** Has `"verify"`, or is left out. */
  readonly key_ops?: readonly string[] | undefined;
  /** The secret of an `oct` key, in base64url. */
  readonly k?: string | undefined;
}

/** A JWK Set (RFC 7517 section 5). */
export interface JsonWebKeySet {
  /** Public keys; a private one is a mistake. */
  readonly keys: readonly JsonWebKey[];
}

/** A key in any of the forms that `verificationKeys` takes. */
export type VerificationKeyInput = string | JsonWebKey | KeyObject | webcrypto.CryptoKey;

/** A key as jose takes it. */
export type KeyMaterial = KeyObject | webcrypto.CryptoKey;

/** A key that is fit to verify with the algorithms it lists, and with no other. */
export interface VerificationKey {
  readonly kid?: string;
  readonly algorithms: ReadonlySet<Algorithm>;
  /** A secret is imported once, on first use. */
  readonly material: (algorithm: Algorithm) => KeyMaterial | Promise<KeyMaterial>;
}

/** Why a key cannot be used. The texts never quote the key. */
export interface KeyMistake {
  readonly code: ConfigurationIssueCode;
  readonly message: string;
  readonly hint: string;
}

/** The header parameters that choose a key. Never `jwk`, `jku`, `x5u` or `x5c`: those let the sender choose. */
export interface KeyQuery {
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
}

/** Where keys come from, as a function of the token's header. Each bounds the time of its own answers. */
export interface KeyResolver {
  /** Throws when no answer can be had. */
  find(query: KeyQuery): readonly VerificationKey[] | Promise<readonly VerificationKey[]>;
  /** Whether a key that was found is in use still; `false` where that cannot be told without waiting. */
  holds(key: VerificationKey): boolean;
  /** Loads and imports everything now. */
  ready(): Promise<void>;
  /** Ends background work. */
  close(): void;
}

export const isVerificationKey = (key: VerificationKey | KeyMistake): key is VerificationKey =>
  "algorithms" in key;

/**
 * The keys that may have signed a token: fit for its algorithm, and of its `kid`. A key without a `kid` may be any;
 * one with another `kid` is not tried.
 */
export function selectKeys(
  keys: readonly VerificationKey[],
  { algorithm, kid }: KeyQuery,
): readonly VerificationKey[] {
  const fit = keys.filter((key) => key.algorithms.has(algorithm));
  if (kid === undefined) return fit;
  const named = fit.filter((key) => key.kid === kid);
  return named.length > 0 ? named : fit.filter((key) => key.kid === undefined);
}

/** Whether these keys settle a token: it names one of them, or nothing in the set has a name. */
export function isAnswer(
  found: readonly VerificationKey[],
  list: readonly VerificationKey[],
  { kid }: KeyQuery,
): boolean {
  if (found.length === 0 || kid === undefined) return found.length > 0;
  return found[0]?.kid === kid || list.every((key) => key.kid === undefined);
}

/** A key as jose takes it, for one of its algorithms. Throws when its import takes too long. */
export function materialOf(key: VerificationKey, algorithm: Algorithm): KeyMaterial | Promise<KeyMaterial> {
  const material = key.material(algorithm);
  // What is there already needs no timer.
  return material instanceof Promise ? withinLimit(material, "The import of a key") : material;
}

/** Imports every key for every algorithm it serves, so that the first request does not have to. */
export async function importMaterial(keys: readonly VerificationKey[]): Promise<void> {
  for (const key of keys)
    for (const algorithm of key.algorithms) await withinLimit(key.material(algorithm), "The import of a key");
}
