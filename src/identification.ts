import { type Rejection } from "./errors.ts";
import { type ResourceServerOptions } from "./options/options.ts";
import { type Refused } from "./policy/decision.ts";
import { type Principal, readPrincipal } from "./principal.ts";
import { withinLimit } from "./time-limit.ts";
import { formMistakeOf, readJwt } from "./token/jwt-parts.ts";
import { type Acceptance, digestOf, type TokenCache } from "./token/token-cache.ts";
import { type Trust } from "./trust.ts";

/** Who a token speaks for, or why it speaks for nobody. */
export type Identified =
  | { readonly kind: "identified"; readonly principal: Principal }
  | {
      readonly kind: "refused";
      readonly refusal: Pick<Refused, "reason" | "rejection" | "claim" | "cause" | "principal">;
    };

/** From a token to whom it speaks for. */
export type Identifier = (token: string) => Promise<Identified>;

export interface IdentificationRules {
  readonly maxTokenBytes: number;
  readonly cache: TokenCache<Identified> | undefined;
  readonly isRevoked: ResourceServerOptions["isRevoked"];
}

/** Tells whom tokens speak for: by their signature and claims, unless those are remembered, and by what was revoked. */
export function createIdentifier(trust: Trust, rules: IdentificationRules): Identifier {
  const { maxTokenBytes, cache, isRevoked } = rules;
  const verify = async (token: string) => verifyToken(token, maxTokenBytes, trust);
  const identify = cache
    ? remember(cache, verify)
    : async (token: string) => (await verify(token)).identified;
  return async (token) => {
    // Before anything looks at all of it.
    const misshapen = formMistakeOf(token, maxTokenBytes);
    if (misshapen) return reject(misshapen);
    const identified = await identify(token);
    return isRevoked && identified.kind === "identified"
      ? askRevocation(identified.principal, isRevoked)
      : identified;
  };
}

/** What a token was found to be, and by which key where it was accepted. */
interface Verified {
  readonly identified: Identified;
  readonly acceptance?: Acceptance;
}

/** The form, the issuer, the signature and the claims of one token. */
async function verifyToken(token: string, maxTokenBytes: number, trust: Trust): Promise<Verified> {
  const jwt = readJwt(token, maxTokenBytes);
  if (typeof jwt === "string") return { identified: reject(jwt) };
  const authority = trust.authorityOf(jwt);
  if (typeof authority === "string") return { identified: reject(authority) };
  const verification = await authority.verify(jwt);
  if (verification.kind === "unavailable") return { identified: unavailable(verification.cause) };
  if (verification.kind === "rejected")
    return { identified: reject(verification.rejection, verification.claim) };
  const read = readPrincipal(verification.claims, authority.principal);
  if (read.kind === "mistake") return { identified: reject("claims", read.claim) };
  const { key, endsAt } = verification;
  return {
    identified: { kind: "identified", principal: read.principal },
    acceptance: { keys: authority.keys, key, endsAt },
  };
}

/** Verifies a token once while it is remembered, and once for all who send it at the same time. */
function remember(cache: TokenCache<Identified>, verify: (token: string) => Promise<Verified>) {
  const flights = new Map<string, Promise<Identified>>();
  const verifyOnce = async (token: string, digest: string): Promise<Identified> => {
    try {
      const { identified, acceptance } = await verify(token);
      if (acceptance) cache.set(digest, identified, acceptance);
      return identified;
    } finally {
      flights.delete(digest);
    }
  };
  return (token: string): Identified | Promise<Identified> => {
    const digest = digestOf(token);
    const remembered = cache.get(digest) ?? flights.get(digest);
    if (remembered) return remembered;
    const flight = verifyOnce(token, digest);
    flights.set(digest, flight);
    return flight;
  };
}

/** No answer is not a bad token: whoever cannot tell whether a token is revoked says so, and lets nobody in. */
async function askRevocation(
  principal: Principal,
  isRevoked: NonNullable<ResourceServerOptions["isRevoked"]>,
): Promise<Identified> {
  try {
    const answer = isRevoked(principal);
    const revoked: unknown = typeof answer === "boolean" ? answer : await withinLimit(answer, "`isRevoked`");
    if (revoked === false) return { kind: "identified", principal };
    if (revoked === true)
      return { kind: "refused", refusal: { reason: "token_rejected", rejection: "revoked", principal } };
    throw new TypeError("`isRevoked` must answer true or false.");
  } catch (cause) {
    return unavailable(cause);
  }
}

const reject = (rejection: Rejection, claim?: string): Identified => ({
  kind: "refused",
  refusal: { reason: "token_rejected", rejection, ...(claim !== undefined && { claim }) },
});

const unavailable = (cause: unknown): Identified => ({
  kind: "refused",
  refusal: { reason: "keys_unavailable", cause },
});
