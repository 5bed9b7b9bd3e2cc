/** Decides without keys and tokens: finds the rules for a request, and if a known caller satisfies them. */
import { type AccessRequest, type GuardedRequest, ownProperty, requireString } from "../request.ts";
import type { ScopeRules } from "../scopes/granted-scopes.ts";
import { compact } from "../runtime/compact.ts";
import { createPrincipal, type Principal } from "../token/principal.ts";
import type { CompiledTable } from "./compile-rules.ts";
import type { KnownCaller } from "./condition-language.ts";
import type { Moment } from "./conditions.ts";
import { allow, decideByRules, type Decision, refuse, type Refused, rulesOf } from "./decision.ts";
import { readsPath } from "./handler-values.ts";
import type { Governing } from "./governing.ts";
import type { BatchRules } from "./key-language.ts";
import { isOperation, MCP_MISSING } from "./operations.ts";
import type { CompiledRule, RuleMatch } from "./rule.ts";
import { areSatisfied } from "./satisfaction.ts";
import { ambiguous, Table } from "./table.ts";

/** All options that a decision for a known caller depends on. */
export interface PolicyRules extends CompiledTable {
  readonly scopeRules: ScopeRules;
  readonly authorization: boolean;
  readonly unmappedRoutes: "deny" | "not_found" | "authenticated";
  readonly batches: BatchRules | undefined;
  /** Whether every token must be bound to a key of the client. */
  readonly requiresBinding: boolean;
  /** Returns the time of a call by the server's clock, and the tolerance for the caller's issuer. */
  readonly momentOf: (principal: Principal) => Moment;
}

/** What happens to a request without a rule: it's refused, or passes with a valid token. */
export type UnmappedRoutes = "refused" | "open";

/** The rules that a request must satisfy, or none where the table has no rule. */
type RequestRules = Pick<Governing, "kind" | "restrictions"> & { readonly matches: readonly RuleMatch[] };

export class Policy {
  readonly rules: PolicyRules;
  readonly table: Table;
  readonly unmapped: UnmappedRoutes;

  constructor(rules: PolicyRules) {
    this.rules = rules;
    this.table = new Table(rules, rules.batches);
    this.unmapped = rules.authorization && rules.unmappedRoutes !== "authenticated" ? "refused" : "open";
  }

  /** Finds the rules for a request. With `isRouteChecked`, rules for matched routes are checked later. */
  find(request: AccessRequest, isRouteChecked: boolean): Governing {
    const { method, target } = request;
    requireString(target, "server.check takes { method, target, authorization }", "target");
    if (isOperation(method, target))
      return (
        this.rules.operations?.forTarget(target, ownProperty(request, "params") ?? {}) ??
        ambiguous(`The table has no rules for operations. ${MCP_MISSING}`)
      );
    const pattern = ownProperty(request, "matchedPattern");
    const pathRules = this.table.forTarget(method, target, isRouteChecked || pattern !== undefined);
    const isHandler =
      ownProperty<GuardedRequest, "isAtHandler">(request, "isAtHandler") === true && !isRouteChecked;
    if (pathRules.kind === "rules" && (isHandler || ownProperty(request, "upgrade"))) {
      const kinds = isHandler ? OPEN : ["public"];
      const cause = isHandler ? UNKNOWN_ROUTE : undefined;
      if (pathRules.matches.some(({ compiled }) => isSubtree(compiled, kinds)))
        return { ...pathRules, kind: "unmapped", matches: [], ...compact({ cause }) };
    }
    return pattern === undefined ? pathRules : this.table.forRoute(pathRules, method, [pattern]);
  }

  /**
   * Returns the refusal of a request whose handler receives other parameters than the rules have read. For
   * verified tokens only: other requests must not pay for the search for conditions.
   */
  refuseByParameters(governing: Governing, request: AccessRequest): Refused | undefined {
    const [pattern, params] = [ownProperty(request, "matchedPattern"), ownProperty(request, "params")];
    if (pattern === undefined || !params || !readsPath(governing)) return undefined;
    const received = { readValue: (name: string) => ownProperty(params, name) };
    return this.refuseByTable(this.table.forRoute(governing, request.method, [pattern], received));
  }

  /** Returns the refusal of a request that the table refuses whatever its token is. */
  refuseByTable(governing: Governing): Refused | undefined {
    if (governing.kind === "ambiguous")
      return refuse("request_ambiguous", undefined, { cause: governing.cause });
    if (governing.kind !== "unmapped") return undefined;
    const { cause, isOperation } = governing;
    if (this.unmapped === "open" && cause === undefined) return undefined;
    return refuse("route_unmapped", undefined, compact({ cause, isOperation }));
  }

  /** Decides for a caller with a verified token, if the table doesn't refuse the request. */
  decideKnown(governing: RequestRules, principal: Principal): Decision {
    const { matches, restrictions } = governing;
    const { authorization, scopeRules, conditioned } = this.rules;
    if (!authorization) return allow(rulesOf(matches), principal);
    const { active } = restrictions();
    if (active.length === 0 || !conditioned) return decideByRules(matches, principal, scopeRules);
    return conditioned.decide(matches, active, this.#callerOf(principal));
  }

  /** Returns whether a caller satisfies every rule, without describing how. */
  isSatisfied({ matches, restrictions }: RequestRules, principal: Principal): boolean {
    const { authorization, scopeRules, conditioned } = this.rules;
    if (!authorization) return true;
    if (!areSatisfied(matches, principal, scopeRules)) return false;
    const { active } = restrictions();
    if (active.length === 0 || !conditioned) return true;
    return conditioned.areMet(active, this.#callerOf(principal));
  }

  #callerOf(principal: Principal): KnownCaller {
    return { principal, scopeRules: this.rules.scopeRules, moment: this.rules.momentOf(principal) };
  }

  /** Decides for a caller, or without a token, without checking a route. Calls no hook. */
  decideFor(principal: Principal | undefined, request: AccessRequest): Decision {
    const governing = this.find(request, false);
    const refused = principal && this.refuseByParameters(governing, request);
    return refused ?? this.decideGoverned(principal, governing);
  }

  /** Decides by rules that were found for a caller, or without a token. Calls no hook. */
  decideGoverned(principal: Principal | undefined, governing: Governing): Decision {
    const refused = this.refuseByTable(governing);
    if (refused) return refused;
    if (!principal) return decideAnonymous(governing);
    // A verified token has a binding, but a hypothetical caller may have none.
    if (this.rules.requiresBinding && !Object.hasOwn(principal, "binding"))
      return refuse("proof_missing", rulesOf(governing.matches), { principal });
    return this.decideKnown(governing, principal);
  }

  /** Creates a hypothetical caller. */
  callerWith(
    scopes: readonly string[],
    claims: Readonly<Record<string, unknown>> = {},
    tenant?: string,
  ): Principal {
    // A copy, because claims are frozen.
    const written = { scopes, audience: [], claims: structuredClone(claims), ...compact({ tenant }) };
    return createPrincipal(written, this.rules.scopeRules);
  }
}

/**
 * The open wildcard rule of a single-page application isn't meant for WebSockets, nor for handlers of a host
 * that rewrites URLs: any route could run below it.
 */
const isSubtree = ({ requirement, pattern }: CompiledRule, kinds: readonly string[]): boolean =>
  kinds.includes(requirement.kind) &&
  pattern.alternatives.some(({ segments }) => segments.some(({ kind }) => kind === "wildcard"));

const UNKNOWN_ROUTE =
  "An open rule with a wildcard doesn't open a handler of an unknown route: write withScopes(server, { route }, handler).";

/** The kinds of rules that need no token. */
const OPEN = ["public", "optional"];

/** Returns whether every rule is of one of these kinds, and no condition applies. */
const areOnly = (kinds: readonly string[], { kind, matches, restrictions }: RequestRules): boolean =>
  kind === "rules" &&
  matches.every(({ compiled }) => kinds.includes(compiled.requirement.kind)) &&
  restrictions().active.length === 0;

/** Returns whether a request is allowed whatever its token is. */
export const isPublic = (rules: RequestRules): boolean => areOnly(["public"], rules);

/** Without a token, a request is allowed if every rule is public or optional. */
export const decideAnonymous = (rules: RequestRules): Decision =>
  areOnly(OPEN, rules) ? allow(rulesOf(rules.matches)) : refuse("credential_missing", rulesOf(rules.matches));
