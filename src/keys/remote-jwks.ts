import { attempt } from "../errors.ts";
import { type Algorithm } from "./algorithm.ts";
import { importJwk } from "./import-key.ts";
import {
  isVerificationKey,
  type JsonWebKey,
  type JsonWebKeySet,
  type VerificationKey,
} from "./verification-key.ts";

/** What was made of a published set: its good keys, each by its JWK as text, and what is wrong with the others. */
export interface RemoteJwks {
  readonly keys: ReadonlyMap<string, VerificationKey>;
  readonly complaints: readonly string[];
}

/** Every key of one set may have to be tried for one token. */
const MAX_KEYS = 100;

/**
 * Imports a published JWK Set. One bad key spoils no other. A key that is there already stays the same object, so that
 * whoever remembers a key can tell whether it is still in use.
 */
export function importRemoteJwks(
  set: JsonWebKeySet,
  algorithms: readonly Algorithm[],
  known: ReadonlyMap<string, VerificationKey>,
): RemoteJwks {
  const keys = new Map<string, VerificationKey>();
  const kids = new Set<string>();
  const complaints: string[] = [];
  for (const [index, jwk] of set.keys.slice(0, MAX_KEYS).entries()) {
    const complain = (what: string) => complaints.push(`keys[${index}] ${what}`);
    const objection = objectionTo(jwk);
    if (objection !== undefined) {
      complain(objection);
      continue;
    }
    // What could be parsed may be nested too deep to be written again.
    const text = attempt(() => JSON.stringify(jwk));
    if (text === undefined) {
      complain("is not a JWK that can be read.");
      continue;
    }
    const key = known.get(text) ?? importJwk(jwk, algorithms);
    if (!isVerificationKey(key)) {
      // Published for something else, encryption perhaps: that is as it should be.
      if (key.code !== "key_unusable") complain(key.message);
      continue;
    }
    if (key.kid === undefined && set.keys.length > 1) complain("has no `kid`.");
    if (key.kid !== undefined && kids.has(key.kid)) complain("repeats a `kid`.");
    if (key.kid !== undefined) kids.add(key.kid);
    keys.set(text, key);
  }
  if (keys.size === 0) complaints.push(`There is no key for ${algorithms.join(", ")}.`);
  if (set.keys.length > MAX_KEYS) complaints.push(`Only the first ${MAX_KEYS} keys are used.`);
  return { keys, complaints };
}

/** What stands against a key whatever it says of its use: a secret that is published is one no more. */
function objectionTo(jwk: JsonWebKey | null): string | undefined {
  if (jwk?.kty === "oct") return "is a secret, which is known to everyone now.";
  if (typeof jwk?.kty === "string" && !["RSA", "EC", "OKP"].includes(jwk.kty))
    return "is of an unknown type.";
  return undefined;
}

/** Whether two sets hold the same keys, in whatever order. */
export const hasSameMembers = (one: RemoteJwks["keys"], other: RemoteJwks["keys"]): boolean =>
  one.size === other.size && [...one.keys()].every((text) => other.has(text));
