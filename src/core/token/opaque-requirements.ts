import type { TokenRequirements } from "./required-claims.ts";

/** The requirements for tokens that aren't JWTs. */
export interface OpaqueRequirements {
  /** The requirements of the server. */
  readonly shared: TokenRequirements;
  /** The requirements of each accepted issuer. If empty: any issuer, with the server's requirements. */
  readonly byIssuer: ReadonlyMap<string, TokenRequirements>;
}

/** Returns what the tokens of an issuer must satisfy. */
export const requirementsOf = (
  { shared, byIssuer }: OpaqueRequirements,
  issuer: string | undefined,
): TokenRequirements => (issuer === undefined ? undefined : byIssuer.get(issuer)) ?? shared;
