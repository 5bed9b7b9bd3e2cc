import { compact } from "../runtime/compact.ts";
import { printable, withoutTokens } from "../runtime/printable.ts";
import { readJsonSegment } from "./jwt-parts.ts";

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

/** Reads what a token claims; `undefined` if nothing can be read. */
export function readClaimed(token: string): ClaimedToken | undefined {
  const [header = "", payload = "", signature] = token.split(".", 3);
  // Other strings aren't parsed: that would cost more than the refusal.
  if (signature === undefined) return undefined;
  const { alg, kid } = { ...readJsonSegment(header) };
  const { iss } = { ...readJsonSegment(payload) };
  const claimed = compact({ alg: showClaim(alg), kid: showClaim(kid), iss: showClaim(iss) });
  return Object.keys(claimed).length === 0 ? undefined : Object.freeze(claimed);
}

const showClaim = (value: unknown): string | undefined =>
  typeof value === "string" ? withoutTokens(printable(value.slice(0, MAX_LENGTH))) : undefined;
