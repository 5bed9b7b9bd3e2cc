/** All hostile and valid tokens, and the function that verifies them. */
import { ConfigurationError, type ResourceServer, TokenRejectedError } from "scopegate";
import { createResourceServer } from "../support/server.ts";
import { ALGORITHM_CASES } from "./tokens/algorithms.ts";
import { CLAIM_CASES } from "./tokens/claims.ts";
import { NOW, pemOf, type TokenCase } from "./tokens/forge.ts";
import { FORM_CASES } from "./tokens/form.ts";
import { KEY_CASES } from "./tokens/keys.ts";
import { withPollution } from "../support/polluted-prototype.ts";

export type { TokenCase } from "./tokens/forge.ts";

export const TOKEN_CASES: Readonly<Record<string, readonly TokenCase[]>> = {
  algorithms: ALGORITHM_CASES,
  keys: KEY_CASES,
  form: FORM_CASES,
  claims: CLAIM_CASES,
};

/** Returns `accepted`, the rejection of the token, or the codes of the issues if the options are invalid. */
export async function verdictOf({ token, options = {}, pollution = {} }: TokenCase): Promise<string> {
  let server: ResourceServer;
  try {
    server = createResourceServer({
      serviceId: "agents-prod",
      now: () => NOW * 1000,
      ...(!options.keys && { verificationKeys: [pemOf("rsa")] }),
      ...options,
    });
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues.map(({ code }) => code).join(" ");
    throw error;
  }
  try {
    await withPollution(pollution, () => server.authenticate(token), { isEnumerable: false });
    return "accepted";
  } catch (error) {
    if (error instanceof TokenRejectedError) return error.rejection;
    throw error;
  }
}

export interface TokenReport {
  readonly tokens: number;
  /** The names of hostile tokens that were accepted. */
  readonly falseAccepts: readonly string[];
  /** The names of valid tokens that were rejected. */
  readonly falseRejects: readonly string[];
}

/** Verifies all tokens of the tables. */
export async function runTokens(): Promise<TokenReport> {
  const cases = Object.values(TOKEN_CASES).flat();
  const [falseAccepts, falseRejects]: [string[], string[]] = [[], []];
  for (const tokenCase of cases) {
    const isAccepted = (await verdictOf(tokenCase)) === "accepted";
    if (isAccepted && tokenCase.expected !== "accepted") falseAccepts.push(tokenCase.name);
    if (!isAccepted && tokenCase.expected === "accepted") falseRejects.push(tokenCase.name);
  }
  return { tokens: cases.length, falseAccepts, falseRejects };
}
