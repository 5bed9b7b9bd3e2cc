/** Reads and checks the response of the endpoint (RFC 7662 section 2.2, RFC 9701 section 5). */
import { orUndefined } from "../../core/errors.ts";
import { isObject, isOnlyReading } from "../../core/runtime/json.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import { readJwt } from "../../core/token/jwt-parts.ts";
import type { OpaqueVerification } from "../../core/token/opaque-tokens.ts";
import { isOnlyFor, type TokenVerifier } from "../../core/token/verifier.ts";
import { EndpointError } from "./endpoint.ts";

/** The properties of a response. */
export type Claims = Record<string, unknown>;
type Rejected = Extract<OpaqueVerification, { kind: "rejected" }>;

/** Parses a JSON response. @throws EndpointError for anything but an object without duplicate names */
export function readJson(url: string, text: string): Claims {
  const value = orUndefined((): unknown => JSON.parse(text));
  if (isObject(value) && isOnlyReading(value, Buffer.from(text))) return value;
  throw new EndpointError(url, "didn't return a JSON object.");
}

/** Verifies a signed response. @throws EndpointError if it isn't valid, or its keys are unavailable */
export async function readSigned(url: string, text: string, verify: TokenVerifier): Promise<Claims> {
  const read = readJwt(text.trim());
  const verification = read.kind === "jwt" ? await verify(read.jwt) : read;
  if (verification.kind === "unavailable")
    throw new EndpointError(url, "returned a signed response whose keys are unavailable.", verification);
  if (verification.kind === "rejected")
    throw new EndpointError(url, `didn't return an acceptable signed response: ${verification.rejection}.`);
  const { token_introspection: response, iss } = verification.claims;
  if (!isObject(response)) throw new EndpointError(url, "returned a JWT without `token_introspection`.");
  return { iss, ...response };
}

/** What a response must contain. */
export interface ResponseRules {
  readonly issuer?: string;
  /** The accepted values of `aud`. `undefined` accepts any. */
  readonly audience: readonly string[] | undefined;
  readonly audienceOnly?: boolean | undefined;
  readonly clockToleranceSeconds: number;
}

const DATES = ["exp", "nbf", "iat"] as const;
const INACTIVE =
  "The issuer reports that the token isn't active: it has expired, was revoked, or is unknown.";

/**
 * Returns why a token is rejected; `undefined` if it's accepted. `now` is in seconds. The server checks `nbf`
 * and `iat` on each request: a rejection is remembered, and would hold after the token has become valid.
 */
export function findMistake(claims: Claims, rules: ResponseRules, now: number): Rejected | undefined {
  const { issuer, audience, clockToleranceSeconds: tolerance } = rules;
  const claim = (name: string): unknown => claimAt(claims, name);
  if (claim("active") !== true) return reject("revoked", { cause: INACTIVE });
  const date = DATES.find((name) => claim(name) !== undefined && !Number.isFinite(claim(name)));
  if (date !== undefined) return reject("claims", { claim: date });
  if (Number(claim("exp")) <= now - tolerance) return reject("expired");
  if (issuer !== undefined && claim("iss") !== issuer) return reject("issuer");
  if (!isAccessToken(claim("token_type"), claim("token_use"), audience)) return reject("type");
  // RFC 9449 section 6.2: such a token is bound to a key, so it isn't a bearer token.
  if (isDpop(claim("token_type")) && claim("cnf") === undefined) return reject("claims", { claim: "cnf" });
  const aud = [claim("aud")].flat();
  if (!audience) return undefined;
  const isFor = audience.some((accepted) => aud.includes(accepted));
  return isFor && !(rules.audienceOnly && !isOnlyFor(aud, audience)) ? undefined : reject("audience");
}

/**
 * Some issuers also report refresh tokens as active: without a `token_type`, or with a `token_use` (Ory
 * Hydra). The audience check usually rejects them. Without this check, `token_type` is required.
 */
const isAccessToken = (type: unknown, use: unknown, audience: unknown): boolean =>
  (type === undefined
    ? audience !== undefined
    : typeof type === "string" && /^(?:bearer|dpop)$/i.test(type)) &&
  (use === undefined || use === "access_token");

const isDpop = (type: unknown): boolean => typeof type === "string" && type.toLowerCase() === "dpop";

const reject = (rejection: Rejected["rejection"], why: Pick<Rejected, "claim" | "cause"> = {}): Rejected => ({
  kind: "rejected",
  rejection,
  ...why,
});
