import { type Refused } from "../policy/decision.ts";
import { type Challenge, renderChallenge } from "./challenge.ts";
import { createProblem, describeRefusal, type Problem } from "./problem.ts";

/** A refusal as an HTTP response, for an adapter to send as it is. */
export interface Refusal {
  /** 400, 401, 403 or 503. */
  readonly status: number;
  /** To be sent as they are, the challenge among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** To be sent as JSON. */
  readonly body: Problem;
}

/** What a server says of itself in its challenges. */
export interface ChallengeRules {
  readonly realm: string | undefined;
  readonly resourceMetadataUrl: string | undefined;
}

/** How long a client waits before it asks again after a 503, in seconds. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Makes the responses of a server. Those that depend on nothing but the reason are made once, and frozen: a flood of bad
 * tokens is answered with the same object.
 */
export function createRefuser(rules: ChallengeRules): (refused: Refused) => Refusal {
  const made = new Map<string, Refusal>();
  return (refused) => {
    if (typeof (refused as Partial<Refused>).reason !== "string") throw noRefusal(refused);
    if (refused.reason === "scope_insufficient") return createRefusal(refused, rules);
    const name = `${refused.reason} ${refused.rejection ?? ""}`;
    const known = made.get(name);
    if (known) return known;
    const { status, headers, body } = createRefusal(refused, rules);
    const refusal = Object.freeze({ status, headers: Object.freeze(headers), body: Object.freeze(body) });
    made.set(name, refusal);
    return refusal;
  };
}

/** Programs that are not compiled may hand over the promise of `check`, or a decision that allows. */
const noRefusal = (given: object): TypeError =>
  new TypeError(
    "then" in given
      ? "refuse takes a decision and was given a promise: write server.refuse(await server.check(request))."
      : "refuse takes a decision that refuses: write if (!decision.allowed) server.refuse(decision).",
  );

/** The response for a refusal: status, `WWW-Authenticate` where one is due, and the problem. */
export function createRefusal(refused: Refused, rules: ChallengeRules): Refusal {
  const body = createProblem(refused);
  const challenge = createChallenge(refused, rules);
  return {
    status: body.status,
    headers: {
      "Content-Type": "application/problem+json",
      // A refusal belongs to one caller and one moment; a shared cache must not answer others with it.
      "Cache-Control": "no-store",
      ...(challenge && { "WWW-Authenticate": renderChallenge(challenge) }),
      ...(refused.reason === "keys_unavailable" && { "Retry-After": String(RETRY_AFTER_SECONDS) }),
    },
    body,
  };
}

/** RFC 6750 section 3.1: without credentials a bare challenge, and none where another token would not help. */
function createChallenge(refused: Refused, rules: ChallengeRules): Challenge | undefined {
  const errorDescription = describeRefusal(refused);
  switch (refused.reason) {
    case "credential_missing":
      return rules;
    case "request_ambiguous":
    case "credential_malformed":
      return { error: "invalid_request", errorDescription, ...rules };
    case "token_rejected":
      return { error: "invalid_token", errorDescription, ...rules };
    case "scope_insufficient":
      return { error: "insufficient_scope", errorDescription, scopes: refused.required, ...rules };
    case "route_unmapped":
    case "keys_unavailable":
      return undefined;
  }
}
