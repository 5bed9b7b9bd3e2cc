import { checkOptions } from "../../core/options/check-options.ts";
import {
  anyString,
  anyValue,
  type OptionChecks,
  optionError,
  required,
} from "../../core/options/option-checks.ts";
import { compact } from "../../core/runtime/compact.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { TestProofOptions } from "./proofs.ts";
import type { TestTokenOptions } from "./token-options.ts";
import { requireGrantable } from "./mistakes.ts";

/** A caller with scopes but without a token: only the scope table decides. */
export interface ScopedCaller {
  /** The granted scopes. */
  readonly scopes: readonly string[];
  /** Default: `"user-1"`. */
  readonly userId?: string;
  /** Default: none. */
  readonly sessionId?: string;
  /** Further claims, for conditions and handlers. Default: only `sub` and `session_id`. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The tenant of its issuer, for `{ tenant: true }`. Default: none. */
  readonly tenant?: string;
}

/** A caller with a token. */
export interface TokenCaller {
  /** The token, or a function that creates one for each request. */
  readonly token: string | (() => Promise<string>);
  /** The cookie that carries the token. Default: none, the token is sent in the `Authorization` header. */
  readonly cookie?: string;
}

/** A caller with tokens of a test issuer. */
export interface IssuedCaller extends TokenCaller {
  /** The scopes of its tokens. */
  readonly scopes: readonly string[];
  /** Whether a server of the issuer must accept its tokens. If it rejects one, `check` throws. */
  readonly isGood: boolean;
  /** Creates the proof for a request, if its tokens are bound to a key. */
  readonly proofFor: ((options: TestProofOptions) => Promise<string>) | undefined;
  /** Creates a token; `changes` override the options of the caller. */
  readonly token: (changes?: TestTokenOptions) => Promise<string>;
}

/**
 * The caller of a request:
 *
 * - `"anonymous"`: without a token
 * - `{ scopes }`: with these scopes, decided by the scope table. No token is created, and no hook is called.
 * - `issuer.caller({ scopes })`: with a token of a test issuer, which the server verifies
 * - `{ token }`: with this token, which the server verifies
 */
export type TestCaller = "anonymous" | ScopedCaller | TokenCaller | IssuedCaller;

const TOKEN_CALLER: OptionChecks<TokenCaller> = {
  token: required({
    accepts: (token) => typeof token === "string" || typeof token === "function",
    hint: "Write a string or a function. Await a promise: `{ token: await issuer.token() }`.",
  }),
  cookie: anyString,
};

const SCOPED_CALLER: OptionChecks<ScopedCaller> = {
  // `requireGrantable` checks the scopes.
  scopes: anyValue,
  userId: anyString,
  sessionId: anyString,
  claims: anyValue,
  tenant: anyString,
};

/** Returns the principal of a caller without a token. Its claims contain its user and its session. */
export function principalOf(
  server: ResourceServer,
  { scopes, userId = "user-1", sessionId, claims = {}, tenant }: ScopedCaller,
): Principal {
  const ownClaims = { sub: userId, ...compact({ session_id: sessionId }), ...claims };
  const principal = pipelineOf(server).policy.callerWith(scopes, ownClaims, tenant);
  return Object.freeze({ ...principal, userId, ...compact({ sessionId }) });
}

/** @throws ConfigurationError for an invalid caller, which untyped code may pass */
export function requireCaller(call: string, caller: TestCaller): void {
  if (caller === "anonymous") return;
  if (typeof (caller as unknown) !== "object" || (caller as unknown) === null) {
    const hint = 'Write "anonymous", { scopes }, issuer.caller({ scopes }) or { token }.';
    throw optionError([call, "caller"], "isn't a caller.", hint);
  }
  if ("isGood" in caller) return;
  if ("token" in caller) {
    checkOptions(call, caller, TOKEN_CALLER);
    return;
  }
  checkOptions(call, caller, SCOPED_CALLER);
  requireGrantable(call, caller.scopes);
}
