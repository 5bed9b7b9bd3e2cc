import { KeysUnavailableError, TokenRejectedError } from "./errors.ts";
import { type Health, healthOf } from "./health.ts";
import type { KeySourceStatus } from "./keys/key-event.ts";
import type { ResourceServerOptions } from "./options/options.ts";
import { resolveOptions } from "./options/resolve.ts";
import { Observer } from "./observer.ts";
import { Pipeline } from "./pipeline.ts";
import { attachPipeline } from "./port.ts";
import type { Decision, Refused } from "./policy/decision.ts";
import { describeAllWeaker, findWeakerOverrides } from "./policy/overrides.ts";
import { decideRouteScopes } from "./policy/route-scopes.ts";
import type { Rule } from "./policy/rule.ts";
import type { AccessRequest } from "./request.ts";
import { createRefuser, type Refusal } from "./response/refusal.ts";
import type { Resource } from "./options/resource.ts";
import { readClock } from "./runtime/clock.ts";
import { compact } from "./runtime/compact.ts";
import { isPending } from "./runtime/pending.ts";
import { createFirstWarning, createWarning } from "./runtime/warn-once.ts";
import { createIdentifier } from "./token/authenticate.ts";
import { createIssuers } from "./token/issuers.ts";
import type { Principal } from "./token/principal.ts";
import type { RevocationContext, RevocationOptions, RevocationTarget } from "./token/revocation.ts";
import { TokenCache } from "./token/token-cache.ts";

/** Decides for every request who is calling and whether they may call this route (RFC 6749 section 1.1). */
export interface ResourceServer {
  /**
   * Decides one request. It never throws because of client input: a refusal is a value.
   * @throws TypeError for a request without a target
   */
  check(request: AccessRequest): Promise<Decision>;
  /**
   * Verifies one token. It doesn't use the table. @throws TokenRejectedError when the token isn't accepted
   * @throws KeysUnavailableError when the token can't be checked
   */
  authenticate(token: string): Promise<Principal>;
  /**
   * Decides by the table alone, for a known caller. A path that isn't spelled as in the table is refused. It
   * verifies no token and calls no hook.
   */
  authorize(principal: Principal, method: string, path: string): Decision;
  /**
   * Returns the response for a refusal: status, headers and body. The object is shared, so don't change it.
   * @throws TypeError for anything else, such as a promise that wasn't awaited, or a decision that allows
   */
  refuse(refused: Refused): Refusal;
  /**
   * Decides whether an allowed caller also holds all of these scopes, and calls `onDecision`; `requireScopes`
   * of the adapters uses it. `<name>` is a property of `request.params`. A refusal is returned unchanged.
   * @throws ConfigurationError for a scope that no token can be granted
   * @throws Error on a public route, where no token is read, and for a parameter that the request lacks
   */
  checkScopes(decision: Decision, scopes: readonly string[], request: AccessRequest): Decision;
  /** The identity of this server for OAuth clients (RFC 9728); `undefined` without the option `resource`. */
  readonly resource: Resource | undefined;
  /** The effective table: the rules of both options with their sources. */
  readonly routes: readonly Rule[];
  /**
   * Loads and imports all keys now, and writes a probe to the stores of `revocation` and DPoP proofs (with
   * `readOnly`, only reads), so that a service without them fails at startup. Fresh remote key sets aren't
   * fetched again.
   * @throws KeysUnavailableError that lists every failed source and its cause
   */
  ready(options?: { readonly readOnly?: boolean }): Promise<void>;
  /** The current state of each key source, with its issuer. Times are `Date`s. No source is read. */
  readonly keys: readonly KeySourceStatus[];
  /**
   * Returns whether this server can decide requests now, for readiness probes. It doesn't read or fetch keys.
   * Respond with 503 only for `unavailable`: with `degraded`, requests are still decided.
   */
  health(): Health;
  /**
   * Revokes a token, or all tokens of a session, a user, a client or an issuer, in every process that shares
   * the store of the option `revocation`. This process refuses them at once, including remembered tokens.
   * @throws TypeError for a target that names nothing or several things, and without the option `revocation`
   * @throws RangeError if the revocation would be forgotten before the tokens expire
   * @throws TokenRejectedError for a `token` that isn't accepted anyway
   * @throws Error if the store doesn't confirm it; calling `revoke` again is safe
   */
  revoke(target: RevocationTarget, options?: RevocationOptions): Promise<void>;
  /**
   * Withdraws the revocation of the same target. It doesn't withdraw another revocation that includes the
   * same tokens, such as one for another `issuer`. Returns whether there was one.
   * @throws TypeError for a target that names nothing or several things, and without the option `revocation`
   * @throws TokenRejectedError for a `token` that isn't accepted anyway
   * @throws Error if the store doesn't confirm it
   */
  unrevoke(target: RevocationTarget): Promise<boolean>;
  /**
   * Loads all keys again now, for example after a key was withdrawn: remote key sets are fetched even if they
   * are fresh. The last good keys of a source that fails stay in use for `staleMs`. @throws
   * KeysUnavailableError that lists every failed source and its cause
   */
  refreshKeys(): Promise<void>;
  /** Stops background work: remote key sets are no longer refreshed. The process can exit without it. */
  close(): Promise<void>;
}

const NO_REVOCATION =
  "revoke needs the option `revocation`: inMemoryRevocation() or sharedRevocation(store) of scopegate/revocation.";

/**
 * Creates a resource server from its options, for the adapters.
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
  const { issuers, rules, scopeRules, authorization } = resolved;
  const verifiers = createIssuers(issuers.configurations, issuers.selectByIssuer, resolved);
  const cache = resolved.tokenCache && new TokenCache(resolved.tokenCache, resolved.now);
  const { revocation, opaque, keyProofs, now } = resolved;
  const identify = createIdentifier(verifiers, cache, resolved);
  const pipeline = new Pipeline(resolved, identify, new Observer(resolved));
  const checked = authorization ? scopeRules : null;
  const weaker = findWeakerOverrides(resolved);
  if (weaker.length > 0) createWarning(describeAllWeaker(weaker))();

  // `revoke` must also work for a revoked token, and while the revocation check fails.
  const unchecked = { revocation: undefined, isRevoked: undefined, grants: undefined };
  const identifyAny = createIdentifier(verifiers, cache, { ...resolved, ...unchecked });
  const authenticate = async (token: string, by = identify): Promise<Principal> => {
    const pending = by(token);
    // A remembered token needs no promise, and `await` would take a turn of the microtask queue.
    const identified = isPending(pending) ? await pending : pending;
    if (identified.kind === "identified") {
      // A token alone doesn't prove that its sender holds the key that it's bound to.
      if (by === identify && identified.principal.binding) throw new TokenRejectedError("claims");
      return identified.principal;
    }
    if (identified.kind === "rejected") throw new TokenRejectedError(identified.rejection);
    throw new KeysUnavailableError(identified.cause);
  };

  const contextOf = async (target: RevocationTarget): Promise<RevocationContext> => {
    const tolerances = issuers.configurations.map(({ token }) => token.clockToleranceSeconds);
    const toleranceSeconds = Math.max(resolved.clockToleranceSeconds, ...tolerances);
    const principal = "token" in target ? await authenticate(target.token, identifyAny) : undefined;
    return compact({ nowMs: readClock(now).getTime(), toleranceSeconds, principal });
  };

  const server: ResourceServer = {
    resource: resolved.resource,
    routes: Object.freeze(rules.map(({ rule }) => rule)),
    async check(request) {
      const verdict = pipeline.decide(request, false);
      return (isPending(verdict) ? await verdict : verdict).decision();
    },
    checkScopes(decision, scopes, request) {
      pipeline.observer.start(request);
      const decided = decideRouteScopes(decision, scopes, request.params, checked);
      return pipeline.observer.observe(decided, request);
    },
    authenticate: (token) => authenticate(token),
    async revoke(target, options = {}) {
      if (!revocation) throw new TypeError(NO_REVOCATION);
      await revocation.revoke(target, options, await contextOf(target));
    },
    async unrevoke(target) {
      if (!revocation) throw new TypeError(NO_REVOCATION);
      return revocation.unrevoke(target, await contextOf(target));
    },
    authorize: (principal, method, path) => pipeline.decideFor(principal, { method, target: path }),
    refuse: createRefuser(resolved.challenge, createFirstWarning()),
    async ready(options) {
      await Promise.all([verifiers.ready(), revocation?.ready(options), keyProofs?.ready(options)]);
    },
    get keys() {
      return verifiers.status();
    },
    health: () =>
      healthOf(
        resolved.policy,
        verifiers.status(),
        cache,
        revocation?.status(),
        opaque?.status(),
        keyProofs?.fault,
      ),
    refreshKeys: verifiers.refresh,
    close() {
      verifiers.close();
      revocation?.close();
      pipeline.close();
      opaque?.close();
      return Promise.resolve();
    },
  };
  attachPipeline(server, pipeline);
  return Object.freeze(server);
}
