/** Resource servers with a clock that stands still, and what they make of options and tokens. */
import {
  ConfigurationError,
  type ConfigurationIssue,
  createResourceServer,
  KeysUnavailableError,
  type Rejection,
  type ResourceServer,
  type ResourceServerOptions,
  TokenRejectedError,
} from "scopegate";
import { createIssuer } from "./issuer.ts";

/** What the clock of every server here shows, in seconds since the epoch. */
export const NOW = 1_700_000_000;

export const issuer = createIssuer();

/** A server that trusts `issuer`, unless the options name other keys. */
export function createServer(options: Partial<ResourceServerOptions> = {}): ResourceServer {
  return createResourceServer({
    serviceId: "agents-prod",
    now: () => NOW * 1000,
    ...(!options.keys && !options.issuers && { verificationKeys: [issuer.publicPem] }),
    ...options,
  });
}

/** What a server makes of a token. A fault of the server is thrown on. */
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

/** The error that options are refused with; fails where they are accepted. */
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

/** The mistakes found in options. */
export const issuesOf = (options: unknown): readonly ConfigurationIssue[] =>
  configurationErrorOf(options).issues;
