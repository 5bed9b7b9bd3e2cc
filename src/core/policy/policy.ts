/** Decides without keys and tokens: finds the rules for a request, and if a known caller satisfies them. */
import { type AccessRequest, type GuardedRequest, ownProperty, requireString } from "../request.ts";
import type { ScopeRules } from "../scopes/scope.ts";
import { compact } from "../runtime/compact.ts";
import { createPrincipal, type Principal } from "../token/principal.ts";
import type { CompiledTable } from "./compile-rules.ts";
import type { Moment } from "./conditions/condition.ts";
import { decideByConditions, findUnmet, type KnownCaller } from "./conditions/evaluate.ts";
import { allow, decideByRules, type Decision, refuse, type Refused, report, rulesOf } from "./decision.ts";
import { splitScope } from "../scopes/scope.ts";
import { scopesOf } from "./requirement.ts";
import { readsPath } from "./handler-values.ts";
import { isOperation, type Operation, splitOperation } from "./operation-key.ts";
import type { RuleMatch } from "./rule.ts";
import { areSatisfied } from "./satisfaction.ts";
import { type Governing, Table } from "./table.ts";

/** All options that a decision for a known caller depends on. */
export interface PolicyRules extends CompiledTable {
  readonly scopeRules: ScopeRules;
  readonly authorization: boolean;
  readonly unmappedRoutes: "deny" | "not_found" | "authenticated";
  /** Whether every token must be bound to a key of the client. */
  readonly requiresBinding: boolean;
  /** Returns the time of a call by the server's clock, and the tolerance for the caller's issuer. */
  readonly momentOf: (principal: Principal) => Moment;
}

/** What happens to a request without a rule: it's refused, or passes with a valid token, reported or not. */
export type UnmappedRoutes = "refused" | "reported" | "open";

/** The rules that a request must satisfy, or none where the table has no rule. */
type RequestRules = Pick<Governing, "kind" | "restrictions"> & { readonly matches: readonly RuleMatch[] };

export class Policy {
  readonly rules: PolicyRules;
  readonly table: Table;
  readonly unmapped: UnmappedRoutes;
  #used: ReadonlySet<string> | undefined;

  constructor(rules: PolicyRules) {
    this.rules = rules;
    this.table = new Table(rules);
    this.unmapped = resolveUnmapped(rules);
  }

  /** Finds the rules for a request. With `isRouteChecked`, rules for matched routes are checked later. */
  find(request: AccessRequest, isRouteChecked: boolean): Governing {
    const { method, target } = request;
    requireString(target, "server.check takes { method, target, authorization }", "target");
    if (isOperation(method, target))
      return this.table.forOperation({
        ...splitOperation(target),
        parameters: ownProperty(request, "params") ?? {},
      });
    const pattern = ownProperty(request, "matchedPattern");
    const pathRules = this.table.forTarget(method, target, isRouteChecked || pattern !== undefined);
    const isHandler =
      ownProperty<GuardedRequest, "isAtHandler">(request, "isAtHandler") === true && !isRouteChecked;
    if (pathRules.kind === "rules" && (isHandler || ownProperty(request, "upgrade"))) {
      const kinds = isHandler ? OPEN : ["public"];
      if (
        pathRules.matches.some((match) => kinds.includes(match.compiled.requirement.kind) && isSubtree(match))
      )
        return {
          ...pathRules,
          kind: "unmapped",
          matches: [],
          ...compact({ cause: isHandler ? UNKNOWN_ROUTE : undefined }),
        };
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
    const received = { readHandlerValues: () => params };
    return this.refuseByTable(this.table.forRoute(governing, request.method, [pattern], received));
  }

  /** Returns the refusal of a request that the table refuses whatever its token is. */
  refuseByTable(governing: Governing): Refused | undefined {
    if (governing.kind === "ambiguous")
      return refuse("request_ambiguous", undefined, { cause: governing.cause });
    if (governing.kind !== "unmapped") return undefined;
    const { cause, isOperation } = governing;
    if (!this.needsRule && cause === undefined) return undefined;
    return refuse("route_unmapped", undefined, compact({ cause, isOperation }));
  }

  /** Returns whether a path without a rule is refused. */
  get needsRule(): boolean {
    return this.unmapped === "refused";
  }

  /** Returns whether a request without a rule passes only because the server is report-only. */
  isReported({ kind }: Pick<Governing, "kind">): boolean {
    return kind === "unmapped" && this.unmapped === "reported";
  }

  /** Decides for a caller with a verified token, if the table doesn't refuse the request. */
  decideKnown(governing: RequestRules, principal: Principal): Decision {
    if (this.isReported(governing)) return report(refuse("route_unmapped"), principal);
    const { matches, restrictions } = governing;
    const { authorization, scopeRules } = this.rules;
    if (!authorization) return allow(rulesOf(matches), principal);
    const byScopes = decideByRules(matches, principal, scopeRules);
    if (restrictions().active.length === 0) return byScopes;
    return decideByConditions(byScopes, restrictions().active, this.#callerOf(principal));
  }

  /** Returns whether a caller satisfies every rule, without describing how. */
  isSatisfied({ matches, restrictions }: RequestRules, principal: Principal): boolean {
    if (!this.rules.authorization) return true;
    if (!areSatisfied(matches, principal, this.rules.scopeRules)) return false;
    if (restrictions().active.length === 0) return true;
    return findUnmet(restrictions().active, this.#callerOf(principal)) === undefined;
  }

  #callerOf(principal: Principal): KnownCaller {
    return { principal, scopeRules: this.rules.scopeRules, moment: this.rules.momentOf(principal) };
  }

  /** Decides for a caller, or without a token, without checking a route. Calls no hook. */
  decideFor(principal: Principal | undefined, request: AccessRequest): Decision {
    const governing = this.find(request, false);
    const refused = principal && this.refuseByParameters(governing, request);
    return refused ?? this.#decideGoverned(principal, governing);
  }

  /** Decides one operation for a caller, or without a token. Calls no hook. */
  decideOperation(principal: Principal | undefined, operation: Operation): Decision {
    return this.#decideGoverned(principal, this.table.forOperation(operation));
  }

  /** Returns the resource and the action of each scope that depends on an argument of an operation. */
  templatesOf(
    called: Pick<Operation, "method" | "name">,
  ): readonly { readonly resource: string; readonly action: string }[] {
    const { matches } = this.table.forOperation({ ...called, parameters: {}, isPartial: true });
    return matches
      .flatMap(({ compiled }) => scopesOf(compiled.requirement))
      .flatMap(({ template }) => template ?? []);
  }

  #decideGoverned(principal: Principal | undefined, governing: Governing): Decision {
    const refused = this.refuseByTable(governing);
    if (refused) return refused;
    if (!principal) return decideAnonymous(governing);
    // A verified token has a binding, but a hypothetical caller may have none.
    if (this.rules.requiresBinding && principal.binding === undefined)
      return refuse("proof_missing", rulesOf(governing.matches), { principal });
    return this.decideKnown(governing, principal);
  }

  /** Returns whether a granted scope, or one that it implies, can satisfy some rule of the table. */
  usesScope(scope: string): boolean {
    this.#used ??= new Set(this.rules.rules.flatMap(({ requirement }) => scopesOf(requirement).map(kindOf)));
    const implied = this.rules.scopeRules.implied.get(scope) ?? [];
    return [scope, ...implied].some((text) => this.#used?.has(kindOf({ text })));
  }

  /** Creates a hypothetical caller. */
  callerWith(scopes: readonly string[], claims: Readonly<Record<string, unknown>> = {}): Principal {
    // A copy, because claims are frozen.
    return createPrincipal({ scopes, audience: [], claims: structuredClone(claims) }, this.rules.scopeRules);
  }
}

/** Returns the resource and the action of a scope, without its id; any other scope as a whole. */
function kindOf({ text }: { readonly text: string }): string {
  const [resource = "", , action] = splitScope(text);
  return action === undefined ? text : `${resource}:${action}`;
}

/**
 * The open wildcard rule of a single-page application isn't meant for WebSockets, nor for handlers of a host
 * that rewrites URLs: any route could run below it.
 */
const isSubtree = ({ compiled: { pattern } }: RuleMatch): boolean =>
  pattern.alternatives.some(({ segments }) => segments.some(({ kind }) => kind === "wildcard"));

const UNKNOWN_ROUTE =
  "An open rule with a wildcard doesn't open a handler of an unknown route: write withScopes(server, { route }, handler).";

/** The kinds of rules that need no token. */
const OPEN = ["public", "optional"];

function resolveUnmapped(rules: PolicyRules): UnmappedRoutes {
  if (!rules.authorization || rules.unmappedRoutes === "authenticated") return "open";
  return rules.enforcement === "report" ? "reported" : "refused";
}

/** Without a token, a request is allowed if every rule is public or optional. */
export function decideAnonymous({ kind, matches, restrictions }: RequestRules): Decision {
  const isOpen =
    kind === "rules" &&
    matches.every(({ compiled: { requirement } }) => OPEN.includes(requirement.kind)) &&
    restrictions().active.length === 0;
  const rules = rulesOf(matches);
  return isOpen ? allow(rules) : refuse("credential_missing", rules);
}
