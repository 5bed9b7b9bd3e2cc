import { claimAt, claimNameOf, type ClaimPath } from "./claim-path.ts";
import { type RejectedToken, rejectToken } from "./rejection.ts";

/** A claim that grants scopes. */
export interface ScopeSource {
  /** The claim: an array of strings, or one string. Without `map`, the string is space-delimited. */
  readonly claim: ClaimPath;
  /** Whether a token without the claim is rejected. Default: `true`; `false` with `authorization: false`. */
  readonly required?: boolean;
  /**
   * The scopes that each value of the claim grants, for a claim with roles. A value that isn't listed grants
   * nothing. A string is one value, spaces included, except in the claims `scope` and `scp`. Default: the
   * values are scopes. But in a claim not named `scopes`, `scope` or `scp`, `adminScope` grants nothing: a
   * role with that name doesn't make an administrator. To grant it, add a source with the claim and a `map`.
   */
  readonly map?: Readonly<Record<string, readonly string[]>>;
}

/** A source, and the scope that it can't grant. */
export interface ResolvedScopeSource extends ScopeSource {
  /** The admin scope, unless the source may grant it. */
  readonly withheld?: string | undefined;
}

const SCOPE_CLAIMS: readonly string[] = ["scopes", "scope", "scp"];

/** Returns whether a claim contains scopes, by its name. Others contain roles, which anyone may name. */
export const isScopeClaim = (claim: ClaimPath): boolean => SCOPE_CLAIMS.includes(claimNameOf(claim));

/** Reads the scopes of all sources, each once. Rejects a claim that is missing or has the wrong type. */
export function readScopes(
  claims: Readonly<Record<string, unknown>>,
  sources: readonly ResolvedScopeSource[],
): { readonly kind: "scopes"; readonly scopes: readonly string[] } | RejectedToken {
  const granted: (readonly string[])[] = [];
  for (const { claim, required = true, map, withheld } of sources) {
    const value = claimAt(claims, claim);
    if (value === undefined && !required) continue;
    const values = readScopeList(value, map === undefined || isSpaceDelimited(claim));
    if (!values)
      return rejectToken(
        "claims",
        claimNameOf(claim),
        value === undefined ? adviceFor(claims, claim) : undefined,
      );
    if (map) granted.push(scopesOfRoles(values, map));
    else if (withheld !== undefined && values.includes(withheld))
      granted.push(values.filter((scope) => scope !== withheld));
    else granted.push(values);
  }
  const [firstScopes] = granted;
  // Returns the token's own array, so that the principal can share it.
  if (firstScopes && granted.length === 1) return { kind: "scopes", scopes: firstScopes };
  return { kind: "scopes", scopes: [...new Set(granted.flat())] };
}

const scopesOfRoles = (roles: readonly string[], map: NonNullable<ScopeSource["map"]>): readonly string[] => [
  ...new Set(roles.flatMap((role) => (Object.hasOwn(map, role) ? (map[role] ?? []) : []))),
];

/**
 * Returns whether a string in the claim is split even with `map`: `scope` (RFC 8693 section 4.2), and `scp`
 * of Microsoft and Okta. In any other claim, a role "billing admin" must not grant the scopes of `admin`.
 */
export const isSpaceDelimited = (claim: ClaimPath): boolean => ["scope", "scp"].includes(claimNameOf(claim));

/** Reads an array of strings, or one string (RFC 9068 section 2.2.3, RFC 8693 section 4.2). */
function readScopeList(value: unknown, isSplit: boolean): readonly string[] | undefined {
  if (typeof value === "string") return isSplit ? value.split(" ").filter((scope) => scope !== "") : [value];
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
}

/** Says what to write if a token has its scopes or roles elsewhere. For logs: a client never sees it. */
function adviceFor(claims: Readonly<Record<string, unknown>>, path: ClaimPath): string | undefined {
  const has = (name: string): boolean => Object.hasOwn(claims, name);
  if (typeof path !== "string" && path.length > 1 && path.every(has))
    return "The array is the path of one nested claim, but the token has a claim of each name. Write `scopeSources` for several claims.";
  const name = [...SCOPE_CLAIMS, "permissions", "roles"].find(has);
  return name && `The token has \`${name}\`: write scopesClaim: "${name}".`;
}
