import { attempt, type Report } from "../errors.ts";
import { type Algorithm } from "./algorithm.ts";
import { importJwk, invalid } from "./import-key.ts";
import {
  findRepeatedSecret,
  type ImportedKey,
  type JsonWebKey,
  type JsonWebKeySet,
  type KeyMistake,
  type VerificationKey,
} from "./verification-key.ts";

/** The maximum size of a JWK Set in bytes: far more than real key sets need. */
export const MAX_BYTES = 512 * 1024;

/** The usable keys of a JWK Set, and the indexes of private keys, which must not be in it. */
export interface ImportedJwks {
  readonly keys: readonly VerificationKey[];
  readonly leaks: readonly (readonly [index: number, mistake: KeyMistake])[];
}

/** Imports a JWK Set. Keys that cannot be used are ignored (RFC 7517 section 5). */
export function importJwks(set: JsonWebKeySet, algorithms: readonly Algorithm[]): ImportedJwks {
  const keys: VerificationKey[] = [];
  const leaks: [number, KeyMistake][] = [];
  for (const [index, jwk] of set.keys.entries()) {
    const imported = importJwk(jwk, algorithms);
    if (imported.kind === "key") keys.push(imported.key);
    else if (imported.mistake.code === "key_private") leaks.push([index, imported.mistake]);
  }
  return { keys, leaks };
}

/** Imports a JWK Set at construction. Reports a private key, and a set without a usable key. */
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
      message: `contains no key for ${algorithms.join(", ")}.`,
      hint: "Pass the JWK Set of the issuer, and set `algorithm` to the algorithm that the issuer signs with.",
    });
  }
  const repeated = findRepeatedSecret(keys);
  if (repeated) report({ ...repeated, path: [...path, "keys"] });
  return keys.length === 0 || leaks.length > 0 || repeated ? undefined : keys;
}

/** Parses a JWK Set; returns `undefined` if the bytes are not one. */
export function parseJwks(bytes: Uint8Array): JsonWebKeySet | undefined {
  const value = attempt((): unknown => JSON.parse(decodeText(bytes)));
  return isJwks(value) ? value : undefined;
}

/** Decodes UTF-8 without a byte order mark, which some editors write and JSON does not allow. */
export const decodeText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Returns whether a value has the shape of a JWK Set. Each key is checked on its own later. */
export function isJwks(value: unknown): value is JsonWebKeySet {
  return typeof value === "object" && value !== null && "keys" in value && Array.isArray(value.keys);
}

/** The usable keys of a JWK Set, each by its JWK as JSON, and what is wrong with the others. */
export interface LoadedJwks {
  readonly keys: ReadonlyMap<string, VerificationKey>;
  readonly problems: readonly string[];
}

/** One token may have to be tried with every key of a set. */
const MAX_KEYS = 100;

/**
 * Imports a JWK Set that was loaded after construction. A bad key does not affect the others. A key that is
 * in `known` stays the same object, so that a cached token remains valid.
 */
export function importLoadedJwks(
  set: JsonWebKeySet,
  algorithms: readonly Algorithm[],
  known: ReadonlyMap<string, VerificationKey>,
  importOne: typeof importJwk,
): LoadedJwks {
  const keys = new Map<string, VerificationKey>();
  const kids = new Set<string>();
  const problems: string[] = [];
  for (const [index, jwk] of set.keys.slice(0, MAX_KEYS).entries()) {
    const addProblem = (problem: string) => problems.push(`keys[${index}] ${problem}`);
    // JSON that is nested too deeply can be parsed but not written again.
    const json = attempt(() => JSON.stringify(jwk));
    if (json === undefined) {
      addProblem("is not a valid JWK.");
      continue;
    }
    const knownKey = known.get(json);
    const imported = knownKey ? ({ kind: "key", key: knownKey } as const) : importOne(jwk, algorithms);
    if (imported.kind === "mistake") {
      // A key for another purpose, such as encryption, is not a problem.
      if (imported.mistake.code !== "key_unusable") addProblem(imported.mistake.message);
      continue;
    }
    const { kid } = imported.key;
    if (kid === undefined && set.keys.length > 1) addProblem("has no `kid`.");
    if (kid !== undefined && kids.has(kid)) addProblem("repeats a `kid`.");
    if (kid !== undefined) kids.add(kid);
    keys.set(json, imported.key);
  }
  const repeated = findRepeatedSecret([...keys.values()]);
  if (repeated) return { keys: new Map(), problems: [...problems, `The set ${repeated.message}`] };
  if (keys.size === 0) problems.push(`There is no key for ${algorithms.join(", ")}.`);
  if (set.keys.length > MAX_KEYS) problems.push(`Only the first ${MAX_KEYS} keys are used.`);
  return { keys, problems };
}

/** Imports a key of a published set. A secret in it is a mistake whatever its `use`: everyone can read it. */
export function importPublished(jwk: JsonWebKey, algorithms: readonly Algorithm[]): ImportedKey {
  const { kty } = { ...jwk };
  if (kty === "oct") return invalid("is a symmetric key, which must not be published.");
  if (typeof kty === "string" && !["RSA", "EC", "OKP"].includes(kty)) return invalid("has an unknown `kty`.");
  return importJwk(jwk, algorithms);
}
