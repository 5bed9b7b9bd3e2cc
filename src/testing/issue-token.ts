import { type Algorithm, ALGORITHMS, isSymmetric, suits } from "../keys/algorithm.ts";
import { FLAWS } from "./flaws.ts";
import { type KeyRing } from "./key-ring.ts";
import { mistake } from "./mistakes.ts";
import { signToken } from "./sign-token.ts";
import { type TestKey } from "./test-key.ts";
import { type TestTokenOptions } from "./token-options.ts";

/** What an issuer signs with, and how it marks its tokens. */
export interface Signer {
  readonly algorithm: Algorithm;
  readonly tokenType: string | null;
  readonly ring: KeyRing;
}

/** Signs these claims, or spoils the token as it was asked for. */
export async function issueToken(
  { kid, header: wanted, rejectedAs }: TestTokenOptions,
  claims: Readonly<Record<string, unknown>>,
  { algorithm, tokenType, ring }: Signer,
): Promise<string> {
  const key = kid === undefined ? ring.newest : ring.named(kid);
  const flaw = rejectedAs ? FLAWS[rejectedAs] : {};
  const header = {
    alg: algorithm,
    ...(tokenType !== null && { typ: tokenType }),
    ...(key.kid !== undefined && { kid: key.kid }),
    ...flaw.header,
    ...wanted,
  };
  const signs = flaw.signature === "of another key" ? ring.foreign : key;
  if (flaw.signature !== "none") requireAble(signs, header.alg);
  const token = await signToken({ header, claims }, flaw.signature === "none" ? undefined : signs.privateKey);
  return flaw.isCutOff ? token.slice(0, token.lastIndexOf(".")) : token;
}

/** An RSA key signs for RS* and PS*, whatever the issuer's algorithm; no key signs for a stranger's. */
function requireAble({ publicKey }: TestKey, wanted: string): void {
  const algorithm = ALGORITHMS.find((known) => known === wanted);
  const isAble =
    algorithm && (isSymmetric(algorithm) ? publicKey.type === "secret" : suits(publicKey, algorithm));
  if (isAble) return;
  const hint = 'Leave `alg` out, or write `rejectedAs: "algorithm"` for a token that is not signed.';
  throw mistake(
    ["token", "header", "alg"],
    "is no algorithm that the key can sign with.",
    hint,
    "key_unusable",
  );
}
