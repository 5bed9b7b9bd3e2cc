import { type Decision, type Refused } from "./decision.ts";
import { type RuleMatch } from "./rule.ts";

/** The rules that decide a request, and what they ask together before any scope is weighed. */
export interface Route {
  readonly kind: "route";
  readonly matches: readonly RuleMatch[];
  readonly facts: Pick<Decision, "rule">;
  readonly asks: "nothing" | "a good token or none" | "a good token";
}

/** A request that the table refuses before anyone looks at its credential. */
export interface NoRoute {
  readonly kind: "refused";
  readonly refused: Refused;
}

/** A request without a rule, where the table need not have one. */
export const UNMAPPED: Route = { kind: "route", matches: [], facts: {}, asks: "a good token" };

/** Of several rules the one that asks for more decides what is asked; the first is the one that decisions name. */
export function toRoute(matches: readonly [RuleMatch, ...RuleMatch[]]): Route {
  let asks: Route["asks"] = "nothing";
  for (const { compiled } of matches) {
    const { kind } = compiled.requirement;
    if (kind === "public") continue;
    if (kind !== "optional") asks = "a good token";
    else if (asks === "nothing") asks = "a good token or none";
  }
  return { kind: "route", matches, facts: { rule: matches[0].compiled.rule }, asks };
}
