/** How conditions are written in the table. */
import type { ClaimSource } from "../../token/claim-values.ts";

/** The claim that each parameter must be equal to; with several issuers, an array with one claim for each. */
export type Where = Readonly<Record<string, ClaimSource | readonly ClaimSource[]>>;

/** `"none"`: nobody acts for the user. An array: only these actors and, with `direct`, the user itself. */
export type Actors = "none" | { readonly anyOf: readonly string[]; readonly direct?: boolean };

/** The authentication context classes that are enough. */
export interface Acr {
  readonly anyOf: readonly string[];
}

/** What a rule requires of its caller in addition to scopes. Conditions also apply to narrower rules. */
export interface Conditions {
  /**
   * The claim that each parameter of the path must be equal to: `{ org: { claim: "org_id" } }`. A claim can
   * be a string, a safe integer, or an array of them. If two parameters are each one of several values of
   * their claims, the request is refused, because it isn't known that the two belong together.
   */
  readonly where?: Where;
  /**
   * Who may act for the user (RFC 8693): `"none"`, or `{ anyOf: ["agent-1"] }` for the `sub` of the
   * outermost actor. With `direct: true`, tokens without an actor are allowed as well.
   */
  readonly actors?: Actors;
  /** The clients that may call. Each of the claims `client_id`, `azp` and `cid` must be one of them. */
  readonly clients?: readonly string[];
  /**
   * `true`: the token is bound to a key of the client (RFC 9449, RFC 8705). Needs the option
   * `senderConstraint`.
   */
  readonly senderConstrained?: true;
  /** The values of the claim `acr` that are enough: `{ anyOf: ["urn:example:mfa"] }` (RFC 9470). */
  readonly acr?: Acr;
  /** How long ago the user may have logged in, by the claim `auth_time`, in seconds (RFC 9470). */
  readonly maxAuthAgeSeconds?: number;
  /** Scopes with which a caller may ignore these conditions. The admin scope counts only if it's listed. */
  readonly unless?: readonly string[];
  /** The keys of rules that these conditions don't apply to: `["GET /orgs/:org/logo"]`. */
  readonly except?: readonly string[];
}
