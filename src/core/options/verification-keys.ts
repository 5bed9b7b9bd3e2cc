/** The shape of `verificationKeys`. */
import { types } from "node:util";
import * as z from "zod/mini";

const KEY = "Write a PEM, a JWK, a KeyObject or a CryptoKey, or the secret with an HS* algorithm.";
const verificationKey = z.custom(
  (value) =>
    (typeof value === "string" && value !== "") ||
    types.isKeyObject(value) ||
    types.isCryptoKey(value) ||
    (typeof value === "object" && value !== null && "kty" in value && typeof value.kty === "string"),
  { error: ({ input }) => `${KEY}${explainMistake(input)}` },
);

/** Explains the most common values that are passed by mistake instead of a key. */
function explainMistake(input: unknown): string {
  if (input === undefined || input === "") return " Is the environment variable set?";
  return types.isUint8Array(input)
    ? ' This is binary data: read the file as a string, readFileSync("public.pem", "utf8"), or pass a secret as createSecretKey(bytes).'
    : "";
}

export const verificationKeys = z.array(verificationKey, { error: "Write an array of keys." });
