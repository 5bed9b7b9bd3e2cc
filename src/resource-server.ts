import { KeysUnavailableError, TokenRejectedError } from "./errors.ts";
import { createIdentifier } from "./token/authenticate.ts";
import { notify } from "./runtime/notify.ts";
import { type ResourceServerOptions } from "./options/options.ts";
import { resolveOptions } from "./options/resolve.ts";
import { auditRoutes } from "./audit/audit.ts";
import { type AuditReport } from "./audit/report.ts";
import { allow, combine, decideByScopes, type Decision, refuse, type Refused } from "./policy/decision.ts";
import { type Explanation, explainDecision, type ExplainQuery, requireQuery } from "./policy/explain.ts";
import { type ListedRoute } from "./audit/coverage.ts";
import { findRoute, type Route } from "./policy/route.ts";
import { decideRouteScopes } from "./policy/route-scopes.ts";
import { type Rule, type RuleMatch } from "./policy/rule.ts";
import { createRouteTable, RouteFinder, type RouteTable } from "./policy/route-table.ts";
import { createPrincipal, type Principal } from "./token/principal.ts";
import { type AccessRequest, type PathReading, withoutCredentials } from "./request.ts";
import { createRefuser, type Refusal } from "./response/refusal.ts";
import { isMalformed, readCredential } from "./token/credential.ts";
import { TokenCache } from "./token/token-cache.ts";
import { createIssuers, rememberAudience } from "./token/issuers.ts";

/** Decides for every request who is calling and whether they may: what RFC 6749 section 1.1 calls a resource server. */
export interface ResourceServer {
  /** Decides one request. Never throws for anything that a client sent: a refusal is a value. TypeError without a target. */
  check(request: AccessRequest): Promise<Decision>;
  /**
   * Verifies one token, whatever route it is used for; the table is not asked.
   * @throws TokenRejectedError when it is not accepted
   * @throws KeysUnavailableError when nobody can tell
   */
  authenticate(token: string): Promise<Principal>;
  /**
   * Decides by the table alone for a caller who is known already; the path is read exactly as it is spelled. Tells no
   * hook, checks no token.
   */
  authorize(principal: Principal, method: string, path: string): Decision;
  /**
   * Shows how a request would be decided for these scopes, or without a token, and why.
   * @throws TypeError for a query without `path`, and for scopes that are no list
   */
  explain(query: ExplainQuery): Explanation;
  /**
   * Compares the table with the routes of an application, which `routesOf` of the adapters lists. It does not see what
   * answers without a route (static files, upgrades); whether `protect` stands in front of the routes it takes from the list.
   * @throws TypeError for anything but a list of `{ method, pattern }`; a pattern that cannot be read is a finding
   */
  audit(routes: Iterable<ListedRoute>): AuditReport;
  /**
   * The response for a refusal: status, headers, and the body to be sent as JSON. Not to be changed: many share it.
   * @throws TypeError for anything else: a promise that was not awaited, a decision that allows
   */
  refuse(refused: Refused): Refusal;
  /**
   * Decides whether the caller of an allowed request holds all of these scopes as well, and tells `onDecision`: what
   * `requireScopes` of the adapters asks. A refused decision stays as it is. `<name>` stands for a member of `request.params`.
   * @throws ConfigurationError for a scope that no token can be granted
   * @throws Error on a public route, where no token was read, and for a parameter that the request does not have
   */
  checkScopes(decision: Decision, scopes: readonly string[], request: AccessRequest): Decision;
  /**
   * The narrowest rule that covers a whole route, if one does: what an adapter asks for as well once the framework has
   * picked a route. `method` is the request's, `pattern` is in path-to-regexp's syntax; with `reading.ignoreCase` texts
   * may differ in case.
   */
  ruleFor(method: string, pattern: string, reading?: PathReading): Rule | undefined;
  /** The effective table, each rule with its source. */
  readonly routes: RouteTable;
  /**
   * Loads and imports all keys now, so that a service fails at boot rather than on its first request. Remote sets that
   * are fresh are not fetched again.
   * @throws KeysUnavailableError naming every source that failed and why
   */
  ready(): Promise<void>;
  /** Ends background work: remote sets are read no more. Nothing of it keeps a process alive that is not closed. */
  close(): Promise<void>;
}

/**
 * Makes a resource server from its options; the adapters protect an application with it.
 *
 * It issues no tokens and keeps no state of a request. Keys given as text are read here; HMAC secrets are imported by
 * `ready()` or the first request.
 *
 * @throws ConfigurationError listing every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "POST /custom/endpoint": ["custom:write"], "GET /health": "public" },
 * });
 * const decision = await server.check({ method: "GET", target: "/health" });
 * console.log(decision.allowed);
 * ```
 */
export function createResourceServer(options: ResourceServerOptions): ResourceServer {
  const { issuers, rules, tokenSources, maxTokenBytes, tokenCache, now, scopeRules, challenge, ...policy } =
    resolveOptions(options);
  const finder = new RouteFinder(rules);
  const weighed = policy.authorization ? scopeRules : null;
  const needsRule = policy.authorization && policy.unmappedRoutes === "deny";
  const verifiers = createIssuers(issuers.configurations, issuers.selectByIssuer, scopeRules);
  const cache = tokenCache && new TokenCache<Principal>(tokenCache, now);
  const identify = createIdentifier(verifiers, { maxTokenBytes, cache, isRevoked: policy.isRevoked });

  /** The pipeline: request, rule, credential, verified token, principal, decision. */
  async function decide(request: AccessRequest): Promise<Decision> {
    const route = findRoute(request, finder, needsRule);
    if (route.kind === "refused") return route.refused;
    const { facts, asks } = route;
    if (asks === "nothing") return allow(facts);

    const credential = readCredential(request, tokenSources, maxTokenBytes);
    if (credential.kind === "malformed") return refuse("credential_malformed", facts);
    if (credential.kind === "too_large") return refuse("token_rejected", { rejection: "too_large" }, facts);
    if (credential.kind === "missing") {
      return asks === "a good token or none" ? allow(facts) : refuse("credential_missing", facts);
    }

    const answer = identify(credential.token);
    // Who is remembered is not waited for: each turn of the event loop's queue has its price. `instanceof` would take the
    // promise of an async function for an answer where a program has put a `Promise` of its own in place of the global one.
    const identified = "then" in answer ? await answer : answer;
    if (identified.kind === "refused") {
      if (isMalformed(credential)) return refuse("credential_malformed", facts);
      return refuse(identified.refusal.reason, identified.refusal, facts);
    }
    return decideFor(identified.principal, route);
  }

  function decideFor(principal: Principal, { matches, facts }: Route): Decision {
    const [first, ...others] = policy.authorization ? matches : [];
    if (!first) return allow({ principal, ...facts });
    const decisionOf = (match: RuleMatch) => decideByScopes(match, principal, scopeRules);
    return combine([decisionOf(first), ...others.map(decisionOf)]);
  }

  function decideAnonymous(request: AccessRequest): Decision {
    const route = findRoute(request, finder, needsRule);
    if (route.kind === "refused") return route.refused;
    return route.asks === "a good token" ? refuse("credential_missing", route.facts) : allow(route.facts);
  }

  function authorize(principal: Principal, request: AccessRequest): Decision {
    const route = findRoute(request, finder, needsRule);
    return route.kind === "refused" ? route.refused : decideFor(principal, route);
  }

  function observe(decision: Decision, request: AccessRequest): Decision {
    if (policy.onDecision) notify(policy.onDecision, decision, withoutCredentials(request));
    return decision;
  }

  const server = Object.freeze({
    routes: createRouteTable(rules),
    ruleFor: (method: string, pattern: string, reading: PathReading = {}) =>
      finder.findByRoute(method, pattern, reading),
    check: policy.onDecision
      ? async (request: AccessRequest) => observe(await decide(request), request)
      : decide,
    checkScopes: (decision: Decision, scopes: readonly string[], request: AccessRequest) =>
      observe(decideRouteScopes(decision, scopes, request.params, weighed), request),
    async authenticate(encoded: string) {
      const identified = await identify(encoded);
      if (identified.kind === "identified") return identified.principal;
      const { rejection, cause } = identified.refusal;
      throw rejection ? new TokenRejectedError(rejection) : new KeysUnavailableError(cause);
    },
    authorize: (principal: Principal, method: string, path: string) =>
      authorize(principal, { method, target: path }),
    explain(query: ExplainQuery) {
      const { path, scopes, ...rest } = query;
      requireQuery(query);
      const request = { ...rest, target: path };
      const caller = scopes && createPrincipal({ scopes, audience: [], claims: {} }, scopeRules);
      const decision = caller ? authorize(caller, request) : decideAnonymous(request);
      return explainDecision(query, decision);
    },
    audit: (routes: Iterable<ListedRoute>) => auditRoutes(rules, routes, needsRule ? "refused" : "open"),
    refuse: createRefuser(challenge),
    ready: verifiers.ready,
    close: () => {
      verifiers.close();
      return Promise.resolve();
    },
  });
  rememberAudience(server, issuers.configurations);
  return server;
}
