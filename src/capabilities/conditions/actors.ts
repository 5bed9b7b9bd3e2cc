/** `actors`: who may act for the user of a token (RFC 8693 section 4.1). */
import type { Actors } from "../../core/policy/conditions.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import { type Actor, readDelegation } from "../../core/token/actors.ts";
import type { Principal } from "../../core/token/principal.ts";
import { type ConditionKind, readProperties, readStrings, reportInvalid } from "./condition.ts";

export const actors: ConditionKind<Actors> = {
  parse(written, context) {
    const shared = { name: "actors", reason: "caller_not_allowed" } as const;
    // Also for an `act` of null: a token that names an actor in any way isn't the user's own.
    if (written === "none")
      return { ...shared, isMet: ({ principal }) => readDelegation(principal.claims).kind === "direct" };
    if (written === "any")
      return { ...shared, isMet: ({ principal }) => outermostActorOf(principal)?.sub !== undefined };
    const properties = readProperties(written, ["anyOf", "direct"]);
    const anyOf = readStrings(properties?.get("anyOf"));
    const direct = properties?.get("direct");
    if (!anyOf || (properties?.has("direct") && typeof direct !== "boolean")) {
      reportInvalid(
        context,
        "isn't a condition on actors.",
        'Write "none", "any", or the `sub` of each actor that may act for a user: { anyOf: ["agent-1"] }, with `direct: true` to allow the user itself, too.',
      );
      return;
    }
    const allowed = new Set(anyOf);
    return { ...shared, isMet: ({ principal }) => isActorAllowed(principal, allowed, direct === true) };
  },
  describe(written) {
    if (written === "none") return "nobody acts for the user";
    if (written === "any") return "somebody acts for the user";
    return `the actor is ${written.anyOf.join(" or ")}${written.direct ? ", or nobody acts for the user" : ""}`;
  },
};

/** Only the outermost actor decides. The actors before it are history (RFC 8693 section 4.1). */
function outermostActorOf({ claims }: Principal): Actor | undefined {
  const delegation = readDelegation(claims);
  if (delegation.kind !== "delegated") return undefined;
  const [actor] = delegation.actors;
  // Own properties only: a polluted prototype must not name an actor.
  return { __proto__: null, ...actor } as Actor;
}

function isActorAllowed(
  principal: Principal,
  allowed: ReadonlySet<string>,
  isDirectAllowed: boolean,
): boolean {
  const { claims } = principal;
  if (readDelegation(claims).kind === "direct") return isDirectAllowed;
  const actor = outermostActorOf(principal);
  if (!actor) return false;
  const { sub, issuer } = actor;
  // The same `sub` from another issuer is another actor.
  return sub !== undefined && allowed.has(sub) && (issuer === undefined || issuer === claimAt(claims, "iss"));
}
