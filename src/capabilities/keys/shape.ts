/** The shape of a key source. Accepts the properties of all kinds, so that errors name a misspelled one. */
import * as z from "zod/mini";
import { callback, numberFrom, secureUrl, text } from "../../core/options/values.ts";
import type { JsonWebKeySet } from "../../core/keys/verification-key.ts";
import { isJwks, type KeyUse } from "./jwks.ts";
import type { JwksFileSource } from "./jwks-file.ts";
import type { DiscoverySource, JwksUriSource } from "./remote-source.ts";

/** Where the keys come from: exactly one of these. */
export type KeySource =
  /** A JWK Set in memory (RFC 7517 section 5). Keys that don't support the algorithms are ignored. */
  ({ readonly jwks: JsonWebKeySet } & KeyUse) | JwksFileSource | JwksUriSource | DiscoverySource;

const JWKS = "Write a JWK Set: { keys: [{ kty, ... }] }.";
const DISCOVERY = "Write true, or the https URL of the issuer's metadata.";
type KeySourceProperty = KeySource extends infer Source
  ? Source extends unknown
    ? keyof Source
    : never
  : never;

const DAY_MS = 86_400_000;
const milliseconds = (least: number) =>
  numberFrom(least, DAY_MS, `Write a number of milliseconds from ${least} to ${DAY_MS}, one day.`);

const sources = {
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
export const shape = z.partial(z.strictObject(keySource, { error: KEY_SOURCE_HINT }));

export const KEY_SOURCE_NAMES = Object.keys(keySource);
