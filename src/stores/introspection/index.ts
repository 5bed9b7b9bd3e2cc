/** The entry point `scopegate/introspection`: opaque tokens that their issuer looks up (RFC 7662). */
import { defaultFetch } from "../../core/keys/http-request.ts";
import { hasTokenSyntax } from "../../core/token/credential.ts";
import { opaqueTokens } from "../../capabilities/opaque/index.ts";
import type { OpaqueContext, OpaqueTokens } from "../../core/token/opaque-tokens.ts";
import { createTokenVerifier } from "../../core/token/verifier.ts";
import { SIGNED } from "./ask.ts";
import { Lookup } from "./lookup.ts";
import { type IntrospectionOptions, resolveOptions } from "./options.ts";

export type { OpaqueContext, OpaqueTokens, OpaqueVerification } from "../../core/token/opaque-tokens.ts";
export type { IntrospectionClient } from "./client.ts";
export type { IntrospectionFetch } from "./endpoint.ts";
export type { IntrospectionCache, IntrospectionOptions } from "./options.ts";

/**
 * Verifies opaque tokens at the introspection endpoint of their issuer, as an entry of the option
 * `opaqueTokens`. While the endpoint is down, it accepts only tokens that it remembers.
 *
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { introspection } from "scopegate/introspection";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   opaqueTokens: [
 *     introspection({
 *       url: "https://login.example/introspect",
 *       client: { id: "agents-prod", secret: process.env.CLIENT_SECRET! },
 *     }),
 *   ],
 * });
 * console.log(server.health().status);
 * ```
 */
export function introspection(options: IntrospectionOptions): OpaqueTokens {
  const defaults = { timeoutMs: 3_000, maxConcurrentRequests: 50, fetch: defaultFetch };
  const settings = { ...defaults, ...resolveOptions(options) };
  const cache = { maxEntries: 10_000, maxAgeSeconds: 60, negativeSeconds: 5, ...settings.cache };
  const { client, issuer, keys, algorithms, prefix, matches = matcherOf(prefix) } = settings;
  const ownAudience = settings.audience === undefined ? undefined : [settings.audience].flat();
  // One lookup for each server, because each server has its own audience and clock.
  const lookups = new WeakMap<OpaqueContext, Lookup>();
  const lookupFor = (context: OpaqueContext): Lookup => {
    const earlier = lookups.get(context);
    if (earlier) return earlier;
    const { now, clockToleranceSeconds, audienceOnly } = context;
    const audience = settings.verifyAudience === false ? undefined : (ownAudience ?? context.audience);
    const ofResponse = { ...SIGNED_RESPONSE, issuer, audience: [client.id, ...(audience ?? [])] };
    const verify = keys && createTokenVerifier({ ...ofResponse, algorithms, now }, keys);
    const lookup = new Lookup({
      ...settings,
      cache,
      audience,
      audienceOnly,
      clockToleranceSeconds,
      now,
      verify,
    });
    lookups.set(context, lookup);
    return lookup;
  };
  return opaqueTokens({
    tokenKind: "introspected",
    scopesClaim: settings.scopesClaim ?? "scope",
    issuer,
    // Compares with `true`, because a promise would match every token.
    matches: (token) => (matches(token) as unknown) === true,
    verify(token, context) {
      if (!hasTokenSyntax(token)) return { kind: "rejected", rejection: "malformed" };
      return lookupFor(context).verify(token);
    },
    prefixes: prefix === undefined || settings.matches ? undefined : [prefix].flat(),
    status: (context) => ({ tokenKind: "introspected", ...lookupFor(context).status() }),
    close(context) {
      keys?.close();
      lookups.get(context)?.close();
    },
  });
}

/**
 * A fresh response for this server. The tolerance is only for the response's own time, not for the token's.
 */
const SIGNED_RESPONSE = {
  tokenTypes: [SIGNED],
  requiredClaims: [],
  clockToleranceSeconds: 60,
  maxTokenAgeSeconds: 60,
};

function matcherOf(prefix: string | readonly string[] | undefined): (token: string) => boolean {
  const prefixes = prefix === undefined ? undefined : [prefix].flat();
  if (prefixes) return (token) => prefixes.some((start) => token.startsWith(start));
  // Also excludes invalid JWTs: a JWT with an extra character must not be handled as an opaque token.
  return (token) => !/^[\w-]+\.[\w-]+\./.test(token);
}
