/** Adds the scopes of a role store to a principal. */
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type LookupResult, Remembered } from "../../core/runtime/remembered.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import { scopeSetOf } from "../../core/scopes/scope-sets.ts";
import type { GrantsContext } from "../../core/token/grants.ts";
import type { Identified } from "../../core/token/identification.ts";
import type { Principal } from "../../core/token/principal.ts";
import { unavailable } from "../../core/token/rejection.ts";

/** The user whose scopes are looked up, without claims: the result is used for all tokens of the user. */
export type GrantedUser = Pick<Principal, "userId" | "issuer">;

/** Returns the scopes that a store grants to a user, in addition to those of a token. */
export type GrantsFor = (user: GrantedUser) => Promise<readonly string[]>;

export interface GrantsRules extends GrantsContext {
  readonly lookup: GrantsFor;
  readonly maxAgeSeconds: number;
}

/** How many users are remembered. Beyond that, grants that weren't used recently are looked up again. */
const MAX_USERS = 10_000;

/** Creates the function that adds grants. It's synchronous if the grants of the user are remembered. */
export function createGrants({ lookup, maxAgeSeconds, now, scopeRules }: GrantsRules) {
  const remembered = new Remembered<readonly string[]>({ maxEntries: MAX_USERS });
  const keys = new WeakMap<Principal, string>();
  const lastGranted = new WeakMap<Principal, { scopes: readonly string[]; principal: Principal }>();

  const findScopes = async (user: GrantedUser, since: number): Promise<LookupResult<readonly string[]>> => {
    const scopes: unknown = await withinLimit(lookup(user), "`grants`");
    if (!Array.isArray(scopes) || [...(scopes as unknown[])].some((scope) => typeof scope !== "string"))
      throw new TypeError("`grants` must return an array of strings.");
    return { value: Object.freeze([...(scopes as string[])]), until: since + maxAgeSeconds * 1000 };
  };

  /** Returns the same principal for the same grants, so that values derived from it can be remembered. */
  const addScopes = (principal: Principal, scopes: readonly string[]): Identified => {
    let granted = lastGranted.get(principal);
    if (granted?.scopes !== scopes) {
      granted = { scopes, principal: withScopes(principal, scopes, scopeRules) };
      lastGranted.set(principal, granted);
    }
    return { kind: "identified", principal: granted.principal };
  };

  return (identified: Identified): Pending<Identified> => {
    if (identified.kind !== "identified") return identified;
    const { principal } = identified;
    // An API key must not get the roles of its owner in addition to its own scopes.
    if (principal.tokenKind === "api_key") return identified;
    const { userId, issuer } = principal;
    const key = keys.get(principal) ?? JSON.stringify([issuer, userId]);
    keys.set(principal, key);
    const time = readClock(now).getTime();
    const scopes = remembered.get(key, time);
    if (scopes) return addScopes(principal, scopes);
    const user = Object.freeze(compact({ userId, issuer }));
    return remembered
      .lookUp(key, time, () => findScopes(user, time))
      .then(
        (granted) => addScopes(principal, granted),
        // Deciding with fewer scopes could send a wrong 403, and clients would request new tokens.
        (cause: unknown) => unavailable(cause),
      );
  };
}

/** Returns the same principal with further scopes. */
function withScopes(
  principal: Principal,
  scopes: readonly string[],
  rules: GrantsContext["scopeRules"],
): Principal {
  const set = scopeSetOf([...new Set([...principal.scopes, ...scopes])], rules);
  return Object.freeze({ ...principal, has: set.has, resourceIds: set.resourceIds, scopes: set.scopes });
}
