/** The shape of every option. `resolve.ts` checks which options can be combined. */
import * as z from "zod/mini";
import { capability, isCapability } from "../capability.ts";
import { isSecureUrl } from "../keys/secure-url.ts";
import { verificationKeys } from "./verification-keys.ts";
import { findEntryHint } from "./entry-hint.ts";
import { BATCHES_MISSING, MCP_MISSING } from "../policy/operations.ts";
import type { ResourceServerOptions } from "./options.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";
import * as values from "./values.ts";

/** One hint for the whole entry: a mistake inside it could only be described for one of the forms. */
const requirement = z.custom((entry) => findEntryHint(entry) === undefined, {
  error: ({ input }) => findEntryHint(input),
});
export const scopeMappings = values.table(
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

const keys = capability(
  "keys",
  "Write remoteKeys({ jwksUri }), remoteKeys({ discovery: true }), jwks(set) or jwksFile(path), imported from scopegate/keys.",
);
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
  audienceOnly: values.flag,
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
} satisfies Record<
  keyof Omit<TrustedIssuer, "issuer" | "keys" | "verificationKeys" | "algorithms" | "tenant" | "scopes">,
  z.core.$ZodType
>;

/** Rejects `undefined`, because the server's option, which may accept more tokens, would apply instead. */
export const exactOptional = (shape: Readonly<Record<string, z.core.$ZodType>>) =>
  Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, z.exactOptional(type)]));
const trustedIssuer = {
  issuer,
  algorithms,
  ...exactOptional({
    keys,
    verificationKeys,
    tenant: values.text("Write the id of the tenant that the issuer belongs to."),
    scopes: values.texts("Write an array of the scopes that the issuer can grant."),
    ...tokens,
  }),
};

const PLAIN = "Write a plain object: { issuer, keys, algorithms }. Inherited properties would be ignored.";
const ISSUERS =
  "Write an array of at least one { issuer, keys, algorithms }, or issuersFrom(find), imported from scopegate/issuers.";
export const issuerList = values.nonEmptyArray(values.plain(z.strictObject(trustedIssuer), PLAIN), ISSUERS);
const issuers = values.either(isCapability, capability("issuers", ISSUERS), issuerList);

const METADATA_URL = "Write an absolute https URL as printable ASCII without spaces.";

export const unmappedRoutes = z.enum(["deny", "not_found", "authenticated"], {
  error: 'Write "deny", "not_found" or "authenticated".',
});

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
  unmappedRoutes,
  shadow: capability("shadow", "Write shadowTable({ scopeMappings }), imported from scopegate/shadow."),
  adminScope: z.nullable(values.text("Write a scope, or null for none.")),
  knownScopes: values.texts("Write an array of scopes."),
  impliedScopes: values.table(
    values.texts("Write an array of scopes."),
    "Write an object that maps a scope to an array of implied scopes.",
  ),
  maxTokenBytes: values.integerFrom(1, Infinity, "Write a whole number of bytes, 1 or more."),
  tokenCache,
  tokenSources: values.nonEmptyArray(tokenSource, "Write an array of at least one token source."),
  multipleCredentials: z.enum(["refuse", "first"], { error: 'Write "refuse" or "first".' }),
  resource: capability("resource", "Write protectedResource({ id }), imported from scopegate/resource."),
  senderConstraint: capability(
    "senderConstraint",
    "Write senderConstraint({ dpop, mtls }), imported from scopegate/sender-constraint.",
  ),
  mcp: capability("mcp", MCP_MISSING),
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
    capability("opaqueTokens", OPAQUE),
    `Write an array of at least one entry. ${OPAQUE}`,
  ),
  batches: capability("batches", BATCHES_MISSING),
  grants: capability("grants", "Write grantsFrom(lookup), imported from scopegate/grants."),
  conditions: capability("conditions", "Write callerConditions(), imported from scopegate/conditions."),
  refusalBody: values.callback("Write a function that returns { contentType, body }."),
  isRevoked: values.callback(
    "Write a function that takes the principal and returns a boolean or a promise of one.",
  ),
  onDecision: values.callback("Write a function that takes the decision and the request."),
  onKeyEvent: values.callback("Write a function that takes the event."),
  now: values.callback("Write a function that returns milliseconds since the epoch."),
} satisfies Record<keyof ResourceServerOptions, z.core.$ZodType>;

export const optionsSchema = z.partial(z.strictObject(shape, { error: "Write an object of options." }));

export const OPTION_NAMES = Object.keys(shape);
export const JSON_OPTION_NAMES = Object.keys(jsonOptions);
export const TOKEN_CACHE_NAMES = Object.keys(cacheRules);
export const SCOPE_SOURCE_NAMES = Object.keys(scopeSource);
export const TRUSTED_ISSUER_NAMES = Object.keys(trustedIssuer);

/** A shape error of zod. */
export type ShapeIssue = z.core.$ZodIssue;
