import { type Refused } from "../policy/decision.ts";

/** The body of a refusal (RFC 9457). Its wording is fixed: no input of the client, no error message. */
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
  /** The required scopes that the token does not grant. */
  readonly missing_scopes?: readonly string[];
}

/** The status, the name of the status, and the description for each reason. */
const ANSWERS = {
  request_ambiguous: [400, "Bad Request", "The request can be read in more than one way."],
  credential_missing: [401, "Unauthorized", "The request carries no bearer token."],
  credential_malformed: [
    400,
    "Bad Request",
    "The request must carry one bearer token, in the syntax of RFC 6750.",
  ],
  token_rejected: [401, "Unauthorized", "The access token is not accepted."],
  scope_insufficient: [
    403,
    "Forbidden",
    "The access token does not grant the scopes that this operation needs.",
  ],
  route_unmapped: [403, "Forbidden", "No rule allows access to this operation."],
  keys_unavailable: [503, "Service Unavailable", "The access token cannot be checked at the moment."],
} as const;

/** Only what the client can fix: more detail would help an attacker who tries tokens. */
const REJECTIONS: Partial<Record<NonNullable<Refused["rejection"]>, string>> = {
  too_large: "The access token is too large.",
  expired: "The access token has expired.",
  not_yet_valid: "The access token is not valid yet.",
  audience: "The access token is meant for another service.",
};

/** Returns the fixed description of a refusal, also for `error_description` of the challenge. */
export function describeRefusal({ reason, rejection }: Refused): string {
  return (rejection && REJECTIONS[rejection]) ?? ANSWERS[reason][2];
}

const NOT_FOUND = { title: "Not Found", status: 404, detail: "There is no such operation." } as const;

/** Creates the body of a refusal. `unmappedStatus` is the status for a route without a rule. */
export function createProblem(refused: Refused, unmappedStatus: 403 | 404 = 403): Problem {
  const { reason, required, missing, isOperation } = refused;
  const [status, title] = ANSWERS[reason];
  const isHidden = reason === "route_unmapped" && unmappedStatus === 404 && !isOperation;
  return {
    type: "about:blank",
    ...(isHidden ? NOT_FOUND : { title, status, detail: describeRefusal(refused) }),
    code: reason,
    ...(reason === "scope_insufficient" && { required_scopes: required, missing_scopes: missing }),
  };
}
