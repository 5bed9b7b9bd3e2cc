import { compact } from "../runtime/compact.ts";
import { printable, withoutTokens } from "../runtime/printable.ts";
import { MAX_HEADER_LENGTH, readJsonSegment } from "./jwt-parts.ts";

/**
 * What a rejected token claims. Nothing is verified: anyone can write such a token. Each value is cut to 200
 * characters. Control characters are replaced with `?`, and tokens with `[token]`.
 */
export interface ClaimedToken {
  /** The `alg` of the header. */
  readonly alg?: string;
  /** The `kid` of the header. */
  readonly kid?: string;
  /** The `iss` claim. */
  readonly iss?: string;
}

const MAX_LENGTH = 200;

/**
 * Adds `claimed` to the refusal of a token in the form of a JWT. It's read when somebody needs it, because
 * parsing a long token takes longer than refusing it.
 */
export function withClaimed<Refusal extends object>(refused: Refusal, token: string): Refusal {
  const [header = "", payload = "", signature] = token.split(".", 3);
  if (signature === undefined || header.length > MAX_HEADER_LENGTH) return refused;
  let claimed: ClaimedToken | undefined;
  return Object.freeze({
    ...refused,
    get claimed() {
      return (claimed ??= readClaimed(header, payload));
    },
  });
}

/** Reads what a token claims; `undefined` if nothing can be read. */
function readClaimed(header: string, payload: string): ClaimedToken | undefined {
  const { alg, kid } = { ...readJsonSegment(header) };
  const { iss } = { ...readJsonSegment(payload) };
  const claimed = compact({ alg: showClaim(alg), kid: showClaim(kid), iss: showClaim(iss) });
  return Object.keys(claimed).length === 0 ? undefined : Object.freeze(claimed);
}

const showClaim = (value: unknown): string | undefined =>
  typeof value === "string" ? withoutTokens(printable(value.slice(0, MAX_LENGTH))) : undefined;
