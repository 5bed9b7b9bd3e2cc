/** Tokens of exactly these bytes, for what no honest library would write. The signature always fits. */
import { createHmac, type KeyObject, sign } from "node:crypto";

export const encode = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString("base64url");

/** A token of segments as they are, signed with RS256, or with HS256 where the key is a secret. */
export function signSegments(header: string, payload: string, key: KeyObject): string {
  const input = `${header}.${payload}`;
  const signature =
    key.type === "secret"
      ? createHmac("sha256", key).update(input).digest()
      : sign("sha256", Buffer.from(input), key);
  return `${input}.${encode(signature)}`;
}

/** A token of this header and payload, JSON or not. */
export const signRaw = (header: string | Uint8Array, payload: string | Uint8Array, key: KeyObject): string =>
  signSegments(encode(header), encode(payload), key);
