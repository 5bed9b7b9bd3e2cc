import type { Rejection } from "../errors.ts";
import type { RequiredScope } from "../scopes/required-scope.ts";
import type { Satisfaction, ScopeRules } from "../scopes/granted-scopes.ts";
import type { TokenBinding } from "../token/confirmation.ts";
import type { ProofRejection } from "../token/proof.ts";
import type { ClaimedToken } from "../token/unverified-claims.ts";
import { grantedScopesOf } from "../scopes/scope-sets.ts";
import type { Principal } from "../token/principal.ts";
import type { ConditionName } from "./conditions.ts";
import type { Rule, RuleMatch } from "./rule.ts";
import { describeSatisfaction, type RequirementResult } from "./satisfaction.ts";

/** Why a request was refused. Each reason is stable and has one status. */
export type RefusalReason =
  | "request_ambiguous"
  | "credential_missing"
  | "credential_malformed"
  | "token_rejected"
  | "scope_insufficient"
  | "caller_not_allowed"
  | "proof_missing"
  | "proof_rejected"
  | "authentication_insufficient"
  | "route_unmapped"
  | "keys_unavailable";

/** What every decision reports. */
export interface DecisionFacts {
  /** The rule that decided; absent where the table has none, or the path couldn't be read. */
  readonly rule?: Rule;
  /**
   * Every rule that the request had to satisfy: the rules for its path and for the matched route, and wider
   * rules whose conditions apply to it.
   */
  readonly rules: readonly Rule[];
  /**
   * The caller; absent if no token was read or accepted. For a revoked token, and for a token without the
   * proof of its key, the caller that it was issued to.
   */
  readonly principal?: Principal;
  /** The required scopes, with route parameters filled in; for `anyOf`, each of the alternatives. */
  readonly required: readonly string[];
  /** The scopes of the caller: those of the token, and those of `grants`. */
  readonly granted: readonly string[];
  /** The required scopes that no granted scope covers. Empty for an `anyOf` that is satisfied. */
  readonly missing: readonly string[];
  /** Which granted scope satisfied which required scope, and how. */
  readonly satisfied: readonly Satisfaction[];
  /**
   * The decision of the table of `shadow`, if it allows what this one refuses, refuses what this one allows,
   * or refuses for another reason; `"undecided"` if it would need a caller, and none is known. For logs; it
   * never changes the response.
   */
  readonly shadow?: Decision | "undecided";
}

/** An allowed request. */
export interface Allowed extends DecisionFacts {
  /** The request is allowed. */
  readonly allowed: true;
}

/** A refused request, and the reason. */
export interface Refused extends DecisionFacts {
  /** The request is refused. Send the response of `server.refuse(decision)`. */
  readonly allowed: false;
  /** Why the request is refused. It determines the status of the response. */
  readonly reason: RefusalReason;
  /** `true` if an operation of MCP, rather than a path, has no rule. */
  readonly isOperation?: true;
  /**
   * The condition that the caller doesn't meet, when the reason is `caller_not_allowed`, `proof_missing` or
   * `authentication_insufficient`. For logs; never part of the response.
   */
  readonly condition?: ConditionName;
  /** With `authentication_insufficient`: the values of `acr` that would be enough (RFC 9470). */
  readonly acrValues?: readonly string[];
  /** With `authentication_insufficient`: how old the login may be, in seconds (RFC 9470). */
  readonly maxAgeSeconds?: number;
  /**
   * With `scope_insufficient` and `authentication_insufficient`: granted scopes that the challenge also
   * contains. MCP clients request only the scopes of the challenge, and would lose all others.
   */
  readonly retained?: readonly string[];
  /**
   * The URL of the metadata of the resource that the request is for (RFC 9728), if `resource.id` has
   * parameters.
   */
  readonly resourceMetadataUrl?: string;
  /** What was wrong with the proof, when the reason is `proof_rejected`. For logs. */
  readonly proofRejection?: ProofRejection;
  /**
   * With `proof_missing` and `proof_rejected`: how the token is bound to a key of the client. Absent for a
   * token that is bound to none.
   */
  readonly binding?: TokenBinding;
  /** `DPoP` if the request had a token with this scheme. */
  readonly scheme?: "DPoP";
  /** What was wrong with the token, when the reason is `token_rejected`. */
  readonly rejection?: Rejection;
  /** The missing or wrong claim, when the rejection is `claims`. For logs; never part of the response. */
  readonly claim?: string;
  /** The error that caused `keys_unavailable`, or a sentence that explains the reason. For logs only. */
  readonly cause?: unknown;
  /** The unverified `alg`, `kid` and `iss` of a rejected token. For logs; never part of the response. */
  readonly claimed?: ClaimedToken;
  /** The `Retry-After` of `keys_unavailable`: in how many seconds the keys are fetched again, at least 1. */
  readonly retryAfterSeconds?: number;
}

/** The result that adapters, logs, hooks, tests and `explain` use. A refusal is a value, never thrown. */
export type Decision = Allowed | Refused;

const NOTHING: readonly never[] = Object.freeze([]);

type ScopeFacts = Pick<DecisionFacts, "required" | "missing" | "satisfied">;

const NO_SCOPES: ScopeFacts = { required: NOTHING, missing: NOTHING, satisfied: NOTHING };

/** Creates what every decision reports. */
export function createFacts(
  rules: readonly Rule[],
  principal?: Principal,
  { required, missing, satisfied } = NO_SCOPES,
  rule = rules[0],
): DecisionFacts {
  for (const scopes of [required, missing, satisfied]) Object.freeze(scopes);
  const granted = principal?.scopes ?? NOTHING;
  // The usual decision is one literal, because V8 takes a microsecond for a spread that adds a property.
  if (rule && principal) return { rules, required, granted, missing, satisfied, rule, principal };
  const facts = { rules, required, granted, missing, satisfied };
  // Not an assignment, which a polluted prototype could prevent.
  const factsWithRule = rule ? { ...facts, rule } : facts;
  return principal ? { ...factsWithRule, principal } : factsWithRule;
}

/** Returns a decision that also says what the table of `shadow` decides. */
export const withShadow = <Made extends Decision>(decision: Made, shadow: Decision["shadow"]): Made =>
  shadow === undefined ? decision : Object.freeze({ ...decision, shadow });

type RefusalFacts = Omit<Refused, keyof Allowed | "reason"> & Pick<Refused, "principal">;

/** Refuses a request for a reason other than scopes. */
export const refuse = (
  reason: RefusalReason,
  rules: readonly Rule[] = NOTHING,
  facts: RefusalFacts = {},
): Refused =>
  Object.freeze({ ...createFacts(rules, facts.principal), ...facts, allowed: false as const, reason });

/** Allows a request whose rules require no scope. */
export const allow = (rules: readonly Rule[] = NOTHING, principal?: Principal): Allowed =>
  Object.freeze({ allowed: true, ...createFacts(rules, principal) });

/** Decides by the scopes of every rule. A refusal names the scopes of all of them. */
export function decideByRules(
  matches: readonly RuleMatch[],
  principal: Principal,
  scopeRules: ScopeRules,
): Decision {
  const granted = grantedScopesOf(principal, scopeRules);
  const results = matches.map(({ compiled: { requirement, rule }, parameter }) => ({
    rule,
    result: describeSatisfaction(requirement, parameter, granted),
  }));
  return decideByResults(rulesOf(matches), principal, results);
}

/** Returns the rules of matches, for a decision. */
export function rulesOf(matches: readonly RuleMatch[]): readonly Rule[] {
  const [first, second] = matches;
  return first && !second
    ? first.compiled.asList
    : Object.freeze(matches.map(({ compiled }) => compiled.rule));
}

/** Decides whether a principal holds all of the scopes that one route adds to the table. */
export function decideByScopes(
  scopes: readonly RequiredScope[],
  parameter: (name: string) => string,
  scopeRules: ScopeRules,
  facts: { readonly rules: readonly Rule[]; readonly principal: Principal },
): Decision {
  const granted = grantedScopesOf(facts.principal, scopeRules);
  const result = describeSatisfaction({ kind: "allOf", scopes }, parameter, granted);
  const { rules, principal } = facts;
  return decideByResults(rules, principal, [{ rule: rules[0], result }]);
}

/** The result of one rule. Scopes that one route adds to the table may have no rule. */
interface RuleResult {
  readonly rule: Rule | undefined;
  readonly result: RequirementResult;
}

/** Refuses if a result isn't satisfied. */
function decideByResults(
  rules: readonly Rule[],
  principal: Principal,
  results: readonly RuleResult[],
): Decision {
  const required = unique(results.flatMap(({ result }) => result.required));
  const satisfied = results.flatMap(({ result }) => result.satisfied);
  const failures = results.filter(({ result }) => !result.isSatisfied);
  const scopes = { required, missing: unique(failures.flatMap(({ result }) => result.missing)), satisfied };
  if (failures.length === 0)
    return Object.freeze({ allowed: true, ...createFacts(rules, principal, scopes) });
  const facts = createFacts(rules, principal, scopes, failures[0]?.rule);
  return Object.freeze({ allowed: false, reason: "scope_insufficient", ...facts } as const);
}

const unique = (scopes: readonly string[]): readonly string[] => [...new Set(scopes)];
