/** Requirements for the claims of every token: JWTs, introspected tokens and API keys. */
import { claimAt } from "./claim-path.ts";

/** A value that a claim can be required to have. It's compared exactly, including its type. */
export type ClaimValue = string | number | boolean;

/** The required value of each claim, or several accepted ones: `{ token_use: "access" }`. */
export type RequiredClaimValues = Readonly<Record<string, ClaimValue | readonly ClaimValue[]>>;

/** Names of claims, objects from names to values, or one such object. */
export type RequiredClaims = readonly (string | RequiredClaimValues)[] | RequiredClaimValues;

/** One claim that a token must have. Without `values`, any value is accepted. */
export interface RequiredClaim {
  readonly name: string;
  readonly values: readonly ClaimValue[] | undefined;
}

/** Copies the option, because the caller may change its arrays later. */
export function compileRequiredClaims(option: RequiredClaims): readonly RequiredClaim[] {
  const entries = Array.isArray(option) ? (option as readonly (string | RequiredClaimValues)[]) : [option];
  return entries.flatMap((entry): readonly RequiredClaim[] => {
    if (typeof entry === "string") return [{ name: entry, values: undefined }];
    return Object.entries(entry as RequiredClaimValues).map(([name, value]) => ({
      name,
      values: [value].flat(),
    }));
  });
}

type Claims = Readonly<Record<string, unknown>>;

/** Returns the name of the first required claim that is missing or has another value. */
export function findUnmetClaim(claims: Claims, required: readonly RequiredClaim[]): string | undefined {
  const isUnmet = ({ name, values }: RequiredClaim): boolean => {
    const value = claimAt(claims, name);
    return values ? !values.includes(value as ClaimValue) : value === undefined;
  };
  return required.find(isUnmet)?.name;
}
