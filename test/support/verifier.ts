import type { KeyResolver } from "../../src/core/keys/verification-key.ts";
import { findFormMistake, readJwt } from "../../src/core/token/jwt-parts.ts";
import { createTokenVerifier, type TokenRules, type Verification } from "../../src/core/token/verifier.ts";

type MoreOfResolver = Pick<KeyResolver, "findNewer" | "retryAfterSeconds">;

/** A key resolver that is always ready, with the keys that `find` returns. */
export const resolverOf = (find: KeyResolver["find"], more: MoreOfResolver = {}): KeyResolver => ({
  find,
  holds: () => true,
  ready: () => Promise.resolve(),
  close: () => undefined,
  refresh: () => Promise.resolve(),
  status: () => ({ source: "test", state: "fresh", keyIds: [] }),
  ...more,
});

/** Creates a function that verifies a token by the rules of one issuer, with the keys that `find` returns. */
export function createVerifier(
  rules: TokenRules,
  find: KeyResolver["find"],
  more?: MoreOfResolver,
): (token: string) => Promise<Verification> {
  const verify = createTokenVerifier(rules, resolverOf(find, more));
  return (token) => {
    const read = findFormMistake(token, 16_384) ?? readJwt(token);
    return read.kind === "rejected" ? Promise.resolve(read) : verify(read.jwt);
  };
}
