/** The shape of every option. `resolve.ts` checks which options can be combined. */
import * as z from "zod/mini";
import { isSecureUrl } from "../keys/secure-url.ts";
import { ALGORITHMS, isSymmetric } from "../keys/algorithm.ts";
import { isAddressRange } from "../token/binding/client-certificate.ts";
import { keys, verificationKeys } from "./key-source-shape.ts";
import { CONDITION_NAMES } from "../policy/conditions/conditions.ts";
import { isExtensionMethod } from "../policy/operation-methods.ts";
import type { ResourceServerOptions } from "./options.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";
import * as values from "./values.ts";

// Not empty: an empty `anyOf` is never satisfied, and without scopes, there's nothing to report.
const someScopes = z.array(z.string()).check(z.minLength(1, { abort: true }));
const named = { anyOf: z.exactOptional(someScopes), filtered: z.exactOptional(z.string()) };
/** A plain object: properties of a class wouldn't be read. */
const plain = <Shape extends z.core.$ZodType>(shape: Shape, error?: string) =>
  z.pipe(z.custom(values.isPlainObject, error === undefined ? {} : { error }), shape);
/** The folder `conditions` checks their values, with a message for each mistake. */
const conditions = Object.fromEntries(CONDITION_NAMES.map((name) => [name, z.exactOptional(z.unknown())]));
const hasConditions = (entry: object): boolean => CONDITION_NAMES.some((name) => Object.hasOwn(entry, name));
const countNames = (entry: object): number =>
  ["scopes", "anyOf", "filtered"].filter((name) => Object.hasOwn(entry, name)).length;
const reported = z
  .strictObject({ ...named, ...conditions, scopes: z.exactOptional(z.array(z.string())) })
  .check(
    z.refine((entry) => countNames(entry) === 1),
    z.refine((entry) => hasConditions(entry) || !("scopes" in entry) || entry.scopes.length > 0),
  );
const scoped = z
  .strictObject({
    ...named,
    ...conditions,
    scopes: z.exactOptional(z.array(z.string())),
    report: z.exactOptional(z.union([someScopes, plain(reported)])),
  })
  .check(
    z.refine(
      (entry) =>
        countNames(entry) === 1 ||
        (countNames(entry) === 0 && Object.hasOwn(entry, "report") && !hasConditions(entry)),
    ),
  );
const entry = z.union([z.enum(["public", "optional"]), z.array(z.string()), plain(scoped)]);
const override = plain(
  z.strictObject({ override: entry }).check(z.refine((written) => Object.hasOwn(written, "override"))),
);
const entryOrOverride = z.union([entry, override]);
/** One message for the whole entry: a mistake inside it could only be described for one of the forms. */
const requirement = z.custom((value) => entryOrOverride.safeParse(value).success, {
  error:
    'Write an array of scopes ([] for any valid token), { anyOf: [...] }, { filtered: "resource:action" }, "optional" or "public"; { scopes: [...], where: {...} } for conditions on the caller; { report: [...] } for scopes that aren\'t enforced yet; { override: [...] } to require less than the rule that it replaces.',
});
const scopeMappings = values.table(
  requirement,
  "Write an object that maps `METHOD /pattern` to the required scopes.",
);

const SOURCE =
  'Write { header: "authorization" }, { cookie: "name" }, or { header: "x-name", scheme: null } for a field that contains only the token. The query is never read.';
const LOWER_CASE_NAME = /^[a-z\d!#$%&'*+\-.^_`|~]+$/;
const NAME = /^[\w!#$%&'*+\-.^`|~]+$/;
/** Any field but `authorization` must declare its scheme, because most fields have none. */
const isHeader = ({ header, scheme }: { readonly header: string; readonly scheme?: unknown }): boolean =>
  header === "authorization" || (scheme !== undefined && header !== "cookie");
const tokenSource = z.union(
  [
    z
      .strictObject({
        header: z.string().check(z.regex(LOWER_CASE_NAME, { error: SOURCE })),
        scheme: z.exactOptional(z.nullable(z.string().check(z.regex(NAME, { error: SOURCE })))),
      })
      .check(z.refine(isHeader, { error: SOURCE })),
    z.strictObject({ cookie: z.string().check(z.regex(NAME, { error: SOURCE })) }),
  ],
  { error: SOURCE },
);

const cacheRules = {
  maxEntries: values.integerFrom(1, 1_000_000, "Write a whole number from 1 to 1000000."),
  maxAgeSeconds: values.numberFrom(0, 3600, "Write a number of seconds from 0 to 3600."),
  maxBytes: values.integerFrom(1, Infinity, "Write a whole number of bytes, 1 or more."),
};
const tokenCache = z.union([z.literal(false), z.partial(z.strictObject(cacheRules))], {
  error: "Write false, or { maxEntries, maxAgeSeconds, maxBytes }.",
});

const issuer = values.text("Write the `iss` of the tokens, exactly.");
const algorithms = values.nonEmptyArray(
  values.algorithm,
  "Write an array of at least one algorithm that the issuer signs with.",
);
const AUDIENCE = "Write the expected `aud`, or an array of at least one.";

const scopeSource = {
  claim: values.claim,
  required: z.optional(values.flag),
  map: z.optional(
    values.table(
      values.texts("Write an array of scopes."),
      'Write an object that maps a role to an array of scopes: { Support: ["sessions:read"] }.',
    ),
  ),
};
const SCOPE_SOURCES = "Write an array of at least one { claim, required, map }.";

const REQUIRED_CLAIMS =
  'Write an array of claim names, or an object from claim names to values: { token_use: "access" }. A value is a string, a number or a boolean, or an array of at least one.';
const claimValue = z.union([values.text(REQUIRED_CLAIMS), z.number(), z.boolean()]);
const claimValues = values.table(
  z.union([claimValue, values.nonEmptyArray(claimValue, REQUIRED_CLAIMS)]),
  REQUIRED_CLAIMS,
);
const requiredClaims = z.union([z.array(z.union([values.text(REQUIRED_CLAIMS), claimValues])), claimValues], {
  error: REQUIRED_CLAIMS,
});

const CLIENTS = 'Write an array of at least one client id: ["admin-console"].';

/** The options of a server that each issuer can override. */
const tokens = {
  audience: z.union([values.text(AUDIENCE), values.nonEmptyArray(values.text(AUDIENCE), AUDIENCE)], {
    error: AUDIENCE,
  }),
  verifyAudience: values.flag,
  scopesClaim: values.claim,
  scopeSources: values.nonEmptyArray(z.strictObject(scopeSource, { error: SCOPE_SOURCES }), SCOPE_SOURCES),
  userIdClaim: values.claim,
  sessionIdClaim: values.claim,
  requiredClaims,
  clients: values.nonEmptyArray(values.text(CLIENTS), CLIENTS),
  tokenTypes: values.nonEmptyArray(
    z.nullable(values.text('Write `typ` values such as "JWT", or null for none.')),
    "Write an array of at least one `typ`.",
  ),
  clockToleranceSeconds: values.seconds,
  maxTokenAgeSeconds: values.seconds,
} satisfies Record<keyof Omit<TrustedIssuer, "issuer" | "keys" | "algorithms">, z.core.$ZodType>;

/** Rejects `undefined`, because the server's option, which may accept more tokens, would apply instead. */
export const exactOptional = (shape: Readonly<Record<string, z.core.$ZodType>>) =>
  Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, z.exactOptional(type)]));
const trustedIssuer = { issuer, keys, algorithms, ...exactOptional(tokens) };

const PLAIN = "Write a plain object: { issuer, keys, algorithms }. Inherited properties would be ignored.";
const issuers = values.nonEmptyArray(
  z.pipe(z.custom(values.isPlainObject, { error: PLAIN }), z.strictObject(trustedIssuer)),
  "Write an array of at least one { issuer, keys, algorithms }.",
);

/** As `URL` writes it, because clients compare and send it so; without a fragment (RFC 8707 section 2). */
const canonicalUrl = (url: string): string => new URL(url).href.replace(/#.*/, "");
const resource = {
  id: values.secureUrl.check(
    z.refine((url) => !isSecureUrl(url) || url === canonicalUrl(url), {
      error: ({ input }) => `Write it as clients do: ${JSON.stringify(canonicalUrl(String(input)))}.`,
    }),
  ),
  authorizationServers: z.optional(
    values.nonEmptyArray(values.secureUrl, "Write an array of at least one issuer."),
  ),
  scopesSupported: z.optional(values.texts("Write an array of scopes.")),
  metadata: z.optional(
    z.record(z.string(), z.unknown(), { error: "Write properties of RFC 9728: { resource_name: ... }." }),
  ),
};

const METHODS =
  'Write methods that the protocol lacks, each with the parameter that names what it calls, or null: { "skills/list": null }.';
const mcp = {
  methods: z.record(
    z.string().check(z.refine(isExtensionMethod, { error: METHODS })),
    z.nullable(values.text(METHODS)),
    { error: METHODS },
  ),
};

const ORIGIN =
  "Write an origin such as https://api.example: https (http only for this machine), in lower case, without a path, a default port and `*`.";
const isOrigin = (url: string): boolean =>
  isSecureUrl(url) && new URL(url).origin === url && !url.includes("*");
const ORIGINS = `Write an array of at least one origin. ${ORIGIN}`;
const PROOF_ALGORITHMS = ALGORITHMS.filter((name) => !isSymmetric(name));
const PROOF_ALGORITHM = `Write one of ${PROOF_ALGORITHMS.join(", ")}: a proof is never signed with a shared secret.`;
const NONCE = "Write true, or { secret, lifetimeSeconds }.";
const SECRET = "Write a string of at least 32 random characters, or an array of them.";
const secret = z.string({ error: SECRET }).check(z.minLength(32, { error: SECRET }));
const nonce = {
  secret: z.exactOptional(z.union([secret, values.nonEmptyArray(secret, SECRET)], { error: SECRET })),
  lifetimeSeconds: z.exactOptional(
    values.integerFrom(1, 86_400, "Write a whole number of seconds, 1 to 86400."),
  ),
};
const dpop = {
  origins: values.nonEmptyArray(
    z.string({ error: ORIGIN }).check(z.refine(isOrigin, { error: ORIGIN })),
    ORIGINS,
  ),
  algorithms: z.exactOptional(
    values.nonEmptyArray(
      z.enum(PROOF_ALGORITHMS, { error: PROOF_ALGORITHM }),
      "Write an array of at least one algorithm.",
    ),
  ),
  windowSeconds: z.exactOptional(values.integerFrom(1, 3600, "Write a whole number of seconds, 1 to 3600.")),
  nonce: z.exactOptional(z.union([z.boolean(), z.strictObject(nonce)], { error: NONCE })),
  replay: z.exactOptional(
    values.objectWith(
      ["get", "set", "delete"],
      "Write a store of scopegate/store, such as redisStore(client).",
    ),
  ),
};
const FROM =
  'Write "socket", or { header: "client-cert", format: "rfc9440", trusted: ["10.0.0.0/8"] } for the field that a proxy sets.';
const TRUSTED = 'Write an array of addresses such as ["10.0.0.0/8"], or a function that takes the socket.';
const certificateHeader = {
  header: z.string({ error: FROM }).check(
    z.regex(LOWER_CASE_NAME, { error: FROM }),
    z.refine((name) => !["authorization", "cookie", "dpop"].includes(name), { error: FROM }),
  ),
  format: z.enum(["rfc9440", "pem-urlencoded", "xfcc"], {
    error: 'Write "rfc9440", "pem-urlencoded" or "xfcc".',
  }),
  trusted: z.union(
    [
      values.nonEmptyArray(z.string().check(z.refine(isAddressRange, { error: TRUSTED })), TRUSTED),
      values.callback(TRUSTED),
    ],
    { error: TRUSTED },
  ),
};
const mtls = {
  from: z.union([z.literal("socket"), z.strictObject(certificateHeader)], { error: FROM }),
};
const SENDER_CONSTRAINT = "Write { dpop: { origins } }, { mtls: { from } }, or both.";
const senderConstraint = {
  dpop: z.exactOptional(plain(z.strictObject(dpop), 'Write { origins: ["https://api.example"] }.')),
  mtls: z.exactOptional(plain(z.strictObject(mtls), 'Write { from: "socket" }.')),
  required: z.exactOptional(values.flag),
};

const METADATA_URL = "Write an absolute https URL as printable ASCII without spaces.";

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
  unmappedRoutes: z.enum(["deny", "not_found", "authenticated"], {
    error: 'Write "deny", "not_found" or "authenticated".',
  }),
  enforcement: z.enum(["enforce", "report"], { error: 'Write "enforce" or "report".' }),
  adminScope: z.nullable(values.text("Write a scope, or null for none.")),
  knownScopes: values.texts("Write an array of scopes."),
  impliedScopes: values.table(
    values.texts("Write an array of scopes."),
    "Write an object that maps a scope to an array of implied scopes.",
  ),
  maxTokenBytes: values.integerFrom(1, Infinity, "Write a whole number of bytes, 1 or more."),
  tokenCache,
  tokenSources: values.nonEmptyArray(tokenSource, "Write an array of at least one token source."),
  grantsMaxAgeSeconds: values.numberFrom(0, 3600, "Write a number of seconds from 0 to 3600."),
  multipleCredentials: z.enum(["refuse", "first"], { error: 'Write "refuse" or "first".' }),
  resource: z.strictObject(resource, { error: "Write { id, authorizationServers }." }),
  senderConstraint: plain(
    z.strictObject(senderConstraint).check(
      z.refine((option) => option.dpop !== undefined || option.mtls !== undefined, {
        error: SENDER_CONSTRAINT,
      }),
    ),
    SENDER_CONSTRAINT,
  ),
  mcp: z.strictObject(mcp, { error: 'Write { methods: { "skills/list": null } }.' }),
  realm: values.printable("Write printable ASCII."),
  resourceMetadataUrl: values.secureUrl.check(
    // No other character is allowed: a header can't contain it, or it's removed when the URL is parsed.
    z.refine((url) => !isSecureUrl(url) || /^https?:\/\/[\x21-\x7e]+$/.test(url), { error: METADATA_URL }),
  ),
};

const OPAQUE = "Write introspection(...) of scopegate/introspection, or apiKeys(...) of scopegate/api-keys.";

const shape = {
  ...jsonOptions,
  revocation: values.objectWith(
    ["isRevoked", "revoke", "unrevoke", "ready", "status", "close"],
    "Write inMemoryRevocation() or sharedRevocation(store), both of scopegate/revocation.",
  ),
  opaqueTokens: values.nonEmptyArray(
    values.objectWith(["matches", "verify"], OPAQUE),
    `Write an array of at least one entry. ${OPAQUE}`,
  ),
  grantsFor: values.callback(
    "Write a function that takes { userId, issuer } and returns a promise of an array of scopes.",
  ),
  refusalBody: values.callback("Write a function that returns { contentType, body }."),
  isRevoked: values.callback(
    "Write a function that takes the principal and returns a boolean or a promise of one.",
  ),
  onDecision: values.callback("Write a function that takes the decision and the request."),
  onKeyEvent: values.callback("Write a function that takes the event."),
  now: values.callback("Write a function that returns milliseconds since the epoch."),
} satisfies Record<keyof ResourceServerOptions, z.core.$ZodType>;

export const optionsSchema = z.partial(z.strictObject(shape, { error: "Write an object of options." }));

export const ENTRY_NAMES: readonly string[] = [
  "scopes",
  "anyOf",
  "filtered",
  "report",
  "override",
  ...CONDITION_NAMES,
];
export const OPTION_NAMES = Object.keys(shape);
export const JSON_OPTION_NAMES = Object.keys(jsonOptions);
export const TOKEN_CACHE_NAMES = Object.keys(cacheRules);
export const SCOPE_SOURCE_NAMES = Object.keys(scopeSource);
export const RESOURCE_NAMES = Object.keys(resource);
export const MCP_NAMES = Object.keys(mcp);
/** The names inside `senderConstraint`, by the name of the object that has them. */
export const SENDER_CONSTRAINT_NAMES: Readonly<Record<string, readonly string[]>> = {
  senderConstraint: Object.keys(senderConstraint),
  dpop: Object.keys(dpop),
  nonce: Object.keys(nonce),
  mtls: Object.keys(mtls),
  from: Object.keys(certificateHeader),
};
export const TRUSTED_ISSUER_NAMES = Object.keys(trustedIssuer);

/** A shape error of zod. */
export type ShapeIssue = z.core.$ZodIssue;
