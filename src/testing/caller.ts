import { type TestTokenOptions } from "./token-options.ts";
import { mistake, requireGrantable, requireNames } from "./mistakes.ts";

/** A caller whose scopes are known, and who needs no token: the table alone decides. */
export interface ScopedCaller {
  /** What it was granted. */
  readonly scopes: readonly string[];
  /** Default: `"user-1"`. */
  readonly userId?: string;
  /** Default: none. */
  readonly sessionId?: string;
  /** The claims of the principal. Default: none. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A caller who sends a token, which goes through the whole pipeline. */
export interface TokenCaller {
  /** The token, or what makes one for each request. */
  readonly token: string | (() => Promise<string>);
  /** The cookie to send it in. Default: none, it is sent as `Authorization`. */
  readonly cookie?: string;
}

/** A caller whose tokens a test issuer signs: a factory of tokens that differ in what a test says of each. */
export interface IssuedCaller {
  /** The scopes of its tokens. */
  readonly scopes: readonly string[];
  /** Whether nothing of its tokens was told to be wrong: `check` throws where a server rejects one of these. */
  readonly isGood: boolean;
  /** A token of this caller; what is given here wins. */
  readonly token: (changes?: TestTokenOptions) => Promise<string>;
  /** The cookie to send it in. Default: none, it is sent as `Authorization`. */
  readonly cookie?: string;
}

/**
 * Who calls:
 *
 * - `"anonymous"`: nobody, without a token
 * - `{ scopes }`: somebody with these, judged by the table alone. No token is made, and no hook is told.
 * - `issuer.caller({ scopes })`: somebody with a token of a test issuer, through the whole pipeline
 * - `{ token }`: whoever this token speaks for, through the whole pipeline
 */
export type TestCaller = "anonymous" | ScopedCaller | TokenCaller | IssuedCaller;

export const hasToken = (caller: TestCaller): caller is TokenCaller | IssuedCaller =>
  typeof caller === "object" && "token" in caller;

/** The scopes of a caller, as far as they are known without reading a token. */
export const scopesOf = (caller: TestCaller): readonly string[] =>
  typeof caller === "object" && "scopes" in caller ? caller.scopes : [];

/** @throws ConfigurationError for what is no caller; programs that are not compiled may give anything */
export function requireCaller(call: string, caller: TestCaller): void {
  if (caller === "anonymous") return;
  if (typeof (caller as unknown) !== "object" || (caller as unknown) === null) {
    const hint = 'Write "anonymous", { scopes }, issuer.caller({ scopes }) or { token }.';
    throw mistake([call, "caller"], "is no caller.", hint);
  }
  if ("isGood" in caller) return;
  if ("token" in caller) {
    requireNames(call, caller, ["token", "cookie"]);
    if (typeof caller.token === "string" || typeof caller.token === "function") return;
    const hint = "Await it: `{ token: await issuer.token() }`.";
    throw mistake([call, "token"], "is neither a text nor a function.", hint);
  }
  requireNames(call, caller, ["scopes", "userId", "sessionId", "claims"]);
  requireGrantable(call, caller.scopes);
}
