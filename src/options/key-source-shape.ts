/** The shape of a key source: the members of all kinds of sources together, so that a misspelt one is told by its name. */
import { types } from "node:util";
import * as z from "zod/mini";
import { isJwks } from "../keys/jwks.ts";
import { type KeySource } from "../keys/key-source.ts";
import { callback, milliseconds, secureUrl, text } from "./values.ts";

const KEY = "Write a PEM, a JWK, a KeyObject or a CryptoKey; with HS* the secret.";
const verificationKey = z.custom(
  (value) =>
    (typeof value === "string" && value !== "") ||
    types.isKeyObject(value) ||
    types.isCryptoKey(value) ||
    (typeof value === "object" && value !== null && "kty" in value && typeof value.kty === "string"),
  { error: ({ input }) => `${KEY}${explainNoKey(input)}` },
);

/** What an entry often is that should have been a key. */
function explainNoKey(input: unknown): string {
  if (input === undefined || input === "") return " Is the environment variable set that it comes from?";
  return types.isUint8Array(input)
    ? ' These are bytes: read the file as text, readFileSync("public.pem", "utf8"); a secret as createSecretKey(bytes).'
    : "";
}

export const verificationKeys = z.array(verificationKey, { error: "Write a list of keys." });

const JWKS = "Write a JWK Set: { keys: [{ kty, ... }] }.";
const DISCOVERY = "Write true, or the https URL of the issuer's metadata.";
type KeySourceMember = KeySource extends infer Source
  ? Source extends unknown
    ? keyof Source
    : never
  : never;

const keySource = {
  verificationKeys,
  jwks: z.custom(isJwks, { error: JWKS }),
  jwksFile: text("Write the path of a file."),
  jwksUri: secureUrl,
  discovery: z.union([z.literal(true), secureUrl], { error: DISCOVERY }),
  timeoutMs: milliseconds(1),
  cooldownMs: milliseconds(0),
  maxAgeMs: milliseconds(1),
  staleMs: milliseconds(0),
  fetch: callback("Write a function that is called like `fetch`."),
} satisfies Record<KeySourceMember, z.core.$ZodType>;
/** The members that say where keys come from; the others say how those are fetched. */
export const KEY_SOURCES = ["verificationKeys", "jwks", "jwksFile", "jwksUri", "discovery"];
export const KEY_SOURCE_HINT = `Write one of ${KEY_SOURCES.map((name) => `{ ${name} }`).join(", ")}.`;
export const keys = z.partial(z.strictObject(keySource, { error: KEY_SOURCE_HINT }));

export const KEY_SOURCE_NAMES = Object.keys(keySource);
