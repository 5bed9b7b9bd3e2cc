/** The shape of every option, and what to write instead. What options mean together is `resolve.ts`. */
import * as z from "zod/mini";
import { keys, verificationKeys } from "./key-source-shape.ts";
import { type ResourceServerOptions } from "./options.ts";
import { type TrustedIssuer } from "./trusted-issuer.ts";
import { algorithm, callback, claim, flag, printable, seconds, table, text, texts } from "./values.ts";

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

const SOURCE =
  'Write { header: "authorization" } or { cookie: "name" }; other headers and the query are never read.';
const tokenSource = z.union(
  [
    z.strictObject({ header: z.literal("authorization") }),
    z.strictObject({ cookie: z.string().check(z.regex(/^[\w!#$%&'*+\-.^`|~]+$/, { error: SOURCE })) }),
  ],
  { error: SOURCE },
);

const TOKEN_CACHE = "Write false, or { maxEntries, maxAgeSeconds }.";
const ENTRIES = "Write a whole number from 1 to 1000000.";
const AGE = "Write a number of seconds from 0 to 3600.";
const cacheRules = {
  maxEntries: z
    .int({ error: ENTRIES })
    .check(z.gte(1, { error: ENTRIES }), z.lte(1_000_000, { error: ENTRIES })),
  maxAgeSeconds: z.number({ error: AGE }).check(z.gte(0, { error: AGE }), z.lte(3600, { error: AGE })),
};
const tokenCache = z.union(
  [z.literal(false), z.partial(z.strictObject(cacheRules, { error: TOKEN_CACHE }))],
  { error: TOKEN_CACHE },
);

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
  tokenCache,
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
export const TOKEN_CACHE_NAMES = Object.keys(cacheRules);
export const TRUSTED_ISSUER_NAMES = Object.keys(trustedIssuer);

/** Why an option has the wrong shape, as zod tells it. */
export type ShapeIssue = z.core.$ZodIssue;
