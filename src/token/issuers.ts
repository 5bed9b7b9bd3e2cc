import { KeysUnavailableError, type Rejection } from "../errors.ts";
import { type KeyResolver } from "../keys/verification-key.ts";
import { type PrincipalRules } from "./principal.ts";
import { type ScopeRules } from "../scopes/scope.ts";
import { type JwtParts, readJsonSegment } from "./jwt-parts.ts";
import { createTokenVerifier, type TokenRules, type TokenVerifier } from "./verifier.ts";

/** Whose tokens are accepted, with which keys, and how they are read. */
export interface TrustedParty {
  readonly keys: KeyResolver;
  readonly token: TokenRules;
  readonly principal: Omit<PrincipalRules, "scopeRules">;
}

/** What one party's tokens are verified and read with. */
export interface Authority {
  readonly keys: KeyResolver;
  readonly verify: TokenVerifier;
  readonly principal: PrincipalRules;
}

/** Everyone whose tokens are accepted. */
export interface Trust {
  /** Who is to verify a token, or why nobody is. */
  readonly authorityOf: (jwt: JwtParts) => Authority | Rejection;
  readonly ready: () => Promise<void>;
  readonly close: () => void;
}

/** What `aud` each server accepts, for whoever tells why a token was not. */
const AUDIENCES = new WeakMap<object, readonly string[]>();

export const audienceOf = (server: object): readonly string[] => AUDIENCES.get(server) ?? [];

export function rememberAudience(server: object, parties: readonly TrustedParty[]): void {
  const all = parties.flatMap(({ token }) => token.audience ?? []);
  AUDIENCES.set(server, [...new Set(all)]);
}

/**
 * Brings together the parties that are trusted. With `byIssuer` the `iss` that a token claims chooses one of them, and
 * nothing else: the party then verifies it, `iss` included, so that its keys vouch for no other. An issuer that is not
 * trusted is told from the token alone.
 */
export function createTrust(
  parties: readonly TrustedParty[],
  byIssuer: boolean,
  scopeRules: ScopeRules,
): Trust {
  const authorities = parties.map(({ keys, token, principal }): Authority => {
    // A copy: who made the options may change a list in them later.
    return {
      keys,
      verify: createTokenVerifier(token, keys),
      principal: { ...structuredClone(principal), scopeRules },
    };
  });
  const [only] = authorities;
  const known = new Map(parties.map(({ token }, index) => [token.issuer, authorities[index]]));
  return {
    authorityOf: (jwt) => {
      if (only && !byIssuer) return only;
      const claims = readJsonSegment(jwt.payload);
      if (!claims) return "malformed";
      const issuer = Object.hasOwn(claims, "iss") ? claims["iss"] : undefined;
      return (typeof issuer === "string" ? known.get(issuer) : undefined) ?? "issuer";
    },
    ready: () => readyAll(parties),
    close: () => {
      for (const { keys } of parties) keys.close();
    },
  };
}

async function readyAll(parties: readonly TrustedParty[]): Promise<void> {
  const answers = await Promise.allSettled(parties.map(({ keys }) => keys.ready()));
  const failures = answers.flatMap((answer, index) =>
    answer.status === "rejected"
      ? [{ issuer: parties[index]?.token.issuer, reason: answer.reason as unknown }]
      : [],
  );
  if (failures.length === 0) return;
  const reasons = failures.map(({ issuer, reason }) => {
    const why = reason instanceof Error ? reason.message : "failed.";
    return issuer === undefined ? why : `${issuer}: ${why}`;
  });
  throw new KeysUnavailableError(
    new AggregateError(failures.map(({ reason }) => reason)),
    `Keys are unavailable. ${reasons.join(" ")}`,
  );
}
