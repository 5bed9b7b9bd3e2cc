import { KeysUnavailableError, TokenRejectedError } from "./errors.ts";
import { healthOf } from "./health.ts";
import type { ResourceServerOptions } from "./options/options.ts";
import { resolveOptions } from "./options/resolve.ts";
import { Observer } from "./observer.ts";
import { Pipeline } from "./pipeline.ts";
import { attachPipeline } from "./port.ts";
import { describeAllWeaker, findWeakerOverrides } from "./policy/overrides.ts";
import { decideRouteScopes } from "./policy/route-scopes.ts";
import { createRefuser } from "./response/refusal.ts";
import type { ResourceServer } from "./resource-server.ts";
import { readClock } from "./runtime/clock.ts";
import { compact } from "./runtime/compact.ts";
import { isPending } from "./runtime/pending.ts";
import { createFirstWarning, createWarning } from "./runtime/warn-once.ts";
import { createIdentifier } from "./token/authenticate.ts";
import { createIssuers } from "./token/issuers.ts";
import type { Principal } from "./token/principal.ts";
import type { RevocationContext, RevocationTarget } from "./token/revocation.ts";
import { TokenCache } from "./token/token-cache.ts";

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
  const { configurations, selectByIssuer, directory } = issuers;
  const verifiers = createIssuers(configurations, selectByIssuer, resolved, directory);
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
    const tolerances = configurations.map(({ token }) => token.clockToleranceSeconds);
    if (directory) tolerances.push(directory.maxToleranceSeconds);
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
      return pipeline.observer.observe(pipeline.withResource(decided, request), request);
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
      await Promise.all([
        verifiers.ready(options?.all),
        revocation?.ready(options),
        keyProofs?.ready(options),
      ]);
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
