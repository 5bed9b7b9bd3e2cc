/** The least that a server with a token cache does: hash the token and look the hash up. */
import { createPublicKey, hash, verify } from "node:crypto";

const SCHEME = "Bearer ";

/** Returns a function that accepts an `Authorization` header. It verifies the signature of a new token, and no claims. */
export function createFloor(publicKey: string): (authorization: string | undefined) => boolean {
  const key = createPublicKey(publicKey);
  const verified = new Map<string, string>();
  const isGenuine = (token: string): boolean => {
    const end = token.lastIndexOf(".");
    const signature = Buffer.from(token.slice(end + 1), "base64url");
    return verify("sha256", Buffer.from(token.slice(0, end)), key, signature);
  };
  return (authorization) => {
    if (!authorization?.startsWith(SCHEME)) return false;
    const token = authorization.slice(SCHEME.length);
    const digest = hash("sha256", token, "binary");
    if (verified.get(digest) !== undefined) return true;
    if (!isGenuine(token)) return false;
    verified.set(digest, "verified");
    return true;
  };
}
