/** Adds the scopes of a role store to a principal. */
import { BoundedMap } from "../runtime/bounded-map.ts";
import { readClock } from "../runtime/clock.ts";
import { type Pending } from "../runtime/pending.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type ScopeRules } from "../scopes/scope.ts";
import { type Identified, unavailable } from "./identified.ts";
import { type Principal, withScopes } from "./principal.ts";

/** Whose scopes are looked up. The result is used for all tokens of the user, so it has no claims. */
export type GrantedUser = Pick<Principal, "userId" | "issuer">;

/** Returns the scopes that a store grants to a user, in addition to those of a token. */
export type GrantsFor = (user: GrantedUser) => Promise<readonly string[]>;

export interface GrantsRules {
  readonly grantsFor: GrantsFor | undefined;
  readonly grantsMaxAgeSeconds: number;
  readonly now: () => number;
  readonly scopeRules: ScopeRules;
}

/** How many users are remembered. Beyond that, grants that were not used recently are looked up again. */
const MAX_USERS = 10_000;

interface Known {
  readonly scopes: readonly string[];
  readonly since: number;
}

/** Creates the function that adds grants. It is synchronous if the grants of the user are remembered. */
export function createGrants({ grantsFor, grantsMaxAgeSeconds, now, scopeRules }: GrantsRules) {
  if (!grantsFor) return undefined;
  const known = new BoundedMap<string, Known>(MAX_USERS);
  const pending = new Map<string, Promise<Known>>();
  const keys = new WeakMap<Principal, string>();
  const granted = new WeakMap<Principal, { readonly of: Known; readonly principal: Principal }>();

  const lookUp = async (key: string, { userId, issuer }: Principal): Promise<Known> => {
    const since = readClock(now).getTime();
    const user = Object.freeze({
      ...(userId !== undefined && { userId }),
      ...(issuer !== undefined && { issuer }),
    });
    const scopes: unknown = await withinLimit(grantsFor(user), "`grantsFor`");
    if (!Array.isArray(scopes) || [...(scopes as unknown[])].some((scope) => typeof scope !== "string"))
      throw new TypeError("`grantsFor` must return an array of strings.");
    const found = { scopes: Object.freeze([...(scopes as string[])]), since };
    known.set(key, found);
    return found;
  };
  const lookUpOnce = (key: string, principal: Principal): Promise<Known> => {
    const started = pending.get(key) ?? lookUp(key, principal).finally(() => pending.delete(key));
    pending.set(key, started);
    return started;
  };

  const grant = (principal: Principal, found: Known): Identified => {
    let last = granted.get(principal);
    if (last?.of !== found) {
      last = { of: found, principal: withScopes(principal, found.scopes, scopeRules) };
      granted.set(principal, last);
    }
    return { kind: "identified", principal: last.principal };
  };

  return (identified: Identified): Pending<Identified> => {
    if (identified.kind === "refused") return identified;
    const { principal } = identified;
    // The roles of the owner would add scopes to those of the key.
    if (principal.tokenKind === "api_key") return identified;
    const key = keys.get(principal) ?? JSON.stringify([principal.issuer, principal.userId]);
    keys.set(principal, key);
    const found = known.get(key);
    const age = found && readClock(now).getTime() - found.since;
    if (found && age !== undefined && age >= 0 && age < grantsMaxAgeSeconds * 1000)
      return grant(principal, found);
    return lookUpOnce(key, principal).then(
      (fresh) => grant(principal, fresh),
      // Not decided with fewer scopes: the 403 would be wrong, and clients would request new tokens.
      (cause: unknown) => unavailable(cause),
    );
  };
}
