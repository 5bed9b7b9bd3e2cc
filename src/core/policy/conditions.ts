/** What a rule requires of its caller in addition to scopes: how it's written in the table, and compiled. */
import type { Capability } from "../capability.ts";
import type { RequiredScope } from "../scopes/required-scope.ts";
import type { ClaimSource, TenantSource } from "../token/claim-values.ts";
import type { Principal } from "../token/principal.ts";
import type { Pattern } from "./pattern.ts";

/** A value of the option `conditions`: `callerConditions()` of `scopegate/conditions`. */
export interface CallerConditions extends Capability {
  readonly option: "conditions";
}

/** What a parameter is compared with: a claim, or the tenant of the issuer. */
export type WhereSource = ClaimSource | TenantSource;

/** What each parameter must be equal to; with several issuers, an array with one claim for each. */
export type Where = Readonly<Record<string, WhereSource | readonly WhereSource[]>>;

/**
 * `"none"`: nobody acts for the user. `"any"`: somebody does. `anyOf`: only these actors and, with `direct`,
 * the user itself.
 */
export type Actors = "none" | "any" | { readonly anyOf: readonly string[]; readonly direct?: boolean };

/** The authentication context classes that are enough. */
export interface Acr {
  readonly anyOf: readonly string[];
}

/** Scopes that lift `where`, `actors` and `clients`, for every method or only for some. */
export type Unless =
  readonly string[] | { readonly scopes: readonly string[]; readonly methods?: readonly string[] };

/** What a rule requires of its caller in addition to its scopes. Conditions also apply to narrower rules. */
export interface Conditions {
  /**
   * Scopes that narrower rules need too: `["admin:use"]`. A caller needs all of them, and the scopes of the
   * rule that decides. Like other scopes, they can contain a `<parameter>` of the path.
   */
  readonly also?: readonly string[];
  /**
   * The claim that each parameter of the path must be equal to: `{ org: { claim: "org_id" } }`. A claim can
   * be a string, a safe integer, or an array of them. `{ org: { tenant: true } }` is the `tenant` of the
   * token's issuer. If two parameters are each one of several values of
   * their claims, the request is refused, because it isn't known that the two belong together.
   */
  readonly where?: Where;
  /**
   * Who must act for the user (RFC 8693): `"none"`, `"any"` actor, or `{ anyOf: ["agent-1"] }` for the `sub`
   * of the outermost actor. With `direct: true`, tokens without an actor are allowed as well.
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
  /**
   * Scopes with which a caller may ignore `where`, `actors` and `clients`, and no other condition. `methods`
   * limits it: `{ scopes: ["orgs:cross"], methods: ["GET"] }`. `GET` includes HEAD. The admin scope counts
   * only if it's listed. Default of `methods`: every method.
   */
  readonly unless?: Unless;
  /** The keys of rules that these conditions don't apply to: `["GET /orgs/:org/logo"]`. */
  readonly except?: readonly string[];
}

/** The conditions, in the order in which they are checked. */
export type ConditionName =
  "where" | "actors" | "clients" | "senderConstrained" | "acr" | "maxAuthAgeSeconds";

/** Why a caller that doesn't meet a condition is refused. */
export type ConditionReason = "caller_not_allowed" | "proof_missing" | "authentication_insufficient";

/** When a request is decided. */
export interface Moment {
  /** Seconds since the epoch. */
  readonly nowSeconds: number;
  /** The tolerated clock difference of the issuer, in seconds. */
  readonly toleranceSeconds: number;
  /** The most that the issuer can grant; `undefined` for no limit. */
  readonly ceiling?: readonly string[] | undefined;
}

/** Everything that a condition may depend on. */
export interface ConditionCaller {
  readonly principal: Principal;
  /** The decoded value of a route parameter, or of an argument; empty if there is none. */
  readonly parameter: (name: string) => string;
  readonly moment: Moment;
}

/** A parameter whose value is one of several values of a claim. */
export interface AmbiguousBinding {
  readonly parameter: string;
  readonly value: string;
  /** The path of the claim, as a string. */
  readonly claim: string;
}

/** One condition of a rule, compiled. */
export interface CompiledCondition {
  readonly name: ConditionName;
  /** `authentication_insufficient` if the user can satisfy it by logging in again (RFC 9470). */
  readonly reason: ConditionReason;
  readonly isMet: (caller: ConditionCaller) => boolean;
  /** For a caller that meets the condition: parameters that are only one of several values of a claim. */
  readonly findAmbiguous?: (caller: ConditionCaller) => readonly AmbiguousBinding[];
  /** The parameters that the condition binds to a claim. */
  readonly boundParameters?: readonly string[];
  /**
   * Whether it compares the tenant of the issuer, so that `unless` needs a scope that the issuer may grant.
   */
  readonly readsTenant?: boolean;
  /** For the challenge: one of these values is needed. */
  readonly acrValues?: readonly string[];
  /** For the challenge: the maximum age of the login. */
  readonly maxAgeSeconds?: number;
}

/** The scopes with which a caller may ignore `where`, `actors` and `clients`; none if no caller may. */
export interface CompiledUnless {
  readonly scopes: readonly RequiredScope[];
  /** Absent for every method. */
  readonly methods?: readonly string[] | undefined;
}

/** The conditions of one rule, compiled. */
export interface CompiledConditions {
  /** As they were written: a frozen copy. */
  readonly written: Conditions;
  /** Each of them in words. */
  readonly described: readonly string[];
  /** In the order in which they are checked. */
  readonly all: readonly CompiledCondition[];
  /** The scopes of `also`: all of them are needed. */
  readonly also: { readonly kind: "allOf"; readonly scopes: readonly RequiredScope[] };
  readonly unless: CompiledUnless;
  /** All scopes that the conditions name. */
  readonly scopes: readonly RequiredScope[];
  /** The routes of the rules that the conditions don't apply to, by `ruleIdentity`. */
  readonly except: ReadonlySet<string>;
  /** The parameters of the request that the conditions read. */
  readonly parameters: readonly string[];
  /** Returns whether another rule lacks a condition, has a wider one, or makes another exception. */
  readonly areWeakenedBy: (replacing: ConditionedRule) => boolean;
}

/** The part of a rule that its conditions depend on. */
export interface ConditionedRule {
  readonly pattern: Pattern;
  readonly conditions?: CompiledConditions | undefined;
}
