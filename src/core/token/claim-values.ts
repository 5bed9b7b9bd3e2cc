/** Reads the values of a claim that are compared with a parameter of the request. */
import { isIdentifier } from "../runtime/json.ts";
import { claimAt, type ClaimPath } from "./claim-path.ts";

/** A claim, and the issuer that it belongs to. */
export interface ClaimSource {
  /** The claim: a name, or the path of a nested claim as an array. */
  readonly claim: ClaimPath;
  /** The issuer in whose tokens the claim has this meaning. Required with several issuers. Default: any. */
  readonly issuer?: string;
}

/** The tenant of the token's issuer, which the options name: no token can choose it. */
export interface TenantSource {
  readonly tenant: true;
}

export const isTenantSource = (source: ClaimSource | TenantSource): source is TenantSource =>
  Object.hasOwn(source, "tenant");

/** The part of a principal that is read. */
interface Claimant {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly issuer?: string;
  readonly tenant?: string;
}

/**
 * Reads a claim as an array of strings. An integer becomes its decimal string. If the claim, or an element of
 * its array, has any other type, the result is empty.
 */
export function readClaim(claimant: Claimant, source: ClaimSource | TenantSource): readonly unknown[] {
  // Own properties only: a polluted prototype must not name a tenant, or select another issuer.
  if (isTenantSource(source)) return Object.hasOwn(claimant, "tenant") ? [claimant.tenant] : [];
  const { claims, issuer } = claimant;
  if (Object.hasOwn(source, "issuer") && source.issuer !== issuer) return [];
  const value = claimAt(claims, source.claim);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.every(isIdentifier) ? values : [];
}

/** The method `values` of all principals: one function for each took an eighth of a remembered token. */
export function valuesOf(this: Claimant, source: ClaimSource | TenantSource): ReadonlySet<string> {
  return new Set(readClaim(this, source).map(String));
}
