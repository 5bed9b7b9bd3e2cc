import {
  JOSEAlgNotAllowed,
  JWSSignatureVerificationFailed,
  JWTClaimValidationFailed,
  JWTExpired,
  JWTInvalid,
} from "jose/errors";
import { jwtVerify, type JWTVerifyOptions } from "jose/jwt/verify";
import { readClock } from "../runtime/clock.ts";
import { orUndefined } from "../errors.ts";
import { isOnlyReading } from "../runtime/json.ts";
import { isPending } from "../runtime/pending.ts";
import type { Algorithm } from "../keys/algorithm.ts";
import {
  type KeyMaterial,
  type KeyResolver,
  materialOf,
  type VerificationKey,
} from "../keys/verification-key.ts";
import { isClientAllowed } from "./clients.ts";
import { isIssuedLater } from "./issued-at.ts";
import { type JwtParts, mediaType } from "./jwt-parts.ts";
import { endOf } from "./lifetime.ts";
import { type RejectedToken, rejectToken, type UncheckedToken, unavailable } from "./rejection.ts";
import { compileRequiredClaims, findUnmetClaim, type RequiredClaims } from "./required-claims.ts";

/** The checks that a token must pass. */
export interface TokenRules {
  readonly algorithms: readonly Algorithm[];
  readonly issuer: string | undefined;
  /** The accepted `aud` values; `undefined` if the audience isn't verified. */
  readonly audience: readonly string[] | undefined;
  /** Whether `aud` may name nothing else. */
  readonly audienceOnly?: boolean;
  /** Accepts further `aud` values: the resources of a template. The path of a request decides which one. */
  readonly isAudience?: ((value: string) => boolean) | undefined;
  readonly requiredClaims: RequiredClaims;
  /** The clients whose tokens are accepted; `undefined` for any. */
  readonly clients?: readonly string[] | undefined;
  /** The accepted `typ` values; `null` accepts a missing `typ`. */
  readonly tokenTypes: readonly (string | null)[];
  readonly clockToleranceSeconds: number;
  readonly maxTokenAgeSeconds: number | undefined;
  readonly now: () => number;
}

/** The result for one token. */
export type Verification =
  | {
      readonly kind: "verified";
      /** The caller may keep or change this object. */
      readonly claims: Record<string, unknown>;
      readonly key: VerificationKey;
      /** When the token expires, in milliseconds since the epoch. */
      readonly endsAt: number;
    }
  | RejectedToken
  | UncheckedToken;

/** Verifies one token. */
export type TokenVerifier = (jwt: JwtParts) => Promise<Verification>;

/** Creates the verifier for one issuer. jose checks the signature and registered claims (RFC 7515, 7519). */
export function createTokenVerifier(rules: TokenRules, keys: KeyResolver): TokenVerifier {
  const acceptedTypes = new Set(rules.tokenTypes.map((type) => type && mediaType(type)));
  const requiredClaims = compileRequiredClaims(rules.requiredClaims);
  const clients = rules.clients && new Set(rules.clients);
  const algorithms = [...rules.algorithms];
  const expected = rules.audience && [...rules.audience];
  const { isAudience } = rules;
  const audience = isAudience ? undefined : expected;
  const isForResource = (aud: string | string[] = []): boolean =>
    [aud].flat().some((value) => expected?.includes(value) === true || isAudience?.(value) === true);
  const requiredNames = requiredClaims.map(({ name }) => name);
  // Every option is an own property, so that a polluted prototype can't set it. They are in one literal,
  // because V8 takes two microseconds for a spread that adds a property.
  const optionsAt = (currentDate: Date): Record<keyof JWTVerifyOptions, unknown> => ({
    algorithms,
    audience,
    issuer: rules.issuer,
    requiredClaims: requiredNames,
    clockTolerance: rules.clockToleranceSeconds,
    maxTokenAge: rules.maxTokenAgeSeconds,
    currentDate,
    subject: undefined,
    typ: undefined,
    crit: undefined,
  });

  return async (jwt) => {
    const { alg, kid, type } = jwt.header;
    const algorithm = rules.algorithms.find((allowed) => allowed === alg);
    if (!algorithm) return rejectToken("algorithm");
    if (!acceptedTypes.has(type ?? null)) return rejectToken("type");
    const query = { algorithm, kid };
    let candidates: VerificationKey[];
    try {
      const keysFound = keys.find(query);
      candidates = [...(isPending(keysFound) ? await keysFound : keysFound)];
    } catch (cause) {
      return unavailable(
        cause,
        orUndefined(() => keys.retryAfterSeconds?.()),
      );
    }
    let rejected = rejectToken("key");
    let hasAskedForNewer = false;
    for (const key of candidates) {
      let material: KeyMaterial;
      try {
        const imported = materialOf(key, algorithm);
        material = isPending(imported) ? await imported : imported;
      } catch (cause) {
        return unavailable(cause);
      }
      // Read the clock after the keys, which may take seconds to load.
      const currentDate = readClock(rules.now);
      const options = optionsAt(currentDate) as JWTVerifyOptions;
      try {
        const { payload } = await jwtVerify(jwt.encoded, material, options);
        if (!isOnlyReading(payload, jwt.payload)) return rejectToken("malformed");
        if (rules.audienceOnly && !isOnlyFor(payload.aud, expected, isAudience))
          return rejectToken("audience");
        // jose checks `iat` only together with a maximum age.
        if (isIssuedLater(payload.iat, currentDate.getTime() / 1000, rules.clockToleranceSeconds))
          return rejectToken("not_yet_valid");
        // jose compares `aud` with strings only.
        if (isAudience && !isForResource(payload.aud)) return rejectToken("audience");
        // jose only checks that the claims are present, not their values.
        const claim = findUnmetClaim(payload, requiredClaims);
        if (claim !== undefined) return rejectToken("claims", claim);
        if (clients && !isClientAllowed(payload, clients)) return rejectToken("claims", "client_id");
        return { kind: "verified", claims: payload, key, endsAt: endOf(payload, rules.maxTokenAgeSeconds) };
      } catch (error) {
        rejected = toVerificationRejection(error);
        // Another key may match the signature. All other rejections are final.
        if (rejected.rejection !== "signature") return rejected;
      }
      if (key === candidates.at(-1) && !hasAskedForNewer) {
        // The issuer may have reused the `kid` of an old key. The loop also tries these keys.
        hasAskedForNewer = true;
        candidates.push(...((await keys.findNewer?.(query)) ?? []));
      }
    }
    return rejected;
  };
}

/** Returns whether every `aud` of a token is one of these. */
export const isOnlyFor = (
  aud: unknown,
  audience: readonly string[] = [],
  isAudience?: TokenRules["isAudience"],
): boolean =>
  [aud]
    .flat()
    .every((name) => typeof name === "string" && (audience.includes(name) || isAudience?.(name) === true));

/** Turns an error into a rejection, even an unexpected one: none may cause a 500 or expose a stack trace. */
function toVerificationRejection(error: unknown): RejectedToken {
  if (error instanceof JWSSignatureVerificationFailed) return rejectToken("signature");
  if (error instanceof JWTExpired) return rejectToken("expired");
  if (error instanceof JWTClaimValidationFailed) return toClaimRejection(error);
  if (error instanceof JOSEAlgNotAllowed) return rejectToken("algorithm");
  if (error instanceof JWTInvalid) return rejectToken("malformed");
  return rejectToken("key");
}

function toClaimRejection({ claim, reason }: JWTClaimValidationFailed): RejectedToken {
  if (claim === "iss") return rejectToken("issuer");
  if (claim === "aud") return rejectToken("audience");
  if (reason === "check_failed" && (claim === "nbf" || claim === "iat")) return rejectToken("not_yet_valid");
  return rejectToken("claims", claim);
}
