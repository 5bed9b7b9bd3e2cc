import { KeysUnavailableError } from "../errors.ts";
import type { KeySourceStatus } from "../keys/key-event.ts";
import type { KeyResolver } from "../keys/verification-key.ts";
import { claimAt } from "./claim-path.ts";
import { type JwtParts, readJsonSegment } from "./jwt-parts.ts";
import type { Principal, PrincipalRules } from "./principal.ts";
import { type RejectedToken, rejectToken } from "./rejection.ts";
import { createTokenVerifier, type TokenRules, type TokenVerifier } from "./verifier.ts";

/** The keys of one issuer, and the rules for its tokens. */
export interface IssuerConfiguration {
  readonly keys: KeyResolver;
  readonly token: TokenRules;
  readonly principal: Omit<PrincipalRules, keyof SharedRules>;
}

/** The rules that the principals of all issuers share. */
export type SharedRules = Pick<PrincipalRules, "scopeRules" | "keyProofs">;

interface IssuerVerifier {
  readonly kind: "verifier";
  readonly keys: KeyResolver;
  readonly verify: TokenVerifier;
  readonly principal: PrincipalRules;
}

/** All issuers whose tokens are accepted. */
export type Issuers = ReturnType<typeof createIssuers>;

/**
 * Combines the configured issuers. With `selectByIssuer`, the unverified `iss` of a token selects an issuer.
 * Its verifier then checks the whole token, including `iss`, so its keys can't sign tokens of another issuer.
 */
export function createIssuers(
  configurations: readonly IssuerConfiguration[],
  selectByIssuer: boolean,
  shared: SharedRules,
) {
  const verifiers = configurations.map(({ keys, token, principal }): IssuerVerifier => ({
    kind: "verifier",
    keys,
    verify: createTokenVerifier(token, keys),
    // A copy, because the caller may change an array of the options later.
    principal: { ...structuredClone(principal), ...shared },
  }));
  const [firstVerifier] = verifiers;
  const byIssuer = new Map(configurations.map(({ token }, index) => [token.issuer, verifiers[index]]));
  return {
    /** Returns the verifier for a token, or the reason why no issuer accepts it. */
    verifierFor(jwt: JwtParts): IssuerVerifier | RejectedToken {
      if (firstVerifier && !selectByIssuer) return firstVerifier;
      const claims = readJsonSegment(jwt.payload);
      if (!claims) return rejectToken("malformed");
      const issuer = claimAt(claims, "iss");
      const verifier = typeof issuer === "string" ? byIssuer.get(issuer) : undefined;
      return verifier ?? rejectToken("issuer");
    },
    ready: () => loadAll(configurations, (keys) => keys.ready()),
    refresh: () => loadAll(configurations, (keys) => keys.refresh()),
    status: (): readonly KeySourceStatus[] =>
      configurations.map(({ keys, token: { issuer } }) =>
        issuer === undefined ? keys.status() : { issuer, ...keys.status() },
      ),
    close: () => {
      for (const { keys } of configurations) keys.close();
    },
  };
}

/** Returns the tolerated clock difference for a caller, in seconds. */
export function toleranceFor(
  { tokenKind, issuer }: Principal,
  configurations: readonly IssuerConfiguration[],
  serverTolerance: number,
): number {
  if (tokenKind) return serverTolerance;
  return configurationFor(issuer, configurations)?.token.clockToleranceSeconds ?? serverTolerance;
}

/** Finds the configuration of an issuer. A single issuer may be configured without a name. */
export const configurationFor = (
  issuer: string | undefined,
  configurations: readonly IssuerConfiguration[],
): IssuerConfiguration | undefined =>
  configurations.length === 1
    ? configurations[0]
    : configurations.find(({ token }) => token.issuer === issuer);

async function loadAll(
  issuers: readonly IssuerConfiguration[],
  load: (keys: KeyResolver) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(issuers.map(({ keys }) => load(keys)));
  const errors: unknown[] = [];
  const messages = ["Keys are unavailable."];
  for (const [index, result] of results.entries()) {
    if (result.status === "fulfilled") continue;
    const error: unknown = result.reason;
    const message = error instanceof Error ? error.message : "failed.";
    const issuer = issuers[index]?.token.issuer;
    errors.push(error);
    messages.push(issuer === undefined ? message : `${issuer}: ${message}`);
  }
  if (errors.length > 0) throw new KeysUnavailableError(new AggregateError(errors), messages.join(" "));
}
