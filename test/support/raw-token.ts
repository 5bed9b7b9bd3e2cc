/**
 * Tokens built from raw bytes, which a signing library would refuse to create. Their signatures are valid.
 */
import { createHmac, type KeyObject, sign } from "node:crypto";

export const encode = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString("base64url");

/** Signs two encoded segments with RS256, or with HS256 if the key is a secret. */
export function signSegments(header: string, payload: string, key: KeyObject): string {
  const input = `${header}.${payload}`;
  const signature =
    key.type === "secret"
      ? createHmac("sha256", key).update(input).digest()
      : sign("sha256", Buffer.from(input), key);
  return `${input}.${encode(signature)}`;
}

/** Signs this header and payload, which need not be JSON. */
export const signRaw = (header: string | Uint8Array, payload: string | Uint8Array, key: KeyObject): string =>
  signSegments(encode(header), encode(payload), key);
