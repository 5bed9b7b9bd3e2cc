/** The values of a claim that are compared with a parameter of the request. */
import { claimAt, type ClaimPath } from "./claim-path.ts";

/** The claim that a value is read from, by its name or path. */
export interface ClaimSource {
  /** The claim: a name, or the path of a nested claim as an array. */
  readonly claim: ClaimPath;
  /** The issuer whose tokens have this meaning of the claim. Needed with several issuers. Default: any. */
  readonly issuer?: string;
}

/** The part of a principal that is read. */
interface Claimant {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly issuer?: string;
}

/**
 * Reads a claim as an array of strings. An integer becomes its decimal string. A claim with any other value,
 * or with one such value in its array, has no values.
 */
function readClaim({ claims, issuer }: Claimant, source: ClaimSource): readonly unknown[] {
  // A polluted prototype must not select another issuer.
  if (Object.hasOwn(source, "issuer") && source.issuer !== issuer) return [];
  const value = claimAt(claims, source.claim);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.every(isIdentifier) ? values : [];
}

/** Returns the values of a claim that a parameter can be equal to. */
export const claimValuesOf = (claimant: Claimant, source: ClaimSource): ReadonlySet<string> =>
  new Set(readClaim(claimant, source).map(String));

/** Returns whether a claim has a value, and whether it is one of several. Compares code units. */
export function findInClaim(
  claimant: Claimant,
  source: ClaimSource,
  text: string,
): "only" | "one of several" | undefined {
  const values = readClaim(claimant, source);
  if (!values.some((value) => String(value) === text)) return undefined;
  return new Set(values.map(String)).size > 1 ? "one of several" : "only";
}

/** A larger integer has lost digits when it was parsed, so that two tenants would have one id. */
const isIdentifier = (value: unknown): boolean =>
  (typeof value === "string" && value !== "") || (Number.isSafeInteger(value) && !Object.is(value, -0));
