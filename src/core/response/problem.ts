import type { Refused } from "../policy/decision.ts";

/** The body of a refusal (RFC 9457). Its wording is fixed, without client input and error messages. */
export interface Problem {
  /** Always `about:blank`; use `code` to distinguish the problems. */
  readonly type: "about:blank";
  /** The name of the status. */
  readonly title: string;
  /** The status of the response. */
  readonly status: number;
  /** A fixed description. */
  readonly detail: string;
  /** The `reason` of the decision. */
  readonly code: Refused["reason"];
  /** The required scopes, if scopes are missing. */
  readonly required_scopes?: readonly string[];
  /** The required scopes that the token doesn't grant. */
  readonly missing_scopes?: readonly string[];
  // Add a new property also to PROBLEM of tools/openapi/to-security.ts, and to docs/reference/refusals.md.
}

const TITLES = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  503: "Service Unavailable",
} as const;

/** The status and the description of each reason. */
const PROBLEMS: Readonly<
  Record<Refused["reason"], { readonly status: keyof typeof TITLES; readonly detail: string }>
> = {
  request_ambiguous: { status: 400, detail: "The request can be read in more than one way." },
  credential_missing: { status: 401, detail: "The request carries no bearer token." },
  credential_malformed: {
    status: 400,
    detail: "The request must carry one bearer token, in the syntax of RFC 6750.",
  },
  token_rejected: { status: 401, detail: "The access token is not accepted." },
  scope_insufficient: {
    status: 403,
    detail: "The access token does not grant the scopes that this operation needs.",
  },
  caller_not_allowed: { status: 403, detail: "The access token does not allow this request." },
  proof_missing: {
    status: 401,
    detail: "The access token must be bound to a key of the client, and sent with a proof of this key.",
  },
  proof_rejected: {
    status: 401,
    detail: "The proof of the key that the access token is bound to is not accepted.",
  },
  authentication_insufficient: {
    status: 401,
    detail: "The user must log in again, recently or more strongly, for this operation.",
  },
  route_unmapped: { status: 403, detail: "No rule allows access to this operation." },
  keys_unavailable: { status: 503, detail: "The access token cannot be checked at the moment." },
};

/** Only mistakes that the client can fix. More detail would help an attacker who tries tokens. */
const REJECTIONS: Partial<Record<NonNullable<Refused["rejection"]>, string>> = {
  too_large: "The access token is too large.",
  expired: "The access token has expired.",
  not_yet_valid: "The access token is not valid yet.",
  audience: "The access token is meant for another service.",
};

/** Returns the fixed description of a refusal, also for `error_description` of the challenge. */
export function describeRefusal({ reason, rejection }: Refused): string {
  return (rejection && REJECTIONS[rejection]) ?? PROBLEMS[reason].detail;
}

/** Creates the body of a refusal. `unmappedStatus` is the status for a route without a rule. */
export function createProblem(refused: Refused, unmappedStatus: 403 | 404 = 403): Problem {
  const { reason, required, missing, isOperation } = refused;
  const isHidden = reason === "route_unmapped" && unmappedStatus === 404 && !isOperation;
  const status = isHidden ? 404 : PROBLEMS[reason].status;
  const detail = isHidden ? "There is no such operation." : describeRefusal(refused);
  const problem = {
    type: "about:blank",
    title: TITLES[status],
    status,
    detail,
    code: reason,
  } as const;
  if (reason !== "scope_insufficient") return problem;
  return { ...problem, required_scopes: required, missing_scopes: missing };
}
