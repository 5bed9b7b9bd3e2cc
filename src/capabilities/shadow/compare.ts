/** Decides by the second table what the first one has decided, for the same caller. */
import { allow, type Decision, rulesOf } from "../../core/policy/decision.ts";
import { decideAnonymous, isPublic, type Policy } from "../../core/policy/policy.ts";
import type { Comparison, FindRules } from "../../core/policy/shadow.ts";
import type { AccessRequest } from "../../core/request.ts";
import { createFirstWarning } from "../../core/runtime/warn-once.ts";
import { isTokenAccepted } from "./accepted-token.ts";

export function createComparison(policy: Policy): Comparison {
  const warn = createFirstWarning();
  const unlessFault = <Result>(ask: () => Result, atFault: Result): Result => {
    try {
      return ask();
    } catch (error) {
      const cause = error instanceof Error ? error.message : "unknown";
      warn(`the table of \`shadow\` couldn't be asked: ${cause}`);
      return atFault;
    }
  };
  return {
    policy,
    compare: (decision, find, request) =>
      unlessFault<Decision["shadow"]>(() => {
        const shadow = decideByShadow(policy, decision, find, request);
        return shadow !== "undecided" && resultOf(shadow) === resultOf(decision) ? undefined : shadow;
      }, "undecided"),
    hasFurtherRules: (find, addRules) =>
      unlessFault(() => {
        const governing = find(policy);
        return addRules(governing, policy) !== governing;
      }, false),
  };
}

const resultOf = (decision: Decision): string => (decision.allowed ? "allowed" : decision.reason);

function decideByShadow(
  policy: Policy,
  decision: Decision,
  find: FindRules,
  request: AccessRequest,
): Decision | "undecided" {
  const governing = find(policy);
  const refused = policy.refuseByTable(governing);
  if (refused) return refused;
  if (isPublic(governing)) return allow(rulesOf(governing.matches));
  const { principal } = decision;
  if (isAnonymous(decision)) return decideAnonymous(governing);
  const caller = isTokenAccepted(decision) ? principal : undefined;
  // The first table may have refused other parameters of the handler, after the token was verified.
  const mayBeVerified = caller !== undefined || resultOf(decision) === "request_ambiguous";
  const ofParameters = mayBeVerified ? policy.refuseByParameters(governing, request) : undefined;
  if (ofParameters) return ofParameters;
  return caller ? policy.decideKnown(governing, caller) : "undecided";
}

/** Returns whether the request is known to have no credential. At a public rule, none was looked for. */
const isAnonymous = (decision: Decision): boolean =>
  decision.allowed
    ? decision.principal === undefined && decision.rules.some(({ requirement }) => requirement === "optional")
    : decision.reason === "credential_missing";
