/** Requirements for the claims of every token: JWTs, introspected tokens and API keys. */
import { claimAt } from "./claim-path.ts";
import { isClientAllowed } from "./clients.ts";
import { isIssuedLater } from "./issued-at.ts";
import { type RejectedToken, rejectToken } from "./rejection.ts";

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

/** What the server, or the issuer of a token, requires of a token that isn't a JWT. */
export interface TokenRequirements {
  readonly requiredClaims: readonly RequiredClaim[];
  /** The clients whose tokens are accepted; `undefined` for any. */
  readonly clients: ReadonlySet<string> | undefined;
  readonly maxTokenAgeSeconds: number | undefined;
}

/** Returns why a token that isn't a JWT doesn't satisfy the requirements. Times are in seconds. */
export function findUnmetRequirement(
  claims: Claims,
  { requiredClaims, clients, maxTokenAgeSeconds }: TokenRequirements,
  { now, tolerance }: { readonly now: number; readonly tolerance: number },
): RejectedToken | undefined {
  const claim = findUnmetClaim(claims, requiredClaims);
  if (claim !== undefined) return rejectToken("claims", claim);
  if (clients && !isClientAllowed(claims, clients)) return rejectToken("claims", "client_id");
  const [iat, nbf] = [claimAt(claims, "iat"), claimAt(claims, "nbf")];
  const isEarly = typeof nbf === "number" && nbf > now + tolerance;
  if (isEarly || isIssuedLater(iat, now, tolerance)) return rejectToken("not_yet_valid");
  if (maxTokenAgeSeconds === undefined) return undefined;
  if (typeof iat !== "number") return rejectToken("claims", "iat");
  if (iat > now + tolerance) return rejectToken("not_yet_valid");
  return now - tolerance - iat > maxTokenAgeSeconds ? rejectToken("expired") : undefined;
}
