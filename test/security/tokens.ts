/** Every hostile and honest token in one table, and what runs it. */
import { ConfigurationError, createResourceServer, type ResourceServer, TokenRejectedError } from "scopegate";
import { ALGORITHM_CASES } from "./tokens/algorithms.ts";
import { CLAIM_CASES } from "./tokens/claims.ts";
import { NOW, pemOf, type TokenCase } from "./tokens/forge.ts";
import { FORM_CASES } from "./tokens/form.ts";
import { KEY_CASES } from "./tokens/keys.ts";

export { type TokenCase } from "./tokens/forge.ts";

export const TOKEN_CASES: Readonly<Record<string, readonly TokenCase[]>> = {
  algorithms: ALGORITHM_CASES,
  keys: KEY_CASES,
  form: FORM_CASES,
  claims: CLAIM_CASES,
};

/** The verdict of a server on a token: `accepted`, its rejection, or the code of the mistake in the server's options. */
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
  for (const [name, value] of Object.entries(pollution))
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
  try {
    await server.authenticate(token);
    return "accepted";
  } catch (error) {
    if (error instanceof TokenRejectedError) return error.rejection;
    throw error;
  } finally {
    for (const name of Object.keys(pollution)) Reflect.deleteProperty(Object.prototype, name);
  }
}

export interface TokenReport {
  readonly tokens: number;
  /** The names of hostile tokens that were let in. */
  readonly falseAccepts: readonly string[];
  /** The names of honest tokens that were refused. */
  readonly falseRejects: readonly string[];
}

/** Runs the whole table. */
export async function runTokens(): Promise<TokenReport> {
  const cases = Object.values(TOKEN_CASES).flat();
  const [falseAccepts, falseRejects]: [string[], string[]] = [[], []];
  for (const one of cases) {
    const isAccepted = (await verdictOf(one)) === "accepted";
    if (isAccepted && one.expected !== "accepted") falseAccepts.push(one.name);
    if (!isAccepted && one.expected === "accepted") falseRejects.push(one.name);
  }
  return { tokens: cases.length, falseAccepts, falseRejects };
}
