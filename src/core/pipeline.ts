/** The pipeline: request -> rules -> credential -> verified token -> principal -> decision. */
import type { Observer } from "./observer.ts";
import { compact } from "./runtime/compact.ts";
import type { ResolvedOptions } from "./options/resolve.ts";
import { allow, type Decision, refuse, type Refused, rulesOf } from "./policy/decision.ts";
import type { HandlerValues } from "./policy/handler-values.ts";
import { decideAnonymous, Policy } from "./policy/policy.ts";
import { fromHost } from "./policy/pattern-dialects.ts";
import { parseRouteKey, type RouteKey, type RouteKeyMistake } from "./policy/route-key.ts";
import type { Governing, RoutePattern, Table } from "./policy/table.ts";
import type { AccessRequest } from "./request.ts";
import { isPending, type Pending } from "./runtime/pending.ts";
import type { ProofCheck, Unproved } from "./token/binding/proof.ts";
import {
  PROOF_HEADER,
  SenderConstraint,
  type SenderConstraintRules,
} from "./token/binding/sender-constraint.ts";
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

/** A route that is about to run, and the current state of the request. */
export interface RunningRoute
  extends Pick<AccessRequest, "method" | "target" | "matchedPattern">, HandlerValues {
  /** How the route is written; `undefined` refuses the request, because the route no longer matches it. */
  readonly patterns: readonly RoutePattern[] | undefined;
}

/** Whether a request is allowed, and the data to check the matched route later. */
export interface Verdict {
  readonly isAllowed: boolean;
  readonly principal: Principal | undefined;
  readonly governing: Governing;
  /** The request as it was when the guard ran: later code may change the framework's request. */
  readonly request: AccessRequest;
  /** A nonce for the next proof of the client, which the response should have (RFC 9449 section 8.2). */
  readonly nextNonce?: string;
  /** Describes the decision. For an allowed request, this takes as long as deciding it. */
  readonly decision: () => Decision;
}

/** A verdict, or a promise of it if something must be awaited, such as the verification of a token. */
export type PendingVerdict = Pending<Verdict>;

export class Pipeline {
  readonly rules: ResolvedOptions;
  readonly #identify: Identifier;
  readonly #senderConstraint: SenderConstraint | undefined;
  readonly policy: Policy;
  readonly table: Table;
  readonly observer: Observer;
  /** Whether `refusalBody` creates the bodies of refusals. If so, tools can't know them. */
  readonly hasRefusalBody: boolean;
  /** The header fields with a token, a proof or a certificate, in lower case, except `authorization`. */
  readonly credentialHeaders: readonly string[];
  /** How proofs of client keys are checked; `undefined` if no token can be bound to a key. */
  readonly keyProofs: SenderConstraintRules | undefined;

  constructor(rules: ResolvedOptions, identify: Identifier, observer: Observer) {
    this.rules = rules;
    this.#identify = identify;
    this.policy = new Policy(rules);
    this.table = this.policy.table;
    this.observer = observer;
    this.hasRefusalBody = rules.challenge.refusalBody !== undefined;
    this.keyProofs = rules.senderConstraint;
    this.#senderConstraint = this.keyProofs && new SenderConstraint(this.keyProofs);
    const { dpop, mtls } = this.keyProofs ?? {};
    this.credentialHeaders = [
      ...tokenHeadersOf(rules.tokenSources),
      ...(dpop ? [PROOF_HEADER] : []),
      ...(mtls?.kind === "header" ? [mtls.header] : []),
    ];
  }

  /** Parses a route, with or without a method, for an adapter, which must not load the parser by itself. */
  parseRoute(route: string, isReported: boolean): RouteKey | RouteKeyMistake {
    const key = route.startsWith("/") ? `* ${route}` : route.replace(/^ANY /, "* ");
    return parseRouteKey(isReported ? key.replace(/\/.*/, fromHost) : key);
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
    return this.#decideByCredential(this.policy.find(request, isRouteChecked), request, sent);
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
    const ofPath = isSameRequest ? verdict.governing : this.table.forTarget(method, target, true);
    const governing = this.table.forRoute(ofPath, method, patterns, running);
    return this.decideAgain(verdict, governing, request, sent);
  }

  /** Decides an allowed request again if other rules govern it now: all of them must be satisfied. */
  decideAgain(
    verdict: Verdict,
    governing: Governing,
    request: AccessRequest,
    sent = verdict.request,
  ): PendingVerdict {
    if (governing === verdict.governing) return verdict;
    const { principal } = verdict;
    this.observer.start(request);
    return principal
      ? this.#decideForPrincipal(principal, governing, request)
      : this.#decideByCredential(governing, request, sent);
  }

  /** `sent` is the request as the client sent it: middleware may have changed its path since. */
  #decideByCredential(governing: Governing, request: AccessRequest, sent = request): PendingVerdict {
    const refused = this.policy.refuseByTable(governing);
    if (refused) return this.#conclude(refused, governing, request);
    const { kind, matches, restrictions } = governing;
    const isPublic =
      kind === "rules" &&
      matches.every(({ compiled }) => compiled.requirement.kind === "public") &&
      restrictions().active.length === 0;
    if (isPublic) return this.#conclude(allow(rulesOf(matches)), governing, request);

    const credential = readCredential(sent, this.rules);
    if (credential.kind === "missing") return this.#conclude(decideAnonymous(governing), governing, request);
    if (credential.kind !== "token") return this.#refuseCredential(credential, governing, request);

    const identified = this.#identify(credential.token);
    return isPending(identified)
      ? identified.then((awaited) => this.#decideIdentified(awaited, credential, governing, request, sent))
      : this.#decideIdentified(identified, credential, governing, request, sent);
  }

  #decideIdentified(
    identified: Identified,
    credential: Token,
    governing: Governing,
    request: AccessRequest,
    sent: AccessRequest,
  ): PendingVerdict {
    if (identified.kind === "identified") {
      const { principal } = identified;
      const refused = this.policy.refuseByParameters(governing, request);
      if (refused) return this.#conclude(refused, governing, request);
      const constraint = this.#senderConstraint;
      if (!constraint) return this.#decideForPrincipal(principal, governing, request);
      const checked = constraint.check(principal, credential, sent);
      const decide = (check: ProofCheck) => this.#decideProven(check, principal, governing, request);
      return isPending(checked) ? checked.then(decide) : decide(checked);
    }
    if (isMalformed(credential))
      return this.#refuseCredential({ ...WRONG_SYNTAX, ...schemeOf(credential) }, governing, request);
    const { kind, ...facts } = identified;
    const rules = rulesOf(governing.matches);
    if (kind === "unavailable")
      return this.#conclude(refuse("keys_unavailable", rules, facts), governing, request);
    const refused = refuse("token_rejected", rules, { ...facts, ...schemeOf(credential) });
    return this.#conclude(withClaimed(refused, credential.token), governing, request);
  }

  /** Decides for the caller of a verified token, if the client has proved that it holds the token's key. */
  #decideProven(
    check: ProofCheck,
    principal: Principal,
    governing: Governing,
    request: AccessRequest,
  ): PendingVerdict {
    if (check.kind !== "proved")
      return this.#conclude(refuseProof(check, principal, governing), governing, request);
    const { useUp, nextNonce } = check;
    if (!useUp) return this.#decideForPrincipal(principal, governing, request);
    const decision = this.policy.decideKnown(governing, principal);
    const conclude = (used: ProofCheck): Verdict =>
      used.kind === "proved"
        ? { ...this.#conclude(decision, governing, request), ...compact({ nextNonce }) }
        : this.#conclude(refuseProof(used, principal, governing), governing, request);
    // Not left to the route: code of the application runs before it, and a replay must not reach that.
    return decision.allowed ? useUp().then(conclude) : conclude(check);
  }

  #refuseCredential(credential: Unusable, governing: Governing, request: AccessRequest): Verdict {
    const rules = rulesOf(governing.matches);
    const scheme = compact({ scheme: credential.scheme });
    const decision =
      credential.kind === "malformed"
        ? refuse("credential_malformed", rules, { cause: credential.cause, ...scheme })
        : refuse("token_rejected", rules, { rejection: "too_large", ...scheme });
    return this.#conclude(decision, governing, request);
  }

  #decideForPrincipal(principal: Principal, governing: Governing, request: AccessRequest): Verdict {
    const refused = this.policy.refuseByTable(governing);
    if (refused) return this.#conclude(refused, governing, request);
    const decision = () => this.policy.decideKnown(governing, principal);
    const isReported = this.policy.isReported(governing);
    const isSatisfied = this.policy.isSatisfied(governing, principal);
    if (!isSatisfied || isReported || this.observer.isListening)
      return this.#conclude(decision(), governing, request);
    return { isAllowed: true, principal, governing, request, decision };
  }

  #conclude(decision: Decision, governing: Governing, request: AccessRequest): Verdict {
    this.observer.observe(decision, request);
    const { allowed: isAllowed, principal } = decision;
    return { isAllowed, principal, governing, request, decision: () => decision };
  }
}

/** Refuses a request whose proof is missing or rejected, or can't be checked. */
function refuseProof(check: Unproved, principal: Principal, { matches }: Governing): Refused {
  const rules = rulesOf(matches);
  if (check.kind === "unavailable") return refuse("keys_unavailable", rules, { cause: check.cause });
  const { kind, ...facts } = check;
  const reason = kind === "missing" ? "proof_missing" : "proof_rejected";
  return refuse(reason, rules, { ...compact({ binding: principal.binding }), ...facts, principal });
}

/** The scheme as a decision reports it. */
const schemeOf = ({ scheme }: Token): { readonly scheme?: "DPoP" } => (scheme === "DPoP" ? { scheme } : {});
