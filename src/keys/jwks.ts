import { attempt, type Report } from "../errors.ts";
import { type Algorithm } from "./algorithm.ts";
import { importJwk } from "./import-key.ts";
import {
  isVerificationKey,
  type JsonWebKeySet,
  type KeyMistake,
  type VerificationKey,
} from "./verification-key.ts";

/** The keys of a JWK Set that suit the algorithms, and the places of private ones, which somebody leaked there. */
export interface ImportedJwks {
  readonly keys: readonly VerificationKey[];
  readonly leaks: readonly (readonly [index: number, mistake: KeyMistake])[];
}

/** Imports a JWK Set; keys that cannot be used are left out (RFC 7517 section 5). */
export function importJwks(set: JsonWebKeySet, algorithms: readonly Algorithm[]): ImportedJwks {
  const imported = [...set.keys.map((jwk) => importJwk(jwk, algorithms)).entries()];
  return {
    keys: imported.flatMap(([, key]) => (isVerificationKey(key) ? [key] : [])),
    leaks: imported.flatMap(([index, key]) =>
      !isVerificationKey(key) && key.code === "key_private" ? [[index, key] as const] : [],
    ),
  };
}

/** The keys of a JWK Set, or a report of why it cannot be started with: a leaked private key, or no key that suits. */
export function requireJwks(
  set: JsonWebKeySet,
  algorithms: readonly Algorithm[],
  path: readonly (string | number)[],
  report: Report,
): readonly VerificationKey[] | undefined {
  const { keys, leaks } = importJwks(set, algorithms);
  for (const [index, mistake] of leaks) report({ ...mistake, path: [...path, "keys", index] });
  if (keys.length === 0 && leaks.length === 0) {
    report({
      code: "key_unusable",
      path: [...path, "keys"],
      message: `holds no key for ${algorithms.join(", ")}.`,
      hint: "Give the JWK Set of the issuer, and set `algorithm` to the one it signs with.",
    });
  }
  return keys.length === 0 || leaks.length > 0 ? undefined : keys;
}

/** Reads a JWK Set from JSON text, or `undefined` when it is none. */
export function parseJwks(text: string): JsonWebKeySet | undefined {
  const value = attempt((): unknown => JSON.parse(text));
  return isJwks(value) ? value : undefined;
}

/** Whether a value has the shape of a JWK Set. Its entries are looked at one by one: one that is no key spoils no other. */
export function isJwks(value: unknown): value is JsonWebKeySet {
  return typeof value === "object" && value !== null && "keys" in value && Array.isArray(value.keys);
}
