/** The shape of every option, and what to write instead. What options mean together is `resolve.ts`. */
import { types } from "node:util";
import * as z from "zod/mini";
import { suggest } from "../errors.ts";
import { ALGORITHMS } from "../keys/algorithm.ts";
import { isJwks } from "../keys/jwks.ts";
import { type KeySource } from "../keys/key-source.ts";
import { isSecureUrl } from "../keys/secure-url.ts";
import { type ResourceServerOptions } from "./options.ts";
import { type TrustedIssuer } from "./trusted-issuer.ts";

const text = (expected: string) => z.string({ error: expected }).check(z.minLength(1, { error: expected }));
const texts = (expected: string) => z.array(text(expected), { error: expected });
const flag = z.boolean({ error: "Write true or false." });
const seconds = z
  .number({ error: "Write a number of seconds, 0 or more." })
  .check(z.gte(0, { error: "Write a number of seconds, 0 or more." }));
const callback = (expected: string) =>
  z.custom<(...values: never[]) => unknown>((value) => typeof value === "function", { error: expected });
const table = (value: z.core.$ZodType, expected: string) => z.record(z.string(), value, { error: expected });

const algorithm = z.enum(ALGORITHMS, {
  error: ({ input }) =>
    typeof input === "string"
      ? suggest(input, ALGORITHMS, `Write one of ${ALGORITHMS.join(", ")}.`)
      : `Write one of ${ALGORITHMS.join(", ")}.`,
});

const CLAIM = 'Write a claim name, or the path to it as a list: ["realm_access", "roles"].';
const claim = z.union([text(CLAIM), texts(CLAIM).check(z.minLength(1, { error: CLAIM }))], { error: CLAIM });

const REQUIREMENT =
  'Write a list of scopes, { anyOf: [...] }, { filtered: "resource:action" }, "optional" or "public".';
const requirement = z.union(
  [
    z.enum(["public", "optional"]),
    z.array(z.string()),
    z.strictObject({ anyOf: z.array(z.string()) }),
    z.strictObject({ filtered: z.string() }),
  ],
  { error: REQUIREMENT },
);
const scopeMappings = table(requirement, "Write an object of `METHOD /pattern` to what the route asks.");

const KEY = "Write a PEM, a JWK, a KeyObject or a CryptoKey; with HS* the secret.";
const verificationKey = z.custom(
  (value) =>
    (typeof value === "string" && value !== "") ||
    types.isKeyObject(value) ||
    types.isCryptoKey(value) ||
    (typeof value === "object" && value !== null && "kty" in value && typeof value.kty === "string"),
  { error: KEY },
);
const verificationKeys = z.array(verificationKey, { error: "Write a list of keys." });

const JWKS = "Write a JWK Set: { keys: [{ kty, ... }] }.";
const SECURE_URL = "Write an absolute https URL; http is for this machine alone.";
const secureUrl = text(SECURE_URL).check(z.refine(isSecureUrl, { error: SECURE_URL }));
const DISCOVERY = "Write true, or the https URL of the issuer's metadata.";
const DAY_MS = 86_400_000;
const milliseconds = (least: number) => {
  const error = `Write a number of milliseconds from ${least} to ${DAY_MS}, one day.`;
  return z.number({ error }).check(z.gte(least, { error }), z.lte(DAY_MS, { error }));
};

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
const keys = z.partial(z.strictObject(keySource, { error: KEY_SOURCE_HINT }));

const SOURCE =
  'Write { header: "authorization" } or { cookie: "name" }; other headers and the query are never read.';
const tokenSource = z.union(
  [
    z.strictObject({ header: z.literal("authorization") }),
    z.strictObject({ cookie: z.string().check(z.regex(/^[\w!#$%&'*+\-.^`|~]+$/, { error: SOURCE })) }),
  ],
  { error: SOURCE },
);

const printable = (expected: string) => text(expected).check(z.regex(/^[\x20-\x7e]+$/, { error: expected }));
const AUDIENCE = "Write the expected `aud`, or a list of at least one.";
const METADATA_URL = "Write an absolute https URL.";

/** What is said of one issuer's tokens: for each of several, or for all. */
const tokens = {
  issuer: text("Write the `iss` of the tokens, exactly."),
  algorithms: z
    .array(algorithm, { error: "Write a list of algorithms: those that the issuer signs with." })
    .check(z.minLength(1, { error: "Name at least one algorithm." })),
  audience: z.union([text(AUDIENCE), texts(AUDIENCE).check(z.minLength(1, { error: AUDIENCE }))], {
    error: AUDIENCE,
  }),
  verifyAudience: flag,
  scopesClaim: claim,
  userIdClaim: claim,
  sessionIdClaim: claim,
  requiredClaims: texts("Write a list of claim names."),
  tokenTypes: z
    .array(z.nullable(text('Write `typ` values such as "JWT", or null for none.')), {
      error: "Write a list of `typ` values.",
    })
    .check(z.minLength(1, { error: "Name at least one `typ`." })),
  clockToleranceSeconds: seconds,
  maxTokenAgeSeconds: seconds,
};

const trustedIssuer = {
  issuer: tokens.issuer,
  keys,
  algorithms: tokens.algorithms,
  // One that got lost on its way must not go unnoticed: what is meant for the others would stand in for it.
  audience: z.exactOptional(tokens.audience),
  verifyAudience: z.exactOptional(tokens.verifyAudience),
  scopesClaim: z.exactOptional(tokens.scopesClaim),
  userIdClaim: z.exactOptional(tokens.userIdClaim),
  sessionIdClaim: z.exactOptional(tokens.sessionIdClaim),
  requiredClaims: z.exactOptional(tokens.requiredClaims),
  tokenTypes: z.exactOptional(tokens.tokenTypes),
  clockToleranceSeconds: z.exactOptional(tokens.clockToleranceSeconds),
  maxTokenAgeSeconds: z.exactOptional(tokens.maxTokenAgeSeconds),
} satisfies Record<keyof TrustedIssuer, z.core.$ZodType>;

const ISSUERS = "Write a list of { issuer, keys, algorithms }.";
const PLAIN =
  "Write a plain object: { issuer, keys, algorithms }. Members that it inherits would be left out.";
const eachIssuer = z.pipe(z.custom(isPlainObject, { error: PLAIN }), z.strictObject(trustedIssuer));
const issuers = z
  .array(eachIssuer, { error: ISSUERS })
  .check(z.minLength(1, { error: "Name at least one issuer." }));

const shape = {
  verificationKeys,
  keys,
  algorithm,
  ...tokens,
  issuers,
  serviceId: text("Write this service's id: the `aud` of its tokens."),
  authorization: flag,
  scopeMappings,
  defaultScopeMappings: scopeMappings,
  unmappedRoutes: z.enum(["deny", "authenticated"], { error: 'Write "deny" or "authenticated".' }),
  adminScope: z.nullable(text("Write a scope, or null for none.")),
  impliedScopes: table(
    texts("Write a list of scopes."),
    "Write an object of scope to the scopes it implies.",
  ),
  maxTokenBytes: z
    .int({ error: "Write a whole number of bytes, 1 or more." })
    .check(z.gte(1, { error: "Write a whole number of bytes, 1 or more." })),
  tokenSources: z
    .array(tokenSource, { error: "Write a list of token sources." })
    .check(z.minLength(1, { error: "Name at least one token source." })),
  isRevoked: callback("Write a function of the principal that returns a boolean or a promise of one."),
  onDecision: callback("Write a function of the decision and the request."),
  onKeyEvent: callback("Write a function of the event."),
  realm: printable("Write printable ASCII."),
  resourceMetadataUrl: printable(METADATA_URL).check(
    z.refine((url) => url.startsWith("https://") && URL.canParse(url), { error: METADATA_URL }),
  ),
  now: callback("Write a function that returns milliseconds since the epoch."),
} satisfies Record<keyof ResourceServerOptions, z.core.$ZodType>;

/** The options as a whole: all may be left out, and none may be unknown. */
export const optionsSchema = z.partial(z.strictObject(shape, { error: "Write an object of options." }));

/** Members of a class would be left out in silence, a check of revoked tokens among them. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The names that are known in each place. */
export const OPTION_NAMES = Object.keys(shape);
export const KEY_SOURCE_NAMES = Object.keys(keySource);
export const TRUSTED_ISSUER_NAMES = Object.keys(trustedIssuer);

/** Why an option has the wrong shape, as zod tells it. */
export type ShapeIssue = z.core.$ZodIssue;
