import { type Rejection } from "./errors.ts";
import { type ResourceServerOptions } from "./options/options.ts";
import { type Refused } from "./policy/decision.ts";
import { type Principal, readPrincipal } from "./principal.ts";
import { withinLimit } from "./time-limit.ts";
import { readJwt } from "./token/jwt-parts.ts";
import { type Trust } from "./trust.ts";

/** Who a token speaks for, or why it speaks for nobody. */
export type Identified =
  | { readonly kind: "identified"; readonly principal: Principal }
  | {
      readonly kind: "refused";
      readonly refusal: Pick<Refused, "reason" | "rejection" | "claim" | "cause" | "principal">;
    };

/** From a token to its principal: the signature, the claims, and whether it was revoked. */
export function createIdentifier(
  trust: Trust,
  maxTokenBytes: number,
  isRevoked: ResourceServerOptions["isRevoked"],
): (token: string) => Promise<Identified> {
  return async (token) => {
    const jwt = readJwt(token, maxTokenBytes);
    if (typeof jwt === "string") return reject(jwt);
    const authority = trust.authorityOf(jwt);
    if (typeof authority === "string") return reject(authority);
    const verification = await authority.verify(jwt);
    if (verification.kind === "unavailable") return unavailable(verification.cause);
    if (verification.kind === "rejected") return reject(verification.rejection, verification.claim);
    const read = readPrincipal(verification.claims, authority.principal);
    if (read.kind === "mistake") return reject("claims", read.claim);
    const { principal } = read;
    return isRevoked ? askRevocation(principal, isRevoked) : { kind: "identified", principal };
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
