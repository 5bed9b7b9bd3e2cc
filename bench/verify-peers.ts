/** Other libraries that verify tokens. Each imports its key once and requires the same claims. */
import { JwtVerifier } from "aws-jwt-verify";
import { createVerifier } from "fast-jwt";
import { importSPKI, jwtVerify } from "jose";
import jsonwebtoken from "jsonwebtoken";
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import { awaited, type Contestant, contestant } from "./compare.ts";
import { AUDIENCE, ISSUER, KID, type Signer } from "./tokens.ts";

type Fresh = () => string;

/** jose, with an imported key. */
export async function createJose(signer: Signer, fresh: Fresh, atOnce = 1): Promise<Contestant> {
  const { algorithm, text } = signer;
  const key =
    algorithm === "HS256"
      ? await importSecret(text)
      : await importSPKI(text, algorithm, { extractable: false });
  const options = { algorithms: [algorithm], audience: AUDIENCE, issuer: ISSUER };
  return awaited("jose", () => jwtVerify(fresh(), key, options), { atOnce });
}

const importSecret = (text: string) =>
  crypto.subtle.importKey("raw", Buffer.from(text), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);

export function createPeers(signer: Signer, fresh: Fresh): readonly Contestant[] {
  return [
    ...createFastJwt(signer, fresh),
    ...createJsonwebtoken(signer, fresh),
    ...createAwsJwtVerify(signer, fresh),
    createFloor(signer, fresh),
  ];
}

function createFastJwt({ algorithm, text }: Signer, fresh: Fresh): readonly Contestant[] {
  const options = { key: text, algorithms: [algorithm], allowedAud: AUDIENCE, allowedIss: ISSUER };
  const verifyToken = createVerifier(options) as (token: string) => unknown;
  const remembering = createVerifier({ ...options, cache: 10_000 }) as (token: string) => unknown;
  return [
    contestant("fast-jwt", () => verifyToken(fresh())),
    contestant("fast-jwt, its cache", () => remembering(fresh())),
  ];
}

function createJsonwebtoken(signer: Signer, fresh: Fresh): readonly Contestant[] {
  const { algorithm } = signer;
  if (algorithm === "EdDSA") return [];
  const key = keyOf(signer);
  const options = { algorithms: [algorithm], audience: AUDIENCE, issuer: ISSUER };
  return [contestant("jsonwebtoken", () => jsonwebtoken.verify(fresh(), key, options))];
}

function createAwsJwtVerify({ jwk }: Signer, fresh: Fresh): readonly Contestant[] {
  if (!jwk) return [];
  const verifier = JwtVerifier.create({ issuer: ISSUER, audience: AUDIENCE, jwksUri: `${ISSUER}/jwks` });
  verifier.cacheJwks({ keys: [{ ...jwk, kty: String(jwk.kty), kid: KID }] });
  return [contestant("aws-jwt-verify", () => verifier.verifySync(fresh()))];
}

/** The least that any library must do: it only verifies the signature. */
function createFloor(signer: Signer, fresh: Fresh): Contestant {
  const { algorithm, text } = signer;
  const cut = () => {
    const token = fresh();
    const end = token.lastIndexOf(".");
    return [token.slice(0, end), Buffer.from(token.slice(end + 1), "base64url")] as const;
  };
  const isGenuine =
    algorithm === "HS256"
      ? () => {
          const [input, signature] = cut();
          return timingSafeEqual(createHmac("sha256", text).update(input).digest(), signature);
        }
      : () => {
          const [input, signature] = cut();
          const key = { key: keyOf(signer), dsaEncoding: "ieee-p1363" } as const;
          return verify(algorithm === "EdDSA" ? null : "sha256", Buffer.from(input), key, signature);
        };
  return contestant("crypto.verify", () => {
    if (!isGenuine()) throw new Error("The signature is invalid.");
  });
}

const keyOf = ({ publicKey, text }: Signer): KeyObject => publicKey ?? createSecretKey(Buffer.from(text));
