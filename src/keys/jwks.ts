import { attempt, type Report } from "../errors.ts";
import { type Algorithm } from "./algorithm.ts";
import { importJwk } from "./import-key.ts";
import {
  isVerificationKey,
  type JsonWebKeySet,
  type KeyMistake,
  type VerificationKey,
} from "./verification-key.ts";

/**
 * Imports the keys of a JWK Set that suit the algorithms; the others are left out (RFC 7517 section 5). A private key
 * in the set is reported: whoever wrote it there leaked it.
 */
export function importJwks(
  set: JsonWebKeySet,
  algorithms: readonly Algorithm[],
  path: readonly (string | number)[],
  report: Report,
): readonly VerificationKey[] | undefined {
  const imported = set.keys.map((jwk) => importJwk(jwk, algorithms));
  const keys = imported.filter(isVerificationKey);
  const mistakes = [...imported.entries()].filter(
    (entry): entry is [number, KeyMistake] => !isVerificationKey(entry[1]),
  );
  const leaked = mistakes.filter(([, { code }]) => code === "key_private");
  for (const [index, mistake] of leaked) report({ ...mistake, path: [...path, "keys", index] });
  if (keys.length === 0 && leaked.length === 0) {
    const [first] = mistakes;
    report({
      code: "key_unusable",
      path: [...path, "keys"],
      message: `holds no key for ${algorithms.join(", ")}${first ? `; the first one ${first[1].message}` : "."}`,
      hint: "Give the JWK Set of the issuer, and set `algorithm` to the one it signs with.",
    });
  }
  return keys.length === 0 || leaked.length > 0 ? undefined : keys;
}

/** Reads a JWK Set from JSON text, or `undefined` when it is none. */
export function parseJwks(text: string): JsonWebKeySet | undefined {
  const value = attempt((): unknown => JSON.parse(text));
  return isJwks(value) ? value : undefined;
}

/** Whether a value has the shape of a JWK Set: `keys`, a list of objects with a `kty`. */
export function isJwks(value: unknown): value is JsonWebKeySet {
  if (typeof value !== "object" || value === null || !("keys" in value) || !Array.isArray(value.keys))
    return false;
  return value.keys.every((jwk: unknown) => {
    return typeof jwk === "object" && jwk !== null && "kty" in jwk && typeof jwk.kty === "string";
  });
}
