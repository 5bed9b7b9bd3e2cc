import { auditRoutes } from "./audit/audit.ts";
import { type ListedRoute } from "./audit/coverage.ts";
import { type AuditReport } from "./audit/report.ts";
import { KeysUnavailableError, TokenRejectedError } from "./errors.ts";
import { type ResourceServerOptions } from "./options/options.ts";
import { resolveOptions } from "./options/resolve.ts";
import { attachPipeline, Pipeline } from "./pipeline.ts";
import { type Decision, type Refused } from "./policy/decision.ts";
import { type Explanation, explainDecision, type ExplainQuery, requireQuery } from "./policy/explain.ts";
import { decideRouteScopes } from "./policy/route-scopes.ts";
import { type RouteTable } from "./policy/rule.ts";
import { type AccessRequest } from "./request.ts";
import { createRefuser, type Refusal } from "./response/refusal.ts";
import { createIdentifier } from "./token/authenticate.ts";
import { createIssuers, rememberAudience } from "./token/issuers.ts";
import { createPrincipal, type Principal } from "./token/principal.ts";
import { TokenCache } from "./token/token-cache.ts";

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
  const resolved = resolveOptions(options);
  const { issuers, rules, tree, scopeRules, maxTokenBytes, authorization } = resolved;
  const verifiers = createIssuers(issuers.configurations, issuers.selectByIssuer, scopeRules);
  const cache = resolved.tokenCache && new TokenCache<Principal>(resolved.tokenCache, resolved.now);
  const identify = createIdentifier(verifiers, { maxTokenBytes, cache, isRevoked: resolved.isRevoked });
  const pipeline = new Pipeline(resolved, identify);

  const server: ResourceServer = {
    routes: Object.freeze(rules.map(({ rule }) => rule)),
    check: async (request) => (await pipeline.decide(request, false)).decision,
    checkScopes(decision, scopes, request) {
      const decided = decideRouteScopes(decision, scopes, request.params, authorization ? scopeRules : null);
      return pipeline.observe(decided, request);
    },
    async authenticate(token) {
      const identified = await identify(token);
      if (identified.kind === "identified") return identified.principal;
      const { rejection, cause } = identified.refusal;
      throw rejection ? new TokenRejectedError(rejection) : new KeysUnavailableError(cause);
    },
    authorize: (principal, method, path) => pipeline.decideFor(principal, { method, target: path }),
    explain(query) {
      requireQuery(query);
      const { path, scopes, ...rest } = query;
      const caller = scopes && createPrincipal({ scopes, audience: [], claims: {} }, scopeRules);
      return explainDecision(query, pipeline.decideFor(caller, { ...rest, target: path }));
    },
    audit: (routes) => auditRoutes({ rules, tree }, routes, pipeline.needsRule ? "refused" : "open"),
    refuse: createRefuser(resolved.challenge),
    ready: verifiers.ready,
    close() {
      verifiers.close();
      return Promise.resolve();
    },
  };
  attachPipeline(server, pipeline);
  rememberAudience(server, issuers.configurations);
  return Object.freeze(server);
}
