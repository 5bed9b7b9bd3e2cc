import { type GrantedScopes, type ScopeRules } from "../scopes/scope.ts";
import { scopeSetOf } from "../scopes/scope-sets.ts";

/** A claim's name, or the path to it through nested objects: `["realm_access", "roles"]`. */
export type ClaimPath = string | readonly string[];

/** The claims that a principal is read from, and the scope hierarchy. */
export interface PrincipalRules {
  readonly scopesClaim: ClaimPath;
  readonly userIdClaim: ClaimPath;
  readonly sessionIdClaim: ClaimPath;
  readonly scopeRules: ScopeRules;
}

/** The caller of a request, read from the claims of a verified token (RFC 7519 section 4). Deeply frozen. */
export interface Principal {
  /** The `sub` claim, or the claim of the option `userIdClaim`. */
  readonly userId?: string;
  /** The `session_id` claim, or the claim of the option `sessionIdClaim`. */
  readonly sessionId?: string;
  /** The scopes as the token lists them. Use `has` to check what they cover. */
  readonly scopes: readonly string[];
  /** The `aud` claim as an array; empty if the token has none. */
  readonly audience: readonly string[];
  /** The `iss` claim. */
  readonly issuer?: string;
  /** The `jti` claim. */
  readonly tokenId?: string;
  /** The `exp` claim, in seconds since the epoch. */
  readonly expiresAt?: number;
  /** All claims of the verified token. Check the type of the claims that you read. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Reports whether the granted scopes cover a scope, by the admin scope and implied scopes too. */
  has(scope: string): boolean;
  /** The ids with `resource:<id>:action` granted, or `"all"`, to filter the result of a `filtered` route. */
  resourceIds(resource: string, action: string): "all" | ReadonlySet<string>;
}

/** Reads only `scopes`, so that a principal of another server, or of a test, cannot bring its own `has`. */
export const grantedScopesOf = (principal: Principal, rules: ScopeRules): GrantedScopes =>
  scopeSetOf(principal.scopes, rules).granted;

/** A principal, or the name of a claim that is missing or has the wrong type. */
export type ReadPrincipal =
  | { readonly kind: "principal"; readonly principal: Principal }
  | { readonly kind: "invalid"; readonly claim: string };

/** Reads a principal from verified claims. Freezes them, and lets principals share equal arrays of scopes. */
export function readPrincipal(claims: Record<string, unknown>, rules: PrincipalRules): ReadPrincipal {
  const scopes = readScopes(claimAt(claims, rules.scopesClaim));
  const audience = readAudience(claimAt(claims, "aud"));
  const userId = claimAt(claims, rules.userIdClaim);
  const sessionId = claimAt(claims, rules.sessionIdClaim);
  const issuer = claimAt(claims, "iss");
  const tokenId = claimAt(claims, "jti");
  const expiresAt = claimAt(claims, "exp");
  if (!scopes) return invalid(nameOf(rules.scopesClaim));
  if (!audience) return invalid("aud");
  if (!isOptionalString(userId)) return invalid(nameOf(rules.userIdClaim));
  if (!isOptionalString(sessionId)) return invalid(nameOf(rules.sessionIdClaim));
  if (!isOptionalString(issuer)) return invalid("iss");
  if (!isOptionalString(tokenId)) return invalid("jti");
  const date = DATES.find((name) => !isNumericDate(claimAt(claims, name)));
  if (date !== undefined) return invalid(date);

  const set = scopeSetOf(scopes, rules.scopeRules);
  const { scopesClaim } = rules;
  if (typeof scopesClaim === "string" && claims[scopesClaim] === scopes) claims[scopesClaim] = set.scopes;
  const { has, resourceIds } = set;
  // Assigned one by one, because an object literal with spreads is slow and every token creates one.
  const principal: Writable<Principal> = { has, resourceIds, scopes: set.scopes, audience, claims };
  if (userId !== undefined) principal.userId = userId;
  if (sessionId !== undefined) principal.sessionId = sessionId;
  if (issuer !== undefined) principal.issuer = issuer;
  if (tokenId !== undefined) principal.tokenId = tokenId;
  if (typeof expiresAt === "number") principal.expiresAt = expiresAt;
  return { kind: "principal", principal: freezePrincipal(principal) };
}

const NO_AUDIENCE: readonly string[] = Object.freeze([]);

const DATES = ["exp", "nbf", "iat"] as const;

const invalid = (claim: string): ReadPrincipal => ({ kind: "invalid", claim });

const nameOf = (path: ClaimPath): string => (typeof path === "string" ? path : path.join("."));

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Creates a principal without a token: it has scopes but no user id. */
export function createPrincipal(
  { scopes, audience, claims }: Pick<Principal, "scopes" | "audience" | "claims">,
  rules: ScopeRules,
): Principal {
  const set = scopeSetOf(scopes, rules);
  const { has, resourceIds } = set;
  return freezePrincipal({
    has,
    resourceIds,
    scopes: set.scopes,
    audience: Object.freeze([...audience]),
    claims,
  });
}

/** Handlers of concurrent requests may share one principal, so that none may change a claim. */
function freezePrincipal(principal: Principal): Principal {
  deepFreeze(principal.claims, principal.scopes);
  return Object.freeze(principal);
}

/** Finds a claim by name or path. Own properties only, so that a polluted prototype grants nothing. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: ClaimPath): unknown {
  if (typeof path === "string") return Object.hasOwn(claims, path) ? claims[path] : undefined;
  let value: unknown = claims;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** An array of strings, or one space-delimited string (RFC 9068 section 2.2.3, RFC 8693 section 4.2). */
function readScopes(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return value.split(" ").filter((scope) => scope !== "");
  return isStringArray(value) ? value : undefined;
}

/** RFC 7519 section 4.1.3: one string, or an array of strings. */
function readAudience(value: unknown): readonly string[] | undefined {
  if (value === undefined) return NO_AUDIENCE;
  if (typeof value === "string") return Object.freeze([value]);
  return isStringArray(value) ? Object.freeze(value) : undefined;
}

const isOptionalString = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";

const isStringArray = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** JSON.parse reads `1e400` as Infinity, and such a token would never expire. */
const isNumericDate = (value: unknown): boolean => value === undefined || Number.isFinite(value);

/** Freezes a JSON value without recursion: deeply nested claims must not overflow the stack. */
function deepFreeze(root: object, frozen: readonly string[]): void {
  const pending = [root];
  for (let next = pending.pop(); next; next = pending.pop()) {
    Object.freeze(next);
    const values = (Array.isArray(next) ? next : Object.values(next)) as readonly unknown[];
    for (const value of values)
      if (typeof value === "object" && value && value !== frozen) pending.push(value);
  }
}
