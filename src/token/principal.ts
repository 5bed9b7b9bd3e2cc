import { type GrantedScopes, type ScopeRules } from "../scopes/scope.ts";
import { scopeSetOf } from "../scopes/scope-sets.ts";

/** A claim's name, or the path to it through nested objects: `["realm_access", "roles"]`. */
export type ClaimPath = string | readonly string[];

/** Which claims a principal is read from, and how its scopes cover others. */
export interface PrincipalRules {
  readonly scopesClaim: ClaimPath;
  readonly userIdClaim: ClaimPath;
  readonly sessionIdClaim: ClaimPath;
  readonly scopeRules: ScopeRules;
}

/** Who a request speaks for, read from the claims of a verified token (RFC 7519 section 4). Frozen, claims included. */
export interface Principal {
  /** `sub`, unless `userIdClaim` says otherwise. */
  readonly userId?: string;
  /** `session_id`, unless `sessionIdClaim` says otherwise. */
  readonly sessionId?: string;
  /** The scopes as the token lists them; use `has` to ask what they cover. */
  readonly scopes: readonly string[];
  /** `aud` as a list; empty when the token names none. */
  readonly audience: readonly string[];
  /** `iss`. */
  readonly issuer?: string;
  /** `jti`. */
  readonly tokenId?: string;
  /** `exp`, in seconds since the epoch. */
  readonly expiresAt?: number;
  /** All claims of the token, verified; check the type of what you read. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether the granted scopes cover one, the admin scope and implied scopes included. */
  has(scope: string): boolean;
  /** The ids for which `resource:<id>:action` is granted, or `"all"`; for filtering the list of a `filtered` route. */
  resourceIds(resource: string, action: string): "all" | ReadonlySet<string>;
}

/**
 * The scopes of a principal, indexed for the rules of a server. One that another server made, or a test by hand, is
 * judged by its list of scopes alone.
 */
export const grantedScopesOf = (principal: Principal, rules: ScopeRules): GrantedScopes =>
  scopeSetOf(principal.scopes, rules).granted;

/** A principal, or the name of a claim that is missing or of the wrong type. */
export type ReadPrincipal =
  | { readonly kind: "principal"; readonly principal: Principal }
  | { readonly kind: "mistake"; readonly claim: string };

/**
 * Reads the claims of a verified token to a principal, or to the name of a claim that is of the wrong type. The claims
 * become a part of the principal, frozen; their list of scopes is exchanged for the equal one that others share.
 */
export function readPrincipal(claims: Record<string, unknown>, rules: PrincipalRules): ReadPrincipal {
  const scopes = readScopes(claimAt(claims, rules.scopesClaim));
  const audience = readAudience(claimAt(claims, "aud"));
  const userId = claimAt(claims, rules.userIdClaim);
  const sessionId = claimAt(claims, rules.sessionIdClaim);
  const issuer = claimAt(claims, "iss");
  const tokenId = claimAt(claims, "jti");
  const expiresAt = claimAt(claims, "exp");
  if (!scopes) return mistake(nameOf(rules.scopesClaim));
  if (!audience) return mistake("aud");
  if (!isText(userId)) return mistake(nameOf(rules.userIdClaim));
  if (!isText(sessionId)) return mistake(nameOf(rules.sessionIdClaim));
  if (!isText(issuer)) return mistake("iss");
  if (!isText(tokenId)) return mistake("jti");
  const date = DATES.find((name) => !isNumericDate(claimAt(claims, name)));
  if (date !== undefined) return mistake(date);

  const set = scopeSetOf(scopes, rules.scopeRules);
  const { scopesClaim } = rules;
  if (typeof scopesClaim === "string" && claims[scopesClaim] === scopes) claims[scopesClaim] = set.scopes;
  const { has, resourceIds } = set;
  // Member by member: a spread among others is slow to make, and every token makes one.
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

const mistake = (claim: string): ReadPrincipal => ({ kind: "mistake", claim });

const nameOf = (path: ClaimPath): string => (typeof path === "string" ? path : path.join("."));

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A principal that is not read from a token: it has these scopes, and no name. */
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

/** To the last claim: handlers of concurrent requests may share it. */
function freezePrincipal(principal: Principal): Principal {
  deepFreeze(principal.claims, principal.scopes);
  return Object.freeze(principal);
}

/** A claim by name or path. Own members only: a polluted prototype grants nothing. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: ClaimPath): unknown {
  if (typeof path === "string") return Object.hasOwn(claims, path) ? claims[path] : undefined;
  let value: unknown = claims;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** A list of strings, or one space-delimited string (RFC 9068 section 2.2.3, RFC 8693 section 4.2). */
function readScopes(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return value.split(" ").filter((scope) => scope !== "");
  return isTextList(value) ? value : undefined;
}

/** RFC 7519 section 4.1.3: one string or a list of them. */
function readAudience(value: unknown): readonly string[] | undefined {
  if (value === undefined) return NO_AUDIENCE;
  if (typeof value === "string") return Object.freeze([value]);
  return isTextList(value) ? Object.freeze(value) : undefined;
}

const isText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";

const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** `1e400` is a number that never expires to a comparison; RFC 7519 section 2 knows no infinity. */
const isNumericDate = (value: unknown): boolean => value === undefined || Number.isFinite(value);

/** Of a JSON value, which has no circles; not by recursion, since a client may nest deeper than a stack. */
function deepFreeze(root: object, frozen: readonly string[]): void {
  const pending = [root];
  for (let next = pending.pop(); next; next = pending.pop()) {
    Object.freeze(next);
    const values = (Array.isArray(next) ? next : Object.values(next)) as readonly unknown[];
    for (const value of values)
      if (typeof value === "object" && value && value !== frozen) pending.push(value);
  }
}
