/** The shape of a key source. Accepts the properties of all kinds, so that errors name a misspelled one. */
import { types } from "node:util";
import * as z from "zod/mini";
import { isJwks } from "../keys/jwks.ts";
import type { KeySource } from "../keys/key-source.ts";
import { callback, milliseconds, secureUrl, text } from "./values.ts";

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

const JWKS = "Write a JWK Set: { keys: [{ kty, ... }] }.";
const DISCOVERY = "Write true, or the https URL of the issuer's metadata.";
type KeySourceProperty = KeySource extends infer Source
  ? Source extends unknown
    ? keyof Source
    : never
  : never;

const sources = {
  verificationKeys,
  jwks: z.custom(isJwks, { error: JWKS }),
  jwksFile: text("Write the path of a file."),
  jwksUri: secureUrl,
  discovery: z.union([z.literal(true), secureUrl], { error: DISCOVERY }),
};
const keySource = {
  ...sources,
  use: z.enum(["sig", "jwt-svid"], { error: 'Write "sig" or "jwt-svid".' }),
  timeoutMs: milliseconds(1),
  cooldownMs: milliseconds(0),
  maxAgeMs: milliseconds(1),
  staleMs: milliseconds(0),
  fetch: callback("Write a function that works like `fetch`."),
} satisfies Record<KeySourceProperty, z.core.$ZodType>;
/** The properties that name a source. The others set how keys are fetched. */
export const KEY_SOURCES = Object.keys(sources);
export const KEY_SOURCE_HINT = `Write one of ${KEY_SOURCES.map((name) => `{ ${name} }`).join(", ")}.`;
export const keys = z.partial(z.strictObject(keySource, { error: KEY_SOURCE_HINT }));

export const KEY_SOURCE_NAMES = Object.keys(keySource);
