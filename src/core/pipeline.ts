/** The pipeline: request -> rules -> credential -> verified token -> principal -> decision. */
import type { Observer } from "./observer.ts";
import { compact } from "./runtime/compact.ts";
import type { ResolvedOptions } from "./options/resolve.ts";
import { allow, type Decision, refuse, type Refused, rulesOf, withShadow } from "./policy/decision.ts";
import { decideAnonymous, isPublic, Policy } from "./policy/policy.ts";
import { parsePattern } from "./policy/parse-pattern.ts";
import { fromHost } from "./policy/pattern-dialects.ts";
import { renderPattern } from "./policy/render-pattern.ts";
import * as routeComparison from "./policy/route-comparison.ts";
import { parseRouteKey, type RouteKey, type RouteKeyMistake } from "./policy/route-key.ts";
import type { Governing } from "./policy/governing.ts";
import type { Rule } from "./policy/rule.ts";
import type { AddRules, FindRules } from "./policy/shadow.ts";
import type { AccessRequest } from "./request.ts";
import { isPending } from "./runtime/pending.ts";
import type { Identifier } from "./token/authenticate.ts";
import { withClaimed } from "./token/unverified-claims.ts";
import {
  isMalformed,
  readCredential,
  type Token,
  tokenHeadersOf,
  type Unusable,
  WRONG_SYNTAX,
} from "./token/credential.ts";
import type { Identified } from "./token/identification.ts";
import type { Principal } from "./token/principal.ts";
import type { ProofCheck, Unproved } from "./token/proof.ts";
import type { PendingVerdict, RunningRoute, Verdict } from "./verdict.ts";

export type * from "./verdict.ts";

/** A request that is to be decided, and the rules that govern it. */
interface Question {
  readonly governing: Governing;
  readonly find: FindRules;
  readonly request: AccessRequest;
  /** The request as the client sent it: middleware may have changed its path since. */
  readonly sent: AccessRequest;
}

export class Pipeline {
  readonly rules: ResolvedOptions;
  readonly #identify: Identifier;
  readonly policy: Policy;
  readonly observer: Observer;
  /** The header fields with a token, a proof or a certificate, in lower case, except `authorization`. */
  readonly credentialHeaders: readonly string[];

  constructor(rules: ResolvedOptions, identify: Identifier, observer: Observer) {
    this.rules = rules;
    this.#identify = identify;
    this.policy = new Policy(rules);
    this.observer = observer;
    this.credentialHeaders = [...tokenHeadersOf(rules.tokenSources), ...(rules.keyProofs?.headers ?? [])];
  }

  /** For adapters, which must not load the parser by themselves. */
  readonly patterns = { ...routeComparison, parsePattern, renderPattern };

  /** Parses a route, with or without a method, for an adapter. */
  parseRoute(route: string, isReported: boolean): RouteKey | RouteKeyMistake {
    const key = route.startsWith("/") ? `* ${route}` : route.replace(/^ANY /, "* ");
    return parseRouteKey(isReported ? key.replace(/\/.*/, fromHost) : key, undefined, parsePattern);
  }

  /** Functions to call when the server is closed. */
  readonly #closers: (() => void)[] = [];

  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  close(): void {
    for (const close of this.#closers) close();
  }

  /**
   * Decides a request by the rule for its path, and by the rule for its route if `matchedPattern` names one.
   * With `isRouteChecked`, the caller must call `decideRoute` for every matched route. `sent` is the request
   * that the client has signed, if another path's rule decides.
   */
  decide(request: AccessRequest, isRouteChecked: boolean, sent = request): PendingVerdict {
    this.observer.start(request);
    const find: FindRules = (policy) => policy.find(request, isRouteChecked);
    return this.#decideByCredential({ governing: find(this.policy), find, request, sent });
  }

  /**
   * Decides an allowed request again at a route that is about to run. The caller stays the principal that the
   * guard verified. If the guard read no token because the path is public, the credential of `sent` is used.
   */
  decideRoute(verdict: Verdict, running: RunningRoute, sent = verdict.request): PendingVerdict {
    const { method, target, matchedPattern, patterns } = running;
    const isSameRequest = verdict.request.method === method && verdict.request.target === target;
    const moved = isSameRequest ? verdict.request : { ...verdict.request, method, target };
    const request = matchedPattern === undefined ? moved : { ...moved, matchedPattern };
    const addRoute: AddRules = (ofPath, { table }) => {
      const ofTarget = isSameRequest ? ofPath : table.forTarget(method, target, true);
      return table.forRoute(ofTarget, method, patterns, running);
    };
    return this.decideAgain(verdict, addRoute, request, sent);
  }

  /**
   * Decides an allowed request again if other rules also govern it now: all of them must be satisfied.
   * `addRules` takes the rules of `verdict`.
   */
  decideAgain(
    verdict: Verdict,
    addRules: AddRules,
    request: AccessRequest,
    sent = verdict.request,
  ): PendingVerdict {
    const find: FindRules = (policy) =>
      addRules(policy === this.policy ? verdict.governing : verdict.find(policy), policy);
    // The same object if nothing was added.
    const governing = find(this.policy);
    const question = { governing, find, request, sent };
    if (governing === verdict.governing) return this.#compareAgain(verdict, addRules, question);
    this.observer.start(request);
    return verdict.principal
      ? this.#decideForPrincipal(verdict.principal, question)
      : this.#decideByCredential(question);
  }

  /** The decision stays the same, but the table of `shadow` may have further rules. */
  #compareAgain(verdict: Verdict, addRules: AddRules, question: Question): Verdict {
    if (!this.rules.shadow?.hasFurtherRules(verdict.find, addRules)) return verdict;
    this.observer.start(question.request);
    const { shadow: _, ...enforced } = verdict.decision();
    return { ...verdict, ...this.#conclude(Object.freeze(enforced), question) };
  }

  /** Decides for a caller, or without a token, without checking a route. Calls no hook. */
  decideFor(principal: Principal | undefined, request: AccessRequest): Decision {
    const decision = this.policy.decideFor(principal, request);
    const find: FindRules = (policy) => policy.find(request, false);
    return withShadow(decision, this.rules.shadow?.compare(decision, find, request));
  }

  #decideByCredential(question: Question): PendingVerdict {
    const { governing, sent } = question;
    const refused = this.policy.refuseByTable(governing);
    if (refused) return this.#conclude(refused, question);
    const { matches } = governing;
    if (isPublic(governing)) return this.#conclude(allow(rulesOf(matches)), question);

    const credential = readCredential(sent, this.rules);
    if (credential.kind === "missing") return this.#conclude(decideAnonymous(governing), question);
    if (credential.kind !== "token")
      return this.#conclude(refuseUnusable(credential, rulesOf(matches)), question);

    const identified = this.#identify(credential.token);
    return isPending(identified)
      ? identified.then((awaited) => this.#decideIdentified(awaited, credential, question))
      : this.#decideIdentified(identified, credential, question);
  }

  #decideIdentified(identified: Identified, credential: Token, question: Question): PendingVerdict {
    const { governing, request, sent } = question;
    const rules = rulesOf(governing.matches);
    if (identified.kind === "identified") {
      const { principal } = identified;
      const isForOther = this.rules.resource?.template?.isFor(principal, request.target) === false;
      const refused = isForOther
        ? refuse("token_rejected", rules, { rejection: "audience" })
        : this.policy.refuseByParameters(governing, request);
      if (refused) return this.#conclude(refused, question);
      if (!this.rules.keyProofs) return this.#decideForPrincipal(principal, question);
      const checked = this.rules.keyProofs.check(principal, credential, sent);
      const decide = (check: ProofCheck) => this.#decideProven(check, principal, question);
      return isPending(checked) ? checked.then(decide) : decide(checked);
    }
    const scheme = compact({ scheme: credential.scheme });
    if (isMalformed(credential))
      return this.#conclude(refuseUnusable({ ...WRONG_SYNTAX, ...scheme }, rules), question);
    const { kind, ...facts } = identified;
    if (kind === "unavailable") return this.#conclude(refuse("keys_unavailable", rules, facts), question);
    const refused = refuse("token_rejected", rules, { ...facts, ...scheme });
    return this.#conclude(withClaimed(refused, credential.token), question);
  }

  /** Decides for the caller of a verified token, if the client has proved that it holds the token's key. */
  #decideProven(check: ProofCheck, principal: Principal, question: Question): PendingVerdict {
    if (check.kind !== "proved") return this.#conclude(refuseProof(check, principal, question), question);
    const { useUp, headers } = check;
    if (!useUp) return this.#decideForPrincipal(principal, question);
    const decision = this.policy.decideKnown(question.governing, principal);
    const conclude = (used: ProofCheck): Verdict =>
      used.kind === "proved"
        ? { ...this.#conclude(decision, question), ...compact({ headers }) }
        : this.#conclude(refuseProof(used, principal, question), question);
    // Not left to the route: code of the application runs before it, and a replay must not reach that.
    return decision.allowed ? useUp().then(conclude) : conclude(check);
  }

  #decideForPrincipal(principal: Principal, question: Question): Verdict {
    const { governing, find, request } = question;
    const refused = this.policy.refuseByTable(governing);
    if (refused) return this.#conclude(refused, question);
    const decision = () => this.policy.decideKnown(governing, principal);
    const isDescribed = this.observer.isListening || this.rules.shadow !== undefined;
    if (isDescribed || !this.policy.isSatisfied(governing, principal))
      return this.#conclude(decision(), question);
    return { isAllowed: true, principal, governing, find, request, decision };
  }

  /** Adds what the challenge of a refusal says about the resource of this request, if there are several. */
  withResource(decision: Decision, { target }: AccessRequest): Decision {
    const resource = decision.allowed ? undefined : this.rules.resource?.template?.find(target);
    return resource ? Object.freeze({ ...decision, resourceMetadataUrl: resource.metadataUrl }) : decision;
  }

  #conclude(enforced: Decision, { governing, find, request }: Question): Verdict {
    const shadow = this.rules.shadow?.compare(enforced, find, request);
    const decision = withShadow(this.withResource(enforced, request), shadow);
    this.observer.observe(decision, request);
    const { allowed: isAllowed, principal } = decision;
    return { isAllowed, principal, governing, find, request, decision: () => decision };
  }
}

/** Refuses a request whose credential can't be verified. */
function refuseUnusable(credential: Unusable, rules: readonly Rule[]): Refused {
  const scheme = compact({ scheme: credential.scheme });
  return credential.kind === "malformed"
    ? refuse("credential_malformed", rules, { cause: credential.cause, ...scheme })
    : refuse("token_rejected", rules, { rejection: "too_large", ...scheme });
}

/** Refuses a request whose proof is missing or rejected, or can't be checked. */
function refuseProof(check: Unproved, principal: Principal, { governing }: Question): Refused {
  const rules = rulesOf(governing.matches);
  if (check.kind === "unavailable") return refuse("keys_unavailable", rules, { cause: check.cause });
  const { kind, ...facts } = check;
  const reason = kind === "missing" ? "proof_missing" : "proof_rejected";
  return refuse(reason, rules, { ...compact({ binding: principal.binding }), ...facts, principal });
}
