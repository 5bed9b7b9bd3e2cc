/** `actors`: who may act for the user of a token (RFC 8693 section 4.1). */
import { claimAt } from "../../token/claim-path.ts";
import { type Actor, readDelegation } from "../../token/actors.ts";
import type { Principal } from "../../token/principal.ts";
import { type ConditionKind, readProperties, readStrings, reportInvalid } from "./condition.ts";
import type { Actors } from "./written.ts";

export const actors: ConditionKind<Actors> = {
  parse(written, context) {
    const shared = { name: "actors", reason: "caller_not_allowed" } as const;
    // Also for an `act` of null: a token that names an actor in any way isn't the user's own.
    if (written === "none")
      return { ...shared, isMet: ({ principal }) => readDelegation(principal.claims).kind === "direct" };
    const properties = readProperties(written, ["anyOf", "direct"]);
    const anyOf = readStrings(properties?.get("anyOf"));
    const direct = properties?.get("direct");
    if (!anyOf || (properties?.has("direct") && typeof direct !== "boolean")) {
      reportInvalid(
        context,
        "isn't a condition on actors.",
        'Write "none", or the `sub` of each actor that may act for a user: { anyOf: ["agent-1"] }, with `direct: true` to allow the user itself, too.',
      );
      return;
    }
    const allowed = new Set(anyOf);
    return { ...shared, isMet: ({ principal }) => isActorAllowed(principal, allowed, direct === true) };
  },
  describe: (written) =>
    written === "none"
      ? "nobody acts for the user"
      : `the actor is ${written.anyOf.join(" or ")}${written.direct ? ", or nobody acts for the user" : ""}`,
};

/** Only the outermost actor decides. The actors before it are history (RFC 8693 section 4.1). */
function isActorAllowed(
  { claims }: Principal,
  allowed: ReadonlySet<string>,
  isDirectAllowed: boolean,
): boolean {
  const delegation = readDelegation(claims);
  if (delegation.kind === "direct") return isDirectAllowed;
  if (delegation.kind !== "delegated") return false;
  const [actor] = delegation.actors;
  // Own properties only: a polluted prototype must not name an actor.
  const { sub, issuer } = { __proto__: null, ...actor } as Actor;
  // The same `sub` from another issuer is another actor.
  return sub !== undefined && allowed.has(sub) && (issuer === undefined || issuer === claimAt(claims, "iss"));
}
