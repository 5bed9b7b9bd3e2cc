import type { Refused } from "../policy/decision.ts";
import { type Challenge, CHALLENGE_FIELD, renderChallenges } from "./challenge.ts";
import { createProblem, describeRefusal } from "./problem.ts";
import { createBody, type RefusalBodyFunction } from "./custom-body.ts";
import type { Refusal } from "./http-response.ts";
import type { ResponseFields } from "./response-fields.ts";

export type * from "./http-response.ts";

/** How the refusals of a server look. */
export interface RefusalRules {
  /** A parameter of every challenge. */
  readonly realm: string | undefined;
  /** A parameter of every challenge. */
  readonly resourceMetadataUrl: string | undefined;
  /** The scopes in the challenge of a 401, which clients of an MCP server request first. Default: none. */
  readonly initialScopes?: readonly string[];
  /** What a capability adds. */
  readonly fields?: Pick<ResponseFields, "challenges" | "refusalHeaders"> | undefined;
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
    const { reason, rejection, isOperation, retryAfterSeconds, resourceMetadataUrl } = refused;
    const isIndividual = reason === "scope_insufficient" || reason === "authentication_insufficient";
    if (isIndividual || (retryAfterSeconds ?? resourceMetadataUrl) !== undefined)
      return createRefusal(refused, rules);
    // The cache key: add everything else that the response depends on.
    const { proofRejection, binding, scheme, principal } = refused;
    const proof = [proofRejection, binding, scheme, principal?.binding].join(" ");
    const name = `${reason} ${rejection ?? ""} ${isOperation ?? ""} ${proof}`;
    const cached = cache.get(name);
    if (cached) return cached;
    const { status, headers, problem } = createRefusal(refused, rules);
    Object.freeze(problem);
    const refusal = Object.freeze({ status, headers: Object.freeze(headers), body: problem, problem });
    cache.set(name, refusal);
    return refusal;
  };
  const { refusalHeaders } = rules.fields ?? {};
  return (refused) => {
    if (typeof (refused as Partial<Refused>).reason !== "string") throw notRefused(refused);
    const standard = standardRefusal(refused);
    const refusal = refusalHeaders
      ? { ...standard, headers: { ...standard.headers, ...refusalHeaders() } }
      : standard;
    if (!refusalBody) return refusal;
    // Frozen, so that the function can't change the standard body of later refusals.
    const { shadow: _, ...enforced } = refused;
    const created = createBody(refusalBody, Object.freeze(refusal.problem), enforced);
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
  const bearer = params && ({ scheme: "Bearer", ...params } as const);
  const headers: Record<string, string> = {
    "Content-Type": "application/problem+json",
    // A shared cache must not send the refusal of one caller to another.
    "Cache-Control": "no-store",
  };
  if (bearer) {
    const challenges = rules.fields?.challenges(bearer, refused, problem.status) ?? [bearer];
    headers[CHALLENGE_FIELD] = renderChallenges(challenges);
  }
  if (refused.reason === "keys_unavailable")
    headers["Retry-After"] = String(refused.retryAfterSeconds ?? RETRY_AFTER_SECONDS);
  return { status: problem.status, headers, body: problem, problem };
}

/** The error in the challenge of each reason; `undefined` if another token wouldn't help. */
const ERRORS: Readonly<Record<Refused["reason"], Challenge["error"]>> = {
  credential_missing: undefined,
  request_ambiguous: "invalid_request",
  credential_malformed: "invalid_request",
  token_rejected: "invalid_token",
  proof_missing: "invalid_token",
  proof_rejected: "invalid_token",
  scope_insufficient: "insufficient_scope",
  authentication_insufficient: "insufficient_user_authentication",
  caller_not_allowed: undefined,
  route_unmapped: undefined,
  keys_unavailable: undefined,
};

/** Without credentials, the challenge has no error (RFC 6750 section 3.1). */
function createChallengeParams(
  refused: Refused,
  { realm, resourceMetadataUrl, initialScopes }: RefusalRules,
): Omit<Challenge, "scheme"> | undefined {
  const { reason, required, retained, acrValues, maxAgeSeconds } = refused;
  const shared = { realm, resourceMetadataUrl: refused.resourceMetadataUrl ?? resourceMetadataUrl };
  if (reason === "credential_missing") return { scopes: initialScopes, ...shared };
  const error = ERRORS[reason];
  if (!error) return undefined;
  const described = { error, errorDescription: describeRefusal(refused), ...shared };
  if (reason === "token_rejected") return { ...described, scopes: initialScopes };
  if (reason === "authentication_insufficient")
    return { ...described, scopes: retained, acrValues, maxAgeSeconds };
  if (reason !== "scope_insufficient") return described;
  return { ...described, scopes: required.filter(isRequestable), retainedScopes: retained };
}

/** A client can't request a template: the value of its parameter can't be part of a scope. */
const isRequestable = (scope: string): boolean => !/(?:^|:)<[^:]*>(?:$|:)/.test(scope);
