/** The pipeline: request -> rules -> credential -> verified token -> principal -> decision. */
import { type Observer } from "./observer.ts";
import { type ResolvedOptions } from "./options/resolve.ts";
import { allow, type Decision, refuse, rulesOf } from "./policy/decision.ts";
import { decideAnonymous, Policy } from "./policy/policy.ts";
import { type Governing, type RoutePattern, type Table } from "./policy/table.ts";
import { areSatisfied } from "./policy/satisfaction.ts";
import { type AccessRequest } from "./request.ts";
import { isPending, type Pending } from "./runtime/pending.ts";
import { type Identifier } from "./token/authenticate.ts";
import { readClaimed } from "./token/claimed.ts";
import { isMalformed, readCredential, type Token, type Unusable, WRONG_SYNTAX } from "./token/credential.ts";
import { type Identified } from "./token/identified.ts";
import { type Principal } from "./token/principal.ts";

/** Whether a request is allowed, and the data with which the route that runs can be checked later. */
export interface Verdict {
  readonly isAllowed: boolean;
  readonly principal: Principal | undefined;
  readonly governing: Governing;
  /** As it was when the guard ran: later code may change the framework's request. */
  readonly request: AccessRequest;
  /** Describes the decision. For an allowed request, this takes as long as deciding it. */
  readonly decision: () => Decision;
}

/** A verdict, or a promise of it if a token has to be verified first. */
export type PendingVerdict = Pending<Verdict>;

type PipelineRules = Omit<ResolvedOptions, "issuers" | "tokenCache" | "now" | "challenge" | Asked>;
/** The options that the identifier and the observer use. */
type Asked =
  | "isRevoked"
  | "revocation"
  | "opaqueTokens"
  | "opaqueContext"
  | "opaqueRequirements"
  | "grantsFor"
  | "grantsMaxAgeSeconds"
  | "onDecision";

export class Pipeline {
  readonly #rules: PipelineRules;
  readonly #identify: Identifier;
  readonly policy: Policy;
  readonly table: Table;
  readonly observer: Observer;

  constructor(rules: PipelineRules, identify: Identifier, observer: Observer) {
    this.#rules = rules;
    this.#identify = identify;
    this.policy = new Policy(rules);
    this.table = this.policy.table;
    this.observer = observer;
  }

  /**
   * Decides a request by the rule of its path, and by the rule of its route where `matchedPattern` names one.
   * With `isRouteChecked`, the caller must call `decideRoute` for every route that runs.
   */
  decide(request: AccessRequest, isRouteChecked: boolean): PendingVerdict {
    this.observer.start(request);
    return this.#proceed(this.policy.find(request, isRouteChecked), request);
  }

  /**
   * Decides an allowed request again at a route that is about to run and is written as these patterns. The
   * caller stays the principal that the guard verified. If the guard read no token because the path is
   * public, the credential that the request had at that time is used.
   */
  decideRoute(
    verdict: Verdict,
    { method, target }: Pick<AccessRequest, "method" | "target">,
    patterns: readonly RoutePattern[] | undefined,
  ): PendingVerdict {
    const isSame = verdict.request.method === method && verdict.request.target === target;
    const found = isSame ? verdict.governing : this.table.forTarget(method, target, true);
    const governing = this.table.forRoute(found, method, patterns);
    return this.decideAgain(
      verdict,
      governing,
      isSame ? verdict.request : { ...verdict.request, method, target },
    );
  }

  /** Decides an allowed request again, if other rules govern it now: all of them must be satisfied. */
  decideAgain(verdict: Verdict, governing: Governing, request: AccessRequest): PendingVerdict {
    if (governing === verdict.governing) return verdict;
    const { principal } = verdict;
    this.observer.start(request);
    return principal ? this.#concludeKnown(principal, governing, request) : this.#proceed(governing, request);
  }

  #proceed(governing: Governing, request: AccessRequest): PendingVerdict {
    const refused = this.policy.refuseByTable(governing);
    if (refused) return this.#conclude(refused, governing, request);
    const { kind, matches } = governing;
    if (kind === "rules" && matches.every(({ compiled }) => compiled.requirement.kind === "public"))
      return this.#conclude(allow(rulesOf(matches)), governing, request);

    const credential = readCredential(request, this.#rules);
    if (credential.kind === "missing") return this.#conclude(decideAnonymous(governing), governing, request);
    if (credential.kind !== "token") return this.#refuseCredential(credential, governing, request);

    const identified = this.#identify(credential.token);
    return isPending(identified)
      ? this.#whenIdentified(identified, credential, governing, request)
      : this.#decideIdentified(identified, credential, governing, request);
  }

  async #whenIdentified(pending: Promise<Identified>, ...rest: [Token, Governing, AccessRequest]) {
    return this.#decideIdentified(await pending, ...rest);
  }

  #decideIdentified(
    identified: Identified,
    credential: Token,
    governing: Governing,
    request: AccessRequest,
  ): Verdict {
    if (identified.kind === "identified")
      return this.#concludeKnown(identified.principal, governing, request);
    if (isMalformed(credential)) return this.#refuseCredential(WRONG_SYNTAX, governing, request);
    const { reason, ...facts } = identified.refusal;
    const claimed = reason === "token_rejected" ? readClaimed(credential.token) : undefined;
    const allFacts = { ...facts, ...(claimed && { claimed }) };
    return this.#conclude(refuse(reason, rulesOf(governing.matches), allFacts), governing, request);
  }

  #refuseCredential(found: Unusable, governing: Governing, request: AccessRequest): Verdict {
    const rules = rulesOf(governing.matches);
    const decision =
      found.kind === "malformed"
        ? refuse("credential_malformed", rules, { cause: found.cause })
        : refuse("token_rejected", rules, { rejection: "too_large" });
    return this.#conclude(decision, governing, request);
  }

  #concludeKnown(principal: Principal, governing: Governing, request: AccessRequest): Verdict {
    const refused = this.policy.refuseByTable(governing);
    if (refused) return this.#conclude(refused, governing, request);
    const { authorization, scopeRules } = this.#rules;
    const decision = () => this.policy.decideKnown(governing, principal);
    const isReported = this.policy.isReported(governing);
    const isMet = !authorization || areSatisfied(governing.matches, principal, scopeRules);
    if (!isMet || isReported || this.observer.isListening)
      return this.#conclude(decision(), governing, request);
    return { isAllowed: true, principal, governing, request, decision };
  }

  #conclude(decision: Decision, governing: Governing, request: AccessRequest): Verdict {
    this.observer.observe(decision, request);
    const { allowed: isAllowed, principal } = decision;
    return { isAllowed, principal, governing, request, decision: () => decision };
  }
}

/** Where a server keeps its pipeline for the adapters, which may come from another copy of the package. */
const PIPELINE = Symbol.for("scopegate.pipeline");

export function attachPipeline(server: object, pipeline: Pipeline): void {
  Object.defineProperty(server, PIPELINE, { value: pipeline });
}

/** Returns whether `createResourceServer` made the server: a copy of it has no pipeline. */
export const hasPipeline = (server: object): boolean => PIPELINE in server;

/** Returns the pipeline of a server that has one. */
export const pipelineOf = (server: object): Pipeline => Reflect.get(server, PIPELINE) as Pipeline;
