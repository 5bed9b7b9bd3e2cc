/** The options of `introspection`, and how they are checked. */
import * as z from "zod/mini";
import { ConfigurationError, type ConfigurationIssue, type Report, suggest } from "../../core/errors.ts";
import type { Algorithm } from "../../core/keys/algorithm.ts";
import { capability } from "../../core/capability.ts";
import type { Keys } from "../../core/keys/key-source.ts";
import { keyEventsOf, resolveAlgorithms } from "../../core/options/resolve-issuers.ts";
import { exactOptional } from "../../core/options/shape.ts";
import * as values from "../../core/options/values.ts";
import type { ClaimPath } from "../../core/token/claim-path.ts";
import { createAuthentication, type IntrospectionClient } from "./client.ts";
import type { IntrospectionFetch } from "./endpoint.ts";

/** How long results are remembered. Tokens are only stored as their SHA-256. */
export interface IntrospectionCache {
  /** The maximum number of active tokens, and separately of rejected tokens. Default: `10_000`. */
  readonly maxEntries?: number;
  /** How long an active token is accepted without asking again, in seconds from 0 to 3600. Default: `60`. */
  readonly maxAgeSeconds?: number;
  /** How long a rejected token is rejected without asking again, in seconds from 0 to 3600. Default: `5`. */
  readonly negativeSeconds?: number;
}

/** The options of `introspection`. */
export interface IntrospectionOptions {
  /** The introspection endpoint (RFC 7662 section 2): an https URL, or http on this machine. */
  readonly url: string;
  /** How this server authenticates to the endpoint: as a client with a secret, or with a private key. */
  readonly client: IntrospectionClient;
  /** The prefix of the tokens, or an array of prefixes. Default: all tokens that don't look like a JWT. */
  readonly prefix?: string | readonly string[];
  /** Instead of `prefix`: returns `true` for the tokens to look up at the endpoint. */
  readonly matches?: (token: string) => boolean;
  /**
   * The expected `iss` of the response, compared exactly; required with `keys`. Default: if the response has
   * an `iss`, it must be an issuer of the server; any, if the server has no `issuer`.
   */
  readonly issuer?: string;
  /** The expected `aud` of the response, or an array of accepted values. Default: the server's audience. */
  readonly audience?: string | readonly string[];
  /** `false` accepts tokens for any service, if the response has a `token_type`. Default: `true`. */
  readonly verifyAudience?: boolean;
  /** The property of the response that contains the scopes. Default: `"scope"`. */
  readonly scopesClaim?: ClaimPath;
  /** How long results are remembered. */
  readonly cache?: IntrospectionCache;
  /** How long to wait for the endpoint, in milliseconds, at most 5,000. Default: `3_000`. */
  readonly timeoutMs?: number;
  /**
   * How many requests to the endpoint may be in flight at the same time, from 1 to 10,000, for each server. A
   * request with another unknown token gets 503 with `Retry-After: 1`. Default: `50`.
   */
  readonly maxConcurrentRequests?: number;
  /** Requires a signed response (RFC 9701), and verifies it with these keys: a value of `scopegate/keys`. */
  readonly keys?: Keys;
  /** The accepted algorithms of signed responses. Default: `["RS256"]`. */
  readonly algorithms?: readonly Algorithm[];
  /** Sends the requests, for example through a proxy. It must support `redirect: "manual"`. */
  readonly fetch?: IntrospectionFetch;
}

const CLIENT =
  "Write { id, secret, method } or { id, privateKey, algorithm, keyId, audience }. Is the environment variable set?";
const ISSUER = "Write the `iss` of the responses, exactly.";
const SECONDS = values.numberFrom(0, 3600, "Write a number of seconds from 0 to 3600.");
const textOrTexts = (hint: string) =>
  z.union([values.text(hint), values.nonEmptyArray(values.text(hint), hint)], { error: hint });

const id = values.text(CLIENT);
const secretClient = z.strictObject({
  id,
  secret: id,
  method: z.exactOptional(z.enum(["client_secret_basic", "client_secret_post"])),
});
const keyClient = z.strictObject({
  id,
  privateKey: z.union([id, z.looseObject({})]),
  algorithm: values.algorithm,
  ...exactOptional({ keyId: id, audience: id }),
});
const cache = {
  maxEntries: values.integerFrom(1, 1_000_000, "Write a whole number from 1 to 1000000."),
  maxAgeSeconds: SECONDS,
  negativeSeconds: SECONDS,
};

const optional = {
  prefix: textOrTexts("Write the first characters of the tokens, or an array of at least one such string."),
  matches: values.callback("Write a function that takes the token and returns a boolean."),
  issuer: values.text(ISSUER),
  audience: textOrTexts("Write the expected `aud`, or an array of at least one."),
  verifyAudience: values.flag,
  scopesClaim: values.claim,
  cache: z.strictObject(exactOptional(cache)),
  timeoutMs: values.integerFrom(1, 5_000, "Write milliseconds from 1 to 5000."),
  maxConcurrentRequests: values.integerFrom(1, 10_000, "Write a whole number from 1 to 10000."),
  keys: capability(
    "keys",
    "Write remoteKeys({ jwksUri }), jwks(set) or jwksFile(path), imported from scopegate/keys.",
  ),
  algorithms: values.nonEmptyArray(values.algorithm, "Write an array of at least one algorithm."),
  fetch: values.callback("Write a function that works like `fetch`."),
} satisfies Record<keyof Omit<IntrospectionOptions, "url" | "client">, z.core.$ZodType>;
const shape = {
  url: values.secureUrl,
  client: z.union([secretClient, keyClient], { error: CLIENT }),
  // Without this check, an `issuer` that is undefined would accept more tokens than intended.
  ...exactOptional(optional),
};
const schema = z.strictObject(shape, { error: "Write { url, client }." });

/** Imports the keys. @throws ConfigurationError that quotes no value, which may be a secret */
export function resolveOptions(options: IntrospectionOptions) {
  const issues = (schema.safeParse(options).error?.issues ?? []).flatMap(describeShape);
  if (issues.length > 0) throw new ConfigurationError(issues);
  const report: Report = (issue) => void issues.push({ ...issue, path: ["introspection", ...issue.path] });
  const { prefix, matches, keys: source, issuer, client, url } = options;
  if (prefix !== undefined && matches)
    issues.push(issueAt(["matches"], "option_conflict", "can't be combined with `prefix`.", "Remove one."));
  if (source && issuer === undefined)
    issues.push(issueAt(["issuer"], "option_missing", "is missing, but `keys` requires it.", ISSUER));
  const authenticate = createAuthentication(client, url);
  if (!authenticate)
    issues.push(
      issueAt(["client", "privateKey"], "key_unusable", "can't sign with `client.algorithm`.", KEY),
    );
  const algorithms = resolveAlgorithms(options, [], report);
  const context = { issuer, now: Date.now, path: ["keys"], onKeyEvent: keyEventsOf(issuer) };
  const keys = source && algorithms && source.create({ ...context, algorithms }, report);
  if (!authenticate || !algorithms || issues.length > 0) throw new ConfigurationError(issues);
  return { ...options, authenticate, keys, algorithms };
}

function describeShape(issue: z.core.$ZodIssue): ConfigurationIssue[] {
  const path = issue.path.map(String);
  if (issue.code !== "unrecognized_keys")
    return [issueAt(path, "option_invalid", "is missing or has an invalid value.", issue.message)];
  return issue.keys.map((name) => {
    const hint = suggest(name, Object.keys(shape), "Remove it, or check its name.");
    return issueAt([...path, name], "option_unknown", `received unknown option \`${name}\`.`, hint);
  });
}

const KEY = "Pass a private key as a PEM, JWK or KeyObject, RSA with 2048 bits or more, and its algorithm.";

const issueAt = (
  path: readonly string[],
  code: ConfigurationIssue["code"],
  message: string,
  hint: string,
): ConfigurationIssue => ({ path: ["introspection", ...path], code, message, hint });
