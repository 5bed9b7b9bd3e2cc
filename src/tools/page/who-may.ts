/** Whether a caller may use a rule: always, never, or only for some ids or under conditions. */
import type { Decision } from "../../core/policy/decision.ts";
import { describeConditions } from "../../core/policy/conditions/conditions.ts";
import { decideAnonymous, type Policy } from "../../core/policy/policy.ts";
import { templatesOf } from "../../core/policy/requirement.ts";
import { UNRESTRICTED } from "../../core/policy/restrictions.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import { splitScope } from "../../core/scopes/scope.ts";
import type { Principal } from "../../core/token/principal.ts";
import { sampleMethodOf, samplePathOf } from "../shared/sample-path.ts";

type Ids = ReadonlyMap<string, string>;

export function whoMay(policy: Policy, compiled: CompiledRule, caller: Principal | undefined) {
  const decideFor = (ids: Ids): Decision => {
    const parameter = (name: string) => ids.get(name) ?? `<${name}>`;
    const rules = compiled.beside ? [compiled, compiled.beside] : [compiled];
    const matches = rules.map((rule) => ({ compiled: rule, parameter }));
    const match = { kind: "rules", matches, restrictions: UNRESTRICTED } as const;
    return caller ? policy.decideKnown(match, caller) : decideAnonymous(match);
  };
  const decision = decideFor(new Map());
  const conditions = caller ? conditionsAt(policy, compiled) : [];
  if (decision.allowed && conditions.length > 0)
    return { state: "some", why: `${describe(decision)}, and ${conditions.join("; ")}` } as const;
  if (decision.allowed) return { state: "yes", why: describe(decision) } as const;
  const allowedIds = idsToTry(compiled, caller?.scopes ?? []).filter((ids) => decideFor(ids).allowed);
  if (allowedIds.length === 0) return { state: "no", why: describe(decision) } as const;
  const named = allowedIds.map((ids) => [...ids].map((pair) => pair.join(" = ")).join(", "));
  return {
    state: "some",
    why: [`if ${named.slice(0, 3).join(" or ")}${named.length > 3 ? " or …" : ""}`, ...conditions].join("; "),
  } as const;
}

/** Describes the conditions of all rules that match a path of this rule. They depend on the request. */
function conditionsAt(policy: Policy, rule: CompiledRule): readonly string[] {
  if (rule.pattern.operation) return [];
  const governing = policy.find({ method: sampleMethodOf(rule), target: samplePathOf(rule) }, false);
  const { active } = governing.restrictions();
  return active.flatMap(({ compiled }) => describeConditions(compiled.rule.conditions));
}

/** Returns the ids in granted scopes, for each parameter; at most 1,000 combinations. */
function idsToTry({ requirement }: CompiledRule, granted: readonly string[]): readonly Ids[] {
  const candidates = new Map<string, string[]>();
  const grantedIds = granted
    .map(splitScope)
    .flatMap(([, id, ...rest]) => (rest.length === 1 ? (id ?? []) : []));
  for (const name of templatesOf(requirement)) candidates.set(name, [...new Set(grantedIds)]);
  const add = (all: readonly Ids[], [name, ids]: [string, string[]]) =>
    all.flatMap((combination) => ids.map((id) => new Map([...combination, [name, id]]))).slice(0, 1000);
  return [...candidates].reduce<readonly Ids[]>(add, [new Map()]);
}

function describe(decision: Decision): string {
  const { satisfied, missing, rule } = decision;
  const isAnyOf = "anyOf" in (Object(rule?.requirement) as object);
  const reported = decision.allowed ? "only reported: " : "";
  if (missing.length > 0) return `${reported}missing ${isAnyOf ? "one of " : ""}${missing.join(" ")}`;
  if (!decision.allowed) return "no token";
  return satisfied.map(({ granted, by }) => `${granted} (${by})`).join(", ") || "no scope needed";
}
