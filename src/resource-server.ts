import { KeysUnavailableError, TokenRejectedError } from "./errors.ts";
import { notify } from "./notify.ts";
import { type ObservedRequest, type ResourceServerOptions } from "./options/options.ts";
import { resolveOptions } from "./options/resolve.ts";
import { allow, decideByScopes, type Decision, refuse, type Refused } from "./policy/decision.ts";
import { type Explanation, explainDecision, type ExplainQuery } from "./policy/explain.ts";
import { createRouteTable, RouteFinder, type RouteTable } from "./policy/route-table.ts";
import { type RuleMatch } from "./policy/rule.ts";
import { createPrincipal, type Principal, readPrincipal } from "./principal.ts";
import { type AccessRequest, pathOf, readTarget } from "./request.ts";
import { createRefusal, type Refusal } from "./response/refusal.ts";
import { readCredential } from "./token/credential.ts";
import { createTokenVerifier } from "./token/verifier.ts";

/** Decides for every request who is calling and whether they may: what RFC 6749 section 1.1 calls a resource server. */
export interface ResourceServer {
  /** Decides one request. Never throws for anything that a client sent: a refusal is a value. */
  check(request: AccessRequest): Promise<Decision>;
  /**
   * Verifies one token, whatever route it is used for; the table is not asked.
   * @throws TokenRejectedError when it is not accepted
   * @throws KeysUnavailableError when nobody can tell
   */
  authenticate(token: string): Promise<Principal>;
  /** Decides by the table alone for a caller who is known already. Tells no hook, checks no token. */
  authorize(principal: Principal, method: string, path: string): Decision;
  /** Shows how a request would be decided for these scopes, or without a token, and why. */
  explain(query: ExplainQuery): Explanation;
  /** The response for a refusal: status, headers, and the body to be sent as JSON. */
  refuse(refused: Refused): Refusal;
  /** Tells `onDecision` of a decision that was made outside `check`, so that one log holds them all. */
  observe(decision: Decision, request: AccessRequest): void;
  /** The effective table, each rule with its source. */
  readonly routes: RouteTable;
  /**
   * Loads and imports all keys now, so that a service fails at boot rather than on its first request.
   * @throws KeysUnavailableError
   */
  ready(): Promise<void>;
  /** Ends background work. With static keys there is none; call it all the same. */
  close(): Promise<void>;
}

type Identified =
  { readonly principal: Principal } | { readonly refusal: Pick<Refused, "reason" | "rejection" | "cause"> };

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
  const {
    keys,
    rules,
    token,
    tokenSources,
    principal: principalRules,
    challenge,
    ...policy
  } = resolveOptions(options);
  const finder = new RouteFinder(rules);
  const verify = createTokenVerifier(token, keys);

  /** The pipeline: request, rule, credential, verified token, principal, decision. */
  async function decide(request: AccessRequest): Promise<Decision> {
    const route = findRule(request);
    if ("refused" in route) return route.refused;
    const { match, facts } = route;
    const asked = match?.compiled.requirement.kind;
    if (asked === "public") return allow(facts);

    const credential = readCredential(request, tokenSources);
    if (credential.kind === "malformed") return refuse("credential_malformed", facts);
    if (credential.kind === "missing")
      return asked === "optional" ? allow(facts) : refuse("credential_missing", facts);

    const identified = await identify(credential.token);
    if ("refusal" in identified)
      return refuse(identified.refusal.reason, { ...identified.refusal, ...facts });
    return decideFor(identified.principal, route);
  }

  /** The rule of a request; none where the table need not have one, a refusal where it must. */
  function findRule(
    request: AccessRequest,
  ): { readonly match?: RuleMatch; readonly facts: Pick<Decision, "rule"> } | { readonly refused: Refused } {
    const path = readTarget(request.target);
    const answer = path ? finder.find(request, path) : "ambiguous";
    if (answer === "ambiguous") return { refused: refuse("request_ambiguous") };
    if (answer !== "unmapped") return { match: answer, facts: { rule: answer.compiled.rule } };
    const needsRule = policy.authorization && policy.unmappedRoutes === "deny";
    return needsRule ? { refused: refuse("route_unmapped") } : { facts: {} };
  }

  /** Who a token speaks for, or why it speaks for nobody. */
  async function identify(encoded: string): Promise<Identified> {
    const verification = await verify(encoded);
    if (verification.kind === "unavailable")
      return { refusal: { reason: "keys_unavailable", cause: verification.cause } };
    if (verification.kind === "rejected")
      return { refusal: { reason: "token_rejected", rejection: verification.rejection } };
    const principal = readPrincipal(verification.claims, principalRules);
    if (!principal) return { refusal: { reason: "token_rejected", rejection: "claims" } };
    return (await findRevocation(principal)) ?? { principal };
  }

  /** No answer is not a bad token: whoever cannot tell whether a token is revoked says so, and lets nobody in. */
  async function findRevocation(principal: Principal): Promise<Identified | undefined> {
    if (!policy.isRevoked) return undefined;
    try {
      const revoked: unknown = await policy.isRevoked(principal);
      if (revoked === false) return undefined;
      if (revoked === true) return { refusal: { reason: "token_rejected", rejection: "revoked" } };
      throw new TypeError("`isRevoked` must answer true or false.");
    } catch (cause) {
      return { refusal: { reason: "keys_unavailable", cause } };
    }
  }

  function decideFor(
    principal: Principal,
    { match, facts }: { readonly match?: RuleMatch; readonly facts: Pick<Decision, "rule"> },
  ): Decision {
    return match && policy.authorization ? decideByScopes(match, principal) : allow({ ...facts, principal });
  }

  function decideAnonymous(request: AccessRequest): Decision {
    const route = findRule(request);
    if ("refused" in route) return route.refused;
    const asked = route.match?.compiled.requirement.kind;
    return asked === "public" || asked === "optional"
      ? allow(route.facts)
      : refuse("credential_missing", route.facts);
  }

  function observe(decision: Decision, request: AccessRequest): void {
    if (policy.onDecision) notify(policy.onDecision, decision, withoutCredentials(request));
  }

  function authorize(principal: Principal, method: string, path: string): Decision {
    const route = findRule({ method, target: path });
    return "refused" in route ? route.refused : decideFor(principal, route);
  }

  return Object.freeze({
    routes: createRouteTable(rules),
    async check(request: AccessRequest) {
      const decision = await decide(request);
      observe(decision, request);
      return decision;
    },
    async authenticate(encoded: string) {
      const identified = await identify(encoded);
      if ("principal" in identified) return identified.principal;
      const { rejection, cause } = identified.refusal;
      throw rejection ? new TokenRejectedError(rejection) : new KeysUnavailableError(cause);
    },
    authorize,
    explain(query: ExplainQuery) {
      const { method, path, scopes } = query;
      const caller =
        scopes && createPrincipal({ scopes, audience: [], claims: {} }, principalRules.scopeRules);
      const decision = caller ? authorize(caller, method, path) : decideAnonymous({ method, target: path });
      return explainDecision(query, decision);
    },
    refuse: (refused: Refused) => createRefusal(refused, challenge),
    observe,
    ready: () => keys.ready().catch((cause: unknown) => Promise.reject(new KeysUnavailableError(cause))),
    close: () => Promise.resolve(),
  });
}

function withoutCredentials(request: AccessRequest): ObservedRequest {
  const { authorization, cookie, ...observed } = request;
  return { ...observed, target: pathOf(request.target) };
}
