import { type KeyResolver } from "../../src/keys/verification-key.ts";
import { findFormMistake, readJwt } from "../../src/token/jwt-parts.ts";
import { createTokenVerifier, type TokenRules, type Verification } from "../../src/token/verifier.ts";

/** From a token as it is sent to the verdict of one issuer's rules, with keys from a look-up alone. */
export function createVerifier(
  rules: TokenRules,
  find: KeyResolver["find"],
): (token: string) => Promise<Verification> {
  const verify = createTokenVerifier(rules, {
    find,
    holds: () => true,
    ready: () => Promise.resolve(),
    close: () => undefined,
  });
  return (token) => {
    const read = findFormMistake(token, 16_384) ?? readJwt(token);
    return read.kind === "rejected" ? Promise.resolve(read) : verify(read.jwt);
  };
}
