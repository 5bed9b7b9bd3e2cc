import { types } from "node:util";
import * as z from "zod/mini";
import { type ConfigurationIssue, type Report, suggest } from "../errors.ts";
import { ALGORITHMS } from "../keys/algorithm.ts";
import { isJwks } from "../keys/jwks.ts";
import { type ResourceServerOptions } from "./options.ts";

/** The only use of zod: the shape of every option. What options mean together is `resolve.ts`. */

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
    (isRecord(value) && typeof value["kty"] === "string"),
  { error: KEY },
);
const verificationKeys = z.array(verificationKey, { error: "Write a list of keys." });

const JWKS = "Write a JWK Set: { keys: [{ kty, ... }] }.";
const KEYS = "Write one of { verificationKeys }, { jwks } and { jwksFile }.";
const keys = z.union(
  [
    z.strictObject({ verificationKeys }),
    z.strictObject({ jwks: z.custom(isJwks, { error: JWKS }) }),
    z.strictObject({ jwksFile: text("Write the path of a file.") }),
  ],
  { error: KEYS },
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

const printable = (expected: string) => text(expected).check(z.regex(/^[\x20-\x7e]+$/, { error: expected }));
const AUDIENCE = "Write the expected `aud`, or a list of at least one.";
const METADATA_URL = "Write an absolute https URL.";

const shape = {
  verificationKeys,
  keys,
  algorithm,
  algorithms: z
    .array(algorithm, { error: "Write a list of algorithms." })
    .check(z.minLength(1, { error: "Name at least one algorithm." })),
  issuer: text("Write the `iss` of the tokens, exactly."),
  serviceId: text("Write this service's id: the `aud` of its tokens."),
  audience: z.union([text(AUDIENCE), texts(AUDIENCE).check(z.minLength(1, { error: AUDIENCE }))], {
    error: "Write the expected `aud`, or a list of at least one.",
  }),
  verifyAudience: flag,
  authorization: flag,
  scopeMappings,
  defaultScopeMappings: scopeMappings,
  unmappedRoutes: z.enum(["deny", "authenticated"], { error: 'Write "deny" or "authenticated".' }),
  adminScope: z.nullable(text("Write a scope, or null for none.")),
  impliedScopes: table(
    texts("Write a list of scopes."),
    "Write an object of scope to the scopes it implies.",
  ),
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

/** The names of all options. */
export const OPTION_NAMES = Object.keys(shape);

const schema = z.partial(z.strictObject(shape, { error: "Write an object of options." }));

/** Reports every option that is unknown or of the wrong shape. Nothing is coerced, and no value is quoted. */
export function checkShape(options: unknown, report: Report): void {
  const { error } = schema.safeParse(options);
  for (const issue of error?.issues ?? []) for (const one of toIssues(issue, options)) report(one);
}

/** What kind of value stands at a path: said of the mistake, because the value itself may be a secret. */
function describeFound(options: unknown, path: readonly (string | number)[]): string {
  let value = options;
  for (const step of path) value = isRecord(value) ? value[step] : undefined;
  if (value === undefined || value === null || value === "")
    return value === "" ? "an empty string" : String(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  return { string: "this text", object: "this object" }[typeof value as string] ?? `a ${typeof value}`;
}

function toIssues(issue: z.core.$ZodIssue, options: unknown): ConfigurationIssue[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((name) => ({
      code: "option_unknown",
      path: [...path, name],
      message: `received unknown option \`${name}\`.`,
      hint:
        (Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined) ??
        suggest(name, OPTION_NAMES, "Remove it, or look its name up in the table of options."),
    }));
  }
  const isEntry = /^(default)?scopeMappings$/i.test(String(path[0])) && path.length > 1;
  const message = `cannot be ${describeFound(options, path)}.`;
  return [{ code: isEntry ? "requirement_invalid" : "option_invalid", path, message, hint: issue.message }];
}

/** Names that other libraries have for an option. */
const ALIASES: Readonly<Record<string, string>> = {
  key: "Write `verificationKeys: [key]`.",
  publicKey: "Write `verificationKeys: [publicKey]`.",
  secret: 'Write `verificationKeys: [secret]` and `algorithm: "HS256"`.',
  jwks: "Write `keys: { jwks }`.",
  jwksFile: "Write `keys: { jwksFile }`.",
  aud: "Write `serviceId` or `audience`.",
  iss: "Write `issuer`.",
};

const isRecord = (value: unknown): value is Readonly<Record<string | number, unknown>> =>
  typeof value === "object" && value !== null;
