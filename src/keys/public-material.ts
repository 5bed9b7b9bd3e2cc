import { createPublicKey, X509Certificate } from "node:crypto";
import { attempt } from "../errors.ts";

/**
 * Whether the bytes of an HMAC secret are those of an asymmetric key: PEM, DER, JWK or SSH, plain or in base64. Whoever
 * knows the public key could sign with such a secret (RFC 8725 section 2.1).
 */
export function isPublicMaterial(secret: Buffer): boolean {
  return [secret, Buffer.from(secret.toString("latin1"), "base64")].some(
    (bytes) => isText(bytes) || isDer(bytes),
  );
}

const isText = (bytes: Buffer): boolean =>
  /-----BEGIN |"kty"\s*:|^\s*(?:ssh-|ecdsa-)/.test(bytes.toString("latin1"));

const isDer = (bytes: Buffer): boolean =>
  attempt(() => new X509Certificate(bytes)) !== undefined ||
  (["spki", "pkcs1"] as const).some(
    (type) => attempt(() => createPublicKey({ key: bytes, format: "der", type })) !== undefined,
  );
