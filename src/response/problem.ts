import { type Refused } from "../policy/decision.ts";

/** The body of a refusal (RFC 9457). Its wording is fixed: nothing that a client sent or a library said is in it. */
export interface Problem {
  /** `about:blank`: `title` is the meaning of the status, `code` tells the cases apart. */
  readonly type: "about:blank";
  /** What the status means, in words. */
  readonly title: string;
  /** The status of the response. */
  readonly status: number;
  /** What a client can be told; a fixed text. */
  readonly detail: string;
  /** The `reason` of the decision. */
  readonly code: Refused["reason"];
  /** The scopes asked for, where scopes are missing. */
  readonly required_scopes?: readonly string[];
  /** Those of them that the token does not grant. */
  readonly missing_scopes?: readonly string[];
}

/** What each reason answers: its status, what the status means, and the words for it. */
const ANSWERS = {
  request_ambiguous: [400, "Bad Request", "The path of the request can be read in more than one way."],
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

/** What a client can mend by itself is said; the rest is the same to everyone who tries. */
const REJECTIONS: Partial<Record<NonNullable<Refused["rejection"]>, string>> = {
  too_large: "The access token is too large.",
  expired: "The access token has expired.",
  not_yet_valid: "The access token is not valid yet.",
  audience: "The access token is meant for another service.",
};

/** The fixed words for a refusal; the description of the challenge uses them too. */
export function describeRefusal({ reason, rejection }: Refused): string {
  return (rejection && REJECTIONS[rejection]) ?? ANSWERS[reason][2];
}

export function createProblem(refused: Refused): Problem {
  const [status, title] = ANSWERS[refused.reason];
  const isScopes = refused.reason === "scope_insufficient";
  return {
    type: "about:blank",
    title,
    status,
    detail: describeRefusal(refused),
    code: refused.reason,
    ...(isScopes && { required_scopes: refused.required, missing_scopes: refused.missing }),
  };
}
