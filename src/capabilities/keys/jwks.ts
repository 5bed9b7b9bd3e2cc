import { type ConfigurationIssue, orUndefined, type Report } from "../../core/errors.ts";
import type { Algorithm } from "../../core/keys/algorithm.ts";
import { decodeText } from "../../core/keys/fetch-json.ts";
import { importJwk, invalidKey } from "../../core/keys/import-key.ts";
import {
  findRepeatedSecret,
  type ImportedKey,
  type JsonWebKey,
  type JsonWebKeySet,
  type VerificationKey,
} from "../../core/keys/verification-key.ts";

/**
 * Imports a JWK Set at construction. Keys that can't be used are ignored (RFC 7517 section 5). Private keys,
 * and sets without a usable key, are reported.
 */
export function requireJwks(
  set: JsonWebKeySet,
  algorithms: readonly Algorithm[],
  setPath: readonly (string | number)[],
  report: Report,
  importEntry = importJwk,
): readonly VerificationKey[] | undefined {
  const path = [...setPath, "keys"];
  const keys: VerificationKey[] = [];
  const issues: ConfigurationIssue[] = [];
  for (const [index, jwk] of set.keys.entries()) {
    const imported = importEntry(jwk, algorithms);
    if (imported.kind === "key") keys.push(imported.key);
    else if (imported.mistake.code === "key_private")
      issues.push({ ...imported.mistake, path: [...path, index] });
  }
  if (keys.length === 0 && issues.length === 0) {
    const message = `contains no key for ${algorithms.join(", ")}.`;
    const hint =
      "Pass the JWK Set of the issuer, and set `algorithm` to the algorithm that the issuer signs with.";
    issues.push({ code: "key_unusable", path, message, hint });
  }
  const repeated = findRepeatedSecret(keys);
  if (repeated) issues.push({ ...repeated, path });
  for (const issue of issues) report(issue);
  return issues.length > 0 ? undefined : keys;
}

/** The option of a key source with a JWK Set. */
export interface KeyUse {
  /**
   * The `use` of the keys in the set that verify tokens (RFC 7517 section 4.2): `"jwt-svid"` for the bundle
   * of a SPIFFE trust domain, whose other keys are ignored. Default: `"sig"`, or no `use`.
   */
  readonly use?: "sig" | "jwt-svid";
}

/** Imports only the keys whose `use` isn't `sig`. */
export const importerFor =
  (use: KeyUse["use"], importEntry: typeof importJwk): typeof importJwk =>
  (jwk, algorithms) => {
    if (use === undefined || use === "sig") return importEntry(jwk, algorithms);
    const { use: written } = { ...jwk };
    // No algorithm allows this `use`, so the key is ignored.
    return importEntry({ ...jwk, use: written === use ? "sig" : "other" }, algorithms);
  };

/** Parses a JWK Set; returns `undefined` if the bytes aren't one. */
export function parseJwks(bytes: Uint8Array): JsonWebKeySet | undefined {
  const value = orUndefined((): unknown => JSON.parse(decodeText(bytes)));
  return isJwks(value) ? value : undefined;
}

/** Returns whether a value has the shape of a JWK Set. Each key is checked later. */
export function isJwks(value: unknown): value is JsonWebKeySet {
  return typeof value === "object" && value !== null && "keys" in value && Array.isArray(value.keys);
}

/** The usable keys of a JWK Set, by their JWK as JSON, and what is wrong with the other keys. */
export interface LoadedJwks {
  readonly keys: ReadonlyMap<string, VerificationKey>;
  readonly problems: readonly string[];
}

/** A token may have to be tried with every key of a set. */
const MAX_KEYS = 100;

/**
 * Imports a JWK Set that was loaded after construction. An invalid key doesn't affect the others. A key in
 * `keysInUse` stays the same object, so that cached tokens remain valid.
 */
export function importLoadedJwks(
  set: JsonWebKeySet,
  algorithms: readonly Algorithm[],
  keysInUse: ReadonlyMap<string, VerificationKey>,
  importEntry: typeof importJwk,
): LoadedJwks {
  const keys = new Map<string, VerificationKey>();
  const kids = new Set<string>();
  const problems: string[] = [];
  for (const [index, jwk] of set.keys.slice(0, MAX_KEYS).entries()) {
    const addProblem = (problem: string) => problems.push(`keys[${index}] ${problem}`);
    // JSON that is nested too deeply can be parsed but not written again.
    const json = orUndefined(() => JSON.stringify(jwk));
    if (json === undefined) {
      addProblem("isn't a valid JWK.");
      continue;
    }
    const keyInUse = keysInUse.get(json);
    const imported: ImportedKey = keyInUse ? { kind: "key", key: keyInUse } : importEntry(jwk, algorithms);
    if (imported.kind === "mistake") {
      // A key for another purpose, such as encryption, isn't a problem.
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

/** Imports a key of a published set. A secret in it is a mistake, whatever its `use`: anyone can read it. */
export function importPublished(jwk: JsonWebKey, algorithms: readonly Algorithm[]): ImportedKey {
  const { kty } = { ...jwk };
  if (kty === "oct") return invalidKey("is a symmetric key, which must not be published.");
  if (typeof kty === "string" && !["RSA", "EC", "OKP"].includes(kty))
    return invalidKey("has an unknown `kty`.");
  return importJwk(jwk, algorithms);
}
