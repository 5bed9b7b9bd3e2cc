/** The public key in the header of a proof, and its thumbprint (RFC 7638). */
import { hash } from "node:crypto";
import type { JsonWebKey } from "../../core/keys/verification-key.ts";
import { claimAt } from "../../core/token/claim-path.ts";

/** An RSA modulus of 4096 bits in base64url: a larger key makes each verification slow. */
const MAX_MODULUS_LENGTH = 683;
/** 65537 has 4 characters. Larger exponents make verification slow. */
const MAX_EXPONENT_LENGTH = 6;

/** RFC 7638 section 3.2, RFC 8037 section 2: the properties that a thumbprint depends on, in order. */
const KEY_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ["crv", "kty", "x", "y"],
  OKP: ["crv", "kty", "x"],
  RSA: ["e", "kty", "n"],
};

/** Reads the properties that identify the key. `importJwk` rejects private and weak keys. */
export function readPublicKey(
  jwk: unknown,
): { readonly key: JsonWebKey; readonly thumbprint: string } | undefined {
  if (typeof jwk !== "object" || jwk === null || Array.isArray(jwk)) return undefined;
  const key = jwk as JsonWebKey & Readonly<Record<string, unknown>>;
  const kty = claimAt(key, "kty");
  const names = typeof kty === "string" && Object.hasOwn(KEY_MEMBERS, kty) ? KEY_MEMBERS[kty] : undefined;
  const members = names?.map((name) => [name, claimAt(key, name)] as const);
  if (!members?.every(([, value]) => typeof value === "string" && isWord(value))) return undefined;
  const publicMembers = Object.fromEntries(members) as Readonly<Record<string, string>>;
  const { n = "", e = "" } = publicMembers;
  if (n.length > MAX_MODULUS_LENGTH || e.length > MAX_EXPONENT_LENGTH) return undefined;
  return { key, thumbprint: hash("sha256", JSON.stringify(publicMembers), "base64url") };
}

/** The name of a curve, or base64url. */
const isWord = (value: string): boolean => /^[\w-]+$/.test(value);
