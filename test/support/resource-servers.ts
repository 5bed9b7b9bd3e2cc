/** Resource servers with a fixed clock, and their verdicts on options and tokens. */
import {
  agentScopeMappings,
  ConfigurationError,
  type ConfigurationIssue,
  KeysUnavailableError,
  type Rejection,
  type ResourceServer,
  TokenRejectedError,
} from "scopegate";
import { createIssuer } from "./issuer.ts";
import { createResourceServer, type ResourceServerOptions } from "./server.ts";

/** The time of every server here, in seconds since the epoch. */
export const NOW = 1_700_000_000;

export const issuer = createIssuer();

/** Creates a server with the key of `issuer` and the table of agents, unless the options contain other ones. */
export function createServer(options: Partial<ResourceServerOptions> = {}): ResourceServer {
  return createResourceServer({
    serviceId: "agents-prod",
    now: () => NOW * 1000,
    scopeMappings: agentScopeMappings,
    ...(!options.keys && !options.issuers && { verificationKeys: [issuer.publicPem] }),
    ...options,
  });
}

/** Returns whether a server with these options starts. */
export function starts(options: Partial<ResourceServerOptions>): boolean {
  try {
    createServer(options);
    return true;
  } catch (error) {
    if (error instanceof ConfigurationError) return false;
    throw error;
  }
}

/** Returns the verdict of a server on a token. Rethrows other errors. */
export async function verdictOf(
  server: ResourceServer,
  token: string,
): Promise<"accepted" | "unavailable" | Rejection> {
  try {
    await server.authenticate(token);
    return "accepted";
  } catch (error) {
    if (error instanceof TokenRejectedError) return error.rejection;
    if (error instanceof KeysUnavailableError) return "unavailable";
    throw error;
  }
}

/** Returns the error for invalid options. Throws if the options are valid. */
export function configurationErrorOf(options: unknown): ConfigurationError {
  return thrownBy(() => createResourceServer(options as ResourceServerOptions));
}

export function thrownBy(run: () => unknown): ConfigurationError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error("The configuration was accepted.");
}

/** The issues found in invalid options. */
export const issuesOf = (options: unknown): readonly ConfigurationIssue[] =>
  configurationErrorOf(options).issues;

/** The codes and paths of the mistakes for which something throws a `ConfigurationError`. */
export const mistakesOf = (run: () => unknown): readonly (readonly unknown[])[] =>
  thrownBy(run).issues.map(({ code, path }) => [code, ...path]);
