import { type AccessRequest, readPath, requireText } from "../request.ts";
import { type Decision, refuse, type Refused } from "./decision.ts";
import { type RouteFinder } from "./route-table.ts";
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

/** What the table asks of a request; a refusal where it has no rule and must have one, or cannot tell which. */
export function findRoute(request: AccessRequest, finder: RouteFinder, needsRule: boolean): Route | NoRoute {
  requireText(request.target, "server.check takes { method, target, authorization }", "target");
  const path = readPath(request.target);
  const answer = path ? finder.find(request, path) : "ambiguous";
  if (answer === "ambiguous") return { kind: "refused", refused: refuse("request_ambiguous") };
  if (answer !== "unmapped") return toRoute(answer);
  return needsRule ? { kind: "refused", refused: refuse("route_unmapped") } : UNMAPPED;
}

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
