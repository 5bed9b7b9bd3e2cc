/** What a resource server can do. */
import type { Health } from "./health.ts";
import type { KeySourceStatus } from "./keys/key-event.ts";
import type { Resource } from "./options/resource.ts";
import type { Decision, Refused } from "./policy/decision.ts";
import type { Rule } from "./policy/rule.ts";
import type { AccessRequest } from "./request.ts";
import type { Refusal } from "./response/refusal.ts";
import type { Principal } from "./token/principal.ts";
import type { RevocationOptions, RevocationTarget } from "./token/revocation.ts";

/** Decides for every request who is calling and whether they may call this route (RFC 6749 section 1.1). */
export interface ResourceServer {
  /**
   * Decides one request. It never throws because of client input: a refusal is a value.
   * @throws TypeError for a request without a target
   */
  check(request: AccessRequest): Promise<Decision>;
  /**
   * Verifies one token. It doesn't use the table. @throws TokenRejectedError when the token isn't accepted
   * @throws KeysUnavailableError when the token can't be checked
   */
  authenticate(token: string): Promise<Principal>;
  /**
   * Decides by the table alone, for a known caller. A path that isn't spelled as in the table is refused. It
   * verifies no token and calls no hook.
   */
  authorize(principal: Principal, method: string, path: string): Decision;
  /**
   * Returns the response for a refusal: status, headers and body. The object is shared, so don't change it.
   * @throws TypeError for anything else, such as a promise that wasn't awaited, or a decision that allows
   */
  refuse(refused: Refused): Refusal;
  /**
   * Decides whether an allowed caller also holds all of these scopes, and calls `onDecision`; `requireScopes`
   * of the adapters uses it. `<name>` is a property of `request.params`. A refusal is returned unchanged.
   * @throws ConfigurationError for a scope that no token can be granted
   * @throws Error on a public route, where no token is read, and for a parameter that the request lacks
   */
  checkScopes(decision: Decision, scopes: readonly string[], request: AccessRequest): Decision;
  /** The identity of this server for OAuth clients (RFC 9728); `undefined` without the option `resource`. */
  readonly resource: Resource | undefined;
  /** The effective table: the rules of both options with their sources. */
  readonly routes: readonly Rule[];
  /**
   * Loads and imports all keys now, and writes a probe to the stores of `revocation` and DPoP proofs (with
   * `readOnly`, only reads), so that a service without them fails at startup. Fresh remote key sets aren't
   * fetched again, and issuers of `issuersFrom` aren't asked. Of several issuers, one whose keys are fetched
   * is enough, unless `all` is true: `health` names the others.
   * @throws KeysUnavailableError that lists every failed source and its cause
   */
  ready(options?: { readonly readOnly?: boolean; readonly all?: boolean }): Promise<void>;
  /** The current state of each key source, with its issuer. Times are `Date`s. No source is read. */
  readonly keys: readonly KeySourceStatus[];
  /**
   * Returns whether this server can decide requests now, for readiness probes. It doesn't read or fetch keys.
   * Respond with 503 only for `unavailable`: with `degraded`, requests are still decided.
   */
  health(): Health;
  /**
   * Revokes a token, or all tokens of a session, a user, a client or an issuer, in every process that shares
   * the store of the option `revocation`. This process refuses them at once, including remembered tokens.
   * @throws TypeError for a target that names nothing or several things, and without the option `revocation`
   * @throws RangeError if the revocation would be forgotten before the tokens expire
   * @throws TokenRejectedError for a `token` that isn't accepted anyway
   * @throws Error if the store doesn't confirm it; calling `revoke` again is safe
   */
  revoke(target: RevocationTarget, options?: RevocationOptions): Promise<void>;
  /**
   * Withdraws the revocation of the same target. It doesn't withdraw another revocation that includes the
   * same tokens, such as one for another `issuer`. Returns whether there was one.
   * @throws TypeError for a target that names nothing or several things, and without the option `revocation`
   * @throws TokenRejectedError for a `token` that isn't accepted anyway
   * @throws Error if the store doesn't confirm it
   */
  unrevoke(target: RevocationTarget): Promise<boolean>;
  /**
   * Loads all keys again now, for example after a key was withdrawn: remote key sets are fetched even if they
   * are fresh. The last good keys of a source that fails stay in use for `staleMs`. @throws
   * KeysUnavailableError that lists every failed source and its cause
   */
  refreshKeys(): Promise<void>;
  /** Stops background work: remote key sets are no longer refreshed. The process can exit without it. */
  close(): Promise<void>;
}
