/** Asks the endpoint about one token. */
import { displayUrl } from "../../core/keys/secure-url.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import type { OpaqueVerification } from "../../core/token/opaque-tokens.ts";
import type { TokenVerifier } from "../../core/token/verifier.ts";
import { type ResponseRules, type Claims, findMistake, readJson, readSigned } from "./response.ts";
import type { Authentication } from "./client.ts";
import { EndpointError, type IntrospectionFetch, post } from "./endpoint.ts";

/** How to send a request, and what the response must contain. */
export interface AskRules extends ResponseRules {
  readonly url: string;
  readonly authenticate: Authentication;
  readonly fetch: IntrospectionFetch;
  readonly timeoutMs: number;
  readonly now: () => number;
  /** Verifies signed responses; without it, responses are JSON. */
  readonly verify: TokenVerifier | undefined;
}

/** The `typ` of a signed response, and its media type (RFC 9701 section 4). */
export const SIGNED = "token-introspection+jwt";

/** Asks the endpoint. Rejects if it doesn't report in time whether the token is active. */
export async function ask(token: string, digest: string, rules: AskRules): Promise<OpaqueVerification> {
  const request = new AbortController();
  try {
    const asked = fetchClaims(token, rules, request.signal);
    const claims = await withinLimit(asked, displayUrl(rules.url), rules.timeoutMs);
    // RFC 7662 section 2.2. Without it, a broken endpoint would look as if all tokens had been revoked.
    if (typeof claimAt(claims, "active") !== "boolean")
      throw new EndpointError(rules.url, "didn't return `active` as true or false.");
    const mistake = findMistake(claims, rules, readClock(rules.now).getTime() / 1000);
    if (mistake) return mistake;
    // Every token needs an id, so that it can be revoked here. RFC 7662 doesn't require one.
    const { jti } = claims;
    if (jti === undefined || jti === "") claims["jti"] = Buffer.from(digest, "latin1").toString("base64url");
    return { kind: "verified", claims };
  } finally {
    // Stops reading a response that arrives too late.
    request.abort();
  }
}

async function fetchClaims(token: string, rules: AskRules, signal: AbortSignal): Promise<Claims> {
  const { url, fetch, authenticate, now, verify } = rules;
  const { headers, fields } = await authenticate(now);
  const accept = verify ? `application/${SIGNED}` : "application/json";
  const asked = { token, token_type_hint: "access_token", ...fields };
  const text = await post(url, fetch, asked, { headers: { accept, ...headers }, signal });
  return verify ? readSigned(url, text, verify) : readJson(url, text);
}
