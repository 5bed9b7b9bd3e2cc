import type { Refused } from "../policy/decision.ts";
import { type Challenge, CHALLENGE_FIELD, NONCE_FIELD, renderChallenges } from "./challenge.ts";
import { createProblem, describeRefusal, type Problem } from "./problem.ts";
import { createBody, type RefusalBodyFunction } from "./custom-body.ts";

/** An HTTP response that an adapter sends instead of a handler. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Send an object as JSON, and a string as it is. */
  readonly body: object | string;
}

/** The HTTP response for a refusal. */
export interface Refusal extends HttpResponse {
  /** 400, 401, 403, 404 or 503. */
  readonly status: number;
  /** All headers of the response. Add `WWW-Authenticate` to an existing one; replace the others. */
  readonly headers: Readonly<Record<string, string>>;
  /** The problem, or the string that `refusalBody` created. Send an object as JSON, and a string as it is. */
  readonly body: Problem | string;
  /** The problem, even with `refusalBody`: for channels without an HTTP response. */
  readonly problem: Problem;
}

/** How the refusals of a server look. */
export interface RefusalRules {
  /** A parameter of every challenge. */
  readonly realm: string | undefined;
  /** A parameter of every challenge. */
  readonly resourceMetadataUrl: string | undefined;
  /** The scopes in the challenge of a 401, which clients of an MCP server request first. Default: none. */
  readonly initialScopes?: readonly string[];
  /** The data for clients of DPoP (RFC 9449). */
  readonly dpop?:
    | {
        readonly algorithms: readonly string[];
        /** Whether every token needs a proof. If so, `Bearer` isn't offered. */
        readonly isOnlyScheme: boolean;
      }
    | undefined;
  /** The status for a route without a rule. */
  readonly unmappedStatus?: 403 | 404;
  readonly refusalBody?: RefusalBodyFunction | undefined;
}

/** Used when the decision has no time for the next attempt, for example because `isRevoked` failed. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Creates the function that returns responses. Standard responses are created once, so that invalid tokens
 * cost little. `warn` receives each mistake of `refusalBody`.
 */
export function createRefuser(
  rules: RefusalRules,
  warn: (message: string) => void = () => undefined,
): (refused: Refused) => Refusal {
  const { refusalBody } = rules;
  const cache = new Map<string, Refusal>();
  const standardRefusal = (refused: Refused): Refusal => {
    const { reason, rejection, proofRejection, isOperation, retryAfterSeconds } = refused;
    const isIndividual = reason === "scope_insufficient" || reason === "authentication_insufficient";
    if (isIndividual || retryAfterSeconds !== undefined) return createRefusal(refused, rules);
    // The cache key: add everything else that the response depends on.
    const proof = `${refused.binding ?? ""} ${proofRejection ?? ""} ${schemeOf(refused)}`;
    const name = `${reason} ${rejection ?? ""} ${isOperation ?? ""} ${proof}`;
    const cached = cache.get(name);
    if (cached) return cached;
    const { status, headers, problem } = createRefusal(refused, rules);
    Object.freeze(problem);
    const refusal = Object.freeze({ status, headers: Object.freeze(headers), body: problem, problem });
    cache.set(name, refusal);
    return refusal;
  };
  return (refused) => {
    if (typeof (refused as Partial<Refused>).reason !== "string") throw notRefused(refused);
    const refusal = standardRefusal(refused);
    if (!refusalBody) return refusal;
    // Frozen, so that the function can't change the standard body of later refusals.
    const created = createBody(refusalBody, Object.freeze(refusal.problem), refused);
    if (created.kind === "mistake") {
      warn(created.message);
      return refusal;
    }
    const { contentType, content } = created;
    return { ...refusal, headers: { ...refusal.headers, "Content-Type": contentType }, body: content };
  };
}

/** Untyped code may pass the promise of `check`, or an allowed decision. */
const notRefused = (value: object): TypeError =>
  new TypeError(
    "then" in value
      ? "refuse received a promise. Write server.refuse(await server.check(request))."
      : "refuse received a value that isn't a refused decision. Write if (!decision.allowed) server.refuse(decision).",
  );

export function createRefusal(refused: Refused, rules: RefusalRules): Refusal {
  const problem = createProblem(refused, rules.unmappedStatus);
  const params = createChallengeParams(refused, rules);
  const challenges = params ? createChallenges(params, refused, problem.status, rules) : [];
  const headers: Record<string, string> = {
    "Content-Type": "application/problem+json",
    // A shared cache must not send the refusal of one caller to another.
    "Cache-Control": "no-store",
  };
  if (challenges.length > 0) headers[CHALLENGE_FIELD] = renderChallenges(challenges);
  if (refused.reason === "keys_unavailable")
    headers["Retry-After"] = String(refused.retryAfterSeconds ?? RETRY_AFTER_SECONDS);
  return { status: problem.status, headers, body: problem, problem };
}

/** Returns a response with the nonce that the next proof of the client needs. */
export const withNonce = (refusal: Refusal, nonce: string): Refusal => ({
  ...refusal,
  headers: { ...refusal.headers, [NONCE_FIELD]: nonce },
});

/** The scheme of the token that a request had; `Bearer` if it had none. */
const schemeOf = ({ scheme, principal }: Refused): Challenge["scheme"] =>
  scheme ?? (principal?.binding === "dpop" ? "DPoP" : "Bearer");

/**
 * The parameters belong to the scheme that was used. A 401 for a bearer token also offers DPoP (RFC 9449
 * section 7.2). A refused proof has only one challenge, because many clients send a nonce only if
 * DPoP is the only scheme that is offered.
 */
function createChallenges(
  params: Omit<Challenge, "scheme">,
  refused: Refused,
  status: number,
  { dpop }: RefusalRules,
): readonly Challenge[] {
  const bearer: Challenge = { scheme: "Bearer", ...params };
  if (!dpop) return [bearer];
  const { algorithms, isOnlyScheme } = dpop;
  const offersOnlyDpop = isOnlyScheme || schemeOf(refused) === "DPoP" || isAboutDpop(refused);
  if (offersOnlyDpop) return [{ scheme: "DPoP", ...params, algorithms }];
  return status === 401 ? [bearer, { scheme: "DPoP", algorithms }] : [bearer];
}

/** Returns whether a DPoP proof, rather than a certificate, is missing or wrong. */
const isAboutDpop = ({ reason, binding, proofRejection }: Refused): boolean =>
  reason === "proof_rejected"
    ? proofRejection !== "certificate"
    : reason === "proof_missing" && binding !== "mtls";

/** RFC 6750 section 3.1: no error without credentials. No challenge if another token wouldn't help. */
function createChallengeParams(
  refused: Refused,
  { realm, resourceMetadataUrl, initialScopes }: RefusalRules,
): Omit<Challenge, "scheme"> | undefined {
  const shared = { realm, resourceMetadataUrl };
  const errorDescription = describeRefusal(refused);
  switch (refused.reason) {
    case "credential_missing":
      return { scopes: initialScopes, ...shared };
    case "request_ambiguous":
    case "credential_malformed":
      return { error: "invalid_request", errorDescription, ...shared };
    case "token_rejected":
      return { error: "invalid_token", errorDescription, scopes: initialScopes, ...shared };
    case "proof_missing":
    case "proof_rejected":
      return { error: proofErrorOf(refused), errorDescription, ...shared };
    case "scope_insufficient":
      return {
        error: "insufficient_scope",
        errorDescription,
        scopes: refused.required.filter(isRequestable),
        retainedScopes: refused.retained,
        ...shared,
      };
    case "authentication_insufficient":
      return {
        error: "insufficient_user_authentication",
        errorDescription,
        scopes: refused.retained,
        acrValues: refused.acrValues,
        maxAgeSeconds: refused.maxAgeSeconds,
        ...shared,
      };
    case "caller_not_allowed":
    case "route_unmapped":
    case "keys_unavailable":
      return undefined;
  }
}

/**
 * RFC 9449 sections 7.1 and 9. A wrong or missing certificate is `invalid_token` (RFC 8705 section 3). So is
 * a token that should be bound but isn't: only another token would help.
 */
function proofErrorOf({ reason, binding, proofRejection }: Refused): Challenge["error"] {
  const isWithoutProof = reason === "proof_missing" && binding !== "dpop";
  if (isWithoutProof || proofRejection === "certificate") return "invalid_token";
  return proofRejection === "nonce" ? "use_dpop_nonce" : "invalid_dpop_proof";
}

/** A client can't request a template: the value of its parameter can't be part of a scope. */
const isRequestable = (scope: string): boolean => !/(?:^|:)<[^:]*>(?:$|:)/.test(scope);
