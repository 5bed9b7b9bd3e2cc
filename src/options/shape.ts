/** The shape of every option. `resolve.ts` checks which options can be combined. */
import * as z from "zod/mini";
import { keys, verificationKeys } from "./key-source-shape.ts";
import { type ResourceServerOptions } from "./options.ts";
import { type TrustedIssuer } from "./trusted-issuer.ts";
import * as values from "./values.ts";

const requirement = z.union(
  [
    z.enum(["public", "optional"]),
    z.array(z.string()),
    z.strictObject({ anyOf: z.array(z.string()) }),
    z.strictObject({ filtered: z.string() }),
  ],
  {
    error:
      'Write an array of scopes, { anyOf: [...] }, { filtered: "resource:action" }, "optional" or "public".',
  },
);
const scopeMappings = values.table(
  requirement,
  "Write an object that maps `METHOD /pattern` to the required scopes.",
);

const SOURCE =
  'Write { header: "authorization" } or { cookie: "name" }; other headers and the query are never read.';
const tokenSource = z.union(
  [
    z.strictObject({ header: z.literal("authorization") }),
    z.strictObject({ cookie: z.string().check(z.regex(/^[\w!#$%&'*+\-.^`|~]+$/, { error: SOURCE })) }),
  ],
  { error: SOURCE },
);

const cacheRules = {
  maxEntries: values.integerFrom(1, 1_000_000, "Write a whole number from 1 to 1000000."),
  maxAgeSeconds: values.numberFrom(0, 3600, "Write a number of seconds from 0 to 3600."),
};
const tokenCache = z.union([z.literal(false), z.partial(z.strictObject(cacheRules))], {
  error: "Write false, or { maxEntries, maxAgeSeconds }.",
});

const issuer = values.text("Write the `iss` of the tokens, exactly.");
const algorithms = values.nonEmptyArray(
  values.algorithm,
  "Write an array of at least one algorithm that the issuer signs with.",
);
const AUDIENCE = "Write the expected `aud`, or an array of at least one.";

/** The options of a server that each issuer can override. */
const tokens = {
  audience: z.union([values.text(AUDIENCE), values.nonEmptyArray(values.text(AUDIENCE), AUDIENCE)], {
    error: AUDIENCE,
  }),
  verifyAudience: values.flag,
  scopesClaim: values.claim,
  userIdClaim: values.claim,
  sessionIdClaim: values.claim,
  requiredClaims: values.texts("Write an array of claim names."),
  tokenTypes: values.nonEmptyArray(
    z.nullable(values.text('Write `typ` values such as "JWT", or null for none.')),
    "Write an array of at least one `typ`.",
  ),
  clockToleranceSeconds: values.seconds,
  maxTokenAgeSeconds: values.seconds,
} satisfies Record<keyof Omit<TrustedIssuer, "issuer" | "keys" | "algorithms">, z.core.$ZodType>;

/** For `undefined` the server's option would apply, which may accept more tokens: it must be omitted. */
const exactOptional = (shape: Readonly<Record<string, z.core.$ZodType>>) =>
  Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, z.exactOptional(type)]));
const trustedIssuer = { issuer, keys, algorithms, ...exactOptional(tokens) };

const PLAIN = "Write a plain object: { issuer, keys, algorithms }. Inherited properties would be ignored.";
const issuers = values.nonEmptyArray(
  z.pipe(z.custom(isPlainObject, { error: PLAIN }), z.strictObject(trustedIssuer)),
  "Write an array of at least one { issuer, keys, algorithms }.",
);

const METADATA_URL = "Write an absolute https URL.";

/** The options that JSON can represent. */
const jsonOptions = {
  verificationKeys,
  keys,
  algorithm: values.algorithm,
  issuer,
  algorithms,
  ...tokens,
  issuers,
  serviceId: values.text("Write the id of this service: the `aud` of its tokens."),
  authorization: values.flag,
  scopeMappings,
  defaultScopeMappings: scopeMappings,
  unmappedRoutes: z.enum(["deny", "authenticated"], { error: 'Write "deny" or "authenticated".' }),
  adminScope: z.nullable(values.text("Write a scope, or null for none.")),
  impliedScopes: values.table(
    values.texts("Write an array of scopes."),
    "Write an object that maps a scope to an array of implied scopes.",
  ),
  maxTokenBytes: values.integerFrom(1, Infinity, "Write a whole number of bytes, 1 or more."),
  tokenCache,
  tokenSources: values.nonEmptyArray(tokenSource, "Write an array of at least one token source."),
  realm: values.printable("Write printable ASCII."),
  resourceMetadataUrl: values
    .printable(METADATA_URL)
    .check(z.refine((url) => url.startsWith("https://") && URL.canParse(url), { error: METADATA_URL })),
};

const shape = {
  ...jsonOptions,
  isRevoked: values.callback("Write a function of the principal that returns a boolean or a promise of one."),
  onDecision: values.callback("Write a function of the decision and the request."),
  onKeyEvent: values.callback("Write a function of the event."),
  now: values.callback("Write a function that returns milliseconds since the epoch."),
} satisfies Record<keyof ResourceServerOptions, z.core.$ZodType>;

export const optionsSchema = z.partial(z.strictObject(shape, { error: "Write an object of options." }));

/** Properties of a class would be ignored without an error, for example an `isRevoked` method. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export const OPTION_NAMES = Object.keys(shape);
export const JSON_OPTION_NAMES = Object.keys(jsonOptions);
export const TOKEN_CACHE_NAMES = Object.keys(cacheRules);
export const TRUSTED_ISSUER_NAMES = Object.keys(trustedIssuer);

/** A shape error of zod. */
export type ShapeIssue = z.core.$ZodIssue;
