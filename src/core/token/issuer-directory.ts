/** The issuers of one server, and how issuers are found at run time. */
import type { KeySourceStatus } from "../keys/key-event.ts";
import type { KeyResolver } from "../keys/verification-key.ts";
import type { Pending } from "../runtime/pending.ts";
import type { Principal, PrincipalRules } from "./principal.ts";
import type { RejectedToken, UncheckedToken } from "./rejection.ts";
import type { TokenRules, TokenVerifier } from "./verifier.ts";

/** The keys of one issuer, and the rules for its tokens. */
export interface IssuerConfiguration {
  readonly keys: KeyResolver;
  readonly token: TokenRules;
  readonly principal: Omit<PrincipalRules, keyof SharedRules | "limitScopes">;
  /** The most that it can grant; `undefined` for no limit. */
  readonly ceiling?: readonly string[] | undefined;
}

/** The rules that the principals of all issuers share. */
export type SharedRules = Pick<PrincipalRules, "scopeRules" | "keyProofs">;

/** Verifies the tokens of one issuer. */
export interface IssuerVerifier {
  readonly kind: "verifier";
  readonly keys: KeyResolver;
  readonly verify: TokenVerifier;
  readonly principal: PrincipalRules;
}

/** The issuers that are found for one server. */
export interface IssuerDirectory {
  /** Finds the verifier for the exact `iss` of a token whose form is right. */
  readonly find: (issuer: string) => Pending<IssuerVerifier | RejectedToken | UncheckedToken>;
  /** Returns the configuration that accepted a principal, even if it was removed or replaced since. */
  readonly configurationOf: (principal: Principal) => IssuerConfiguration | undefined;
  /** Returns whether the configuration that accepted a principal still holds. Rejects if that's unknown. */
  readonly isCurrent: (principal: Principal) => Promise<boolean>;
  /** The configurations in use. */
  readonly configurations: () => readonly IssuerConfiguration[];
  /** The largest `clockToleranceSeconds` that a record can have. */
  readonly maxToleranceSeconds: number;
  readonly status: () => KeySourceStatus;
  readonly close: () => void;
}

/** The issuers of a server: those of its options, or those that are found. */
export interface ResolvedIssuers {
  readonly configurations: readonly IssuerConfiguration[];
  readonly selectByIssuer: boolean;
  readonly directory?: IssuerDirectory | undefined;
}
