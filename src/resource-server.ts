import { auditRoutes } from "./audit/audit.ts";
import { type AuditOptions } from "./audit/catch-all.ts";
import { type ListedRoute } from "./audit/coverage.ts";
import { type AuditReport } from "./audit/report.ts";
import { KeysUnavailableError, TokenRejectedError } from "./errors.ts";
import { type KeySourceStatus } from "./keys/key-event.ts";
import { type ResourceServerOptions } from "./options/options.ts";
import { resolveOptions } from "./options/resolve.ts";
import { Observer } from "./observer.ts";
import { attachPipeline, Pipeline } from "./pipeline.ts";
import { type Decision, type Refused } from "./policy/decision.ts";
import { type Explanation, explainDecision, type ExplainQuery, requireQuery } from "./policy/explain.ts";
import { decideRouteScopes } from "./policy/route-scopes.ts";
import { type RouteTable } from "./policy/rule.ts";
import { type AccessRequest } from "./request.ts";
import { createRefuser, type Refusal } from "./response/refusal.ts";
import { createIdentifier } from "./token/authenticate.ts";
import { createIssuers, rememberAudience } from "./token/issuers.ts";
import { createPrincipal, type Principal, principalBytes } from "./token/principal.ts";
import { TokenCache } from "./token/token-cache.ts";

/** Decides for every request who calls and whether they may: a resource server (RFC 6749 section 1.1). */
export interface ResourceServer {
  /**
   * Decides one request. It never throws for anything that a client sent: a refusal is a value.
   * @throws TypeError for a request without a target
   */
  check(request: AccessRequest): Promise<Decision>;
  /**
   * Verifies one token. It does not look at the table.
   * @throws TokenRejectedError when the token is not accepted
   * @throws KeysUnavailableError when the token cannot be checked
   */
  authenticate(token: string): Promise<Principal>;
  /**
   * Decides by the table alone, for a caller who is already known. A path that is not spelled as the table
   * spells it is refused. It verifies no token and calls no hook.
   */
  authorize(principal: Principal, method: string, path: string): Decision;
  /**
   * Shows how a request with these scopes, or without a token, would be decided, and why.
   * @throws TypeError for a query without `path`, and for scopes that are not an array
   */
  explain(query: ExplainQuery): Explanation;
  /**
   * Compares the table with the routes of an application, as `routesOf` of an adapter lists them. It does not
   * see what is answered without a route, such as static files and upgrades. Whether `protect` runs in front
   * of a route is a part of the list. A pattern that cannot be read is a finding.
   * @throws TypeError for anything but an array of `{ method, pattern }`
   */
  audit(routes: Iterable<ListedRoute>, options?: AuditOptions): AuditReport;
  /**
   * The response for a refusal: status, headers and the body to send as JSON. Do not change it: it is shared.
   * @throws TypeError for anything else, such as a promise that was not awaited, or a decision that allows
   */
  refuse(refused: Refused): Refusal;
  /**
   * Decides whether an allowed caller also holds all of these scopes, and calls `onDecision`; `requireScopes`
   * of the adapters uses it. `<name>` is a property of `request.params`. A refusal is returned unchanged.
   * @throws ConfigurationError for a scope that no token can be granted
   * @throws Error on a public route, where no token is read, and for a parameter that the request lacks
   */
  checkScopes(decision: Decision, scopes: readonly string[], request: AccessRequest): Decision;
  /** The effective table, each rule with its source. */
  readonly routes: RouteTable;
  /**
   * Loads and imports all keys now, so that a service fails at boot. Fresh remote key sets are not refetched.
   * @throws KeysUnavailableError that names every source that failed, and why
   */
  ready(): Promise<void>;
  /**
   * The state of each key source at this moment, one entry for each, with its issuer. Times are `Date`s.
   * Reads no source.
   */
  readonly keys: readonly KeySourceStatus[];
  /**
   * Loads all keys again now, for example after a key was withdrawn: remote key sets are fetched even if they
   * are fresh. The last good keys of a source that fails stay in use for `staleMs`.
   * @throws KeysUnavailableError that names every source that failed, and why
   */
  refreshKeys(): Promise<void>;
  /** Stops background work: remote key sets are refreshed no more. Without it, the process can still exit. */
  close(): Promise<void>;
}

/**
 * Creates a resource server from its options. The adapters protect an application with it.
 *
 * It issues no tokens. Keys in strings are imported here, HMAC secrets by `ready()` or the first request.
 *
 * @throws ConfigurationError that lists every mistake in the options
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
  const cache = resolved.tokenCache && new TokenCache(resolved.tokenCache, resolved.now, principalBytes);
  const identify = createIdentifier(verifiers, { maxTokenBytes, cache, isRevoked: resolved.isRevoked });
  const pipeline = new Pipeline(resolved, identify, new Observer(resolved));

  const server: ResourceServer = {
    routes: Object.freeze(rules.map(({ rule }) => rule)),
    check: async (request) => (await pipeline.decide(request, false)).decision(),
    checkScopes(decision, scopes, request) {
      pipeline.observer.start(request);
      const decided = decideRouteScopes(decision, scopes, request.params, authorization ? scopeRules : null);
      return pipeline.observer.observe(decided, request);
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
    audit: (routes, accepted) =>
      auditRoutes({ rules, tree }, routes, pipeline.needsRule ? "refused" : "open", accepted),
    refuse: createRefuser(resolved.challenge),
    ready: verifiers.ready,
    get keys() {
      return verifiers.status();
    },
    refreshKeys: verifiers.refresh,
    close() {
      verifiers.close();
      return Promise.resolve();
    },
  };
  attachPipeline(server, pipeline);
  rememberAudience(server, issuers.configurations);
  return Object.freeze(server);
}
