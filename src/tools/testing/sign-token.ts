import { optionError } from "../../core/options/option-checks.ts";
import { SignJWT } from "jose/jwt/sign";
import { type Algorithm, ALGORITHMS, isSymmetric, isKeyFor } from "../../core/keys/algorithm.ts";
import { compact } from "../../core/runtime/compact.ts";
import { FLAWS } from "./flaws.ts";
import type { KeyRing } from "./key-ring.ts";
import { encode } from "./proofs.ts";
import type { TestKey } from "./test-key.ts";
import type { TestTokenOptions } from "./token-options.ts";

/** Signs the claims, with the flaw of `rejectedAs`. `changes` override the header. */
export async function signToken(
  { kid, header: changes, rejectedAs }: TestTokenOptions,
  claims: Readonly<Record<string, unknown>>,
  ring: KeyRing,
  header: { readonly alg: Algorithm; readonly typ?: string },
): Promise<string> {
  const key = kid === undefined ? ring.newest : ring.find(kid);
  const flaw = rejectedAs ? FLAWS[rejectedAs] : {};
  const named = compact({ kid: key.kid });
  const protectedHeader = { ...header, ...named, ...flaw.header, ...changes };
  // An unsecured JWT (RFC 7519 section 6).
  if (flaw.signature === "none") return `${encode(protectedHeader)}.${encode(claims)}.`;
  const signingKey = flaw.signature === "of another key" ? ring.foreign : key;
  requireAlgorithm(signingKey, protectedHeader.alg);
  const token = await new SignJWT({ ...claims })
    .setProtectedHeader(protectedHeader)
    .sign(signingKey.privateKey);
  return flaw.isTruncated ? token.slice(0, token.lastIndexOf(".")) : token;
}

/** An RSA key can sign with RS* and PS*, whatever the issuer's algorithm is. */
function requireAlgorithm({ publicKey }: TestKey, alg: string): void {
  const algorithm = ALGORITHMS.find((candidate) => candidate === alg);
  if (algorithm && (isSymmetric(algorithm) ? publicKey.type === "secret" : isKeyFor(publicKey, algorithm)))
    return;
  const hint = 'Omit `alg`, or write `rejectedAs: "algorithm"` for an unsigned token.';
  throw optionError(["token", "header", "alg"], "isn't an algorithm of the key.", hint, "key_unusable");
}
