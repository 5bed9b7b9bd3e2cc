/** Whether a caller may use a rule: always, never, or only for some ids or under conditions. */
import { describeConditions } from "../../capabilities/conditions/conditions.ts";
import { toAlsoMatch } from "../../capabilities/conditions/restrictions.ts";
import type { Decision } from "../../core/policy/decision.ts";
import { decideAnonymous, type Policy } from "../../core/policy/policy.ts";
import { templatesOf } from "../../core/policy/requirement.ts";
import { UNRESTRICTED } from "../../core/policy/restrictions.ts";
import type { CompiledRule, Restriction } from "../../core/policy/rule.ts";
import { splitScope } from "../../core/scopes/scope.ts";
import type { Principal } from "../../core/token/principal.ts";
import { sampleMethodOf, samplePathOf } from "../shared/sample-path.ts";

type Ids = ReadonlyMap<string, string>;

export function whoMay(policy: Policy, compiled: CompiledRule, caller: Principal | undefined) {
  const restrictions = caller ? restrictionsAt(policy, compiled) : [];
  const rules = [compiled, ...restrictions.map((restriction) => toAlsoMatch(restriction).compiled)];
  const decideFor = (ids: Ids): Decision => {
    const parameter = (name: string) => ids.get(name) ?? `<${name}>`;
    const matches = rules.map((rule) => ({ compiled: rule, parameter }));
    const match = { kind: "rules", matches, restrictions: UNRESTRICTED } as const;
    return caller ? policy.decideKnown(match, caller) : decideAnonymous(match);
  };
  const decision = decideFor(new Map());
  const conditions = restrictions.flatMap(({ conditions: { written, all } }) =>
    // The decision includes `also`.
    all.length > 0 ? describeConditions({ ...written, also: [] }) : [],
  );
  if (decision.allowed && conditions.length > 0)
    return { state: "some", why: `${describe(decision)}, and ${conditions.join("; ")}` } as const;
  if (decision.allowed) return { state: "yes", why: describe(decision) } as const;
  const allowedIds = idsToTry(rules, caller?.scopes ?? []).filter((ids) => decideFor(ids).allowed);
  if (allowedIds.length === 0) return { state: "no", why: describe(decision) } as const;
  const named = allowedIds.map((ids) => [...ids].map((pair) => pair.join(" = ")).join(", "));
  return {
    state: "some",
    why: [`if ${named.slice(0, 3).join(" or ")}${named.length > 3 ? " or …" : ""}`, ...conditions].join("; "),
  } as const;
}

/** Returns the rules whose conditions apply to a path of this rule. */
function restrictionsAt(policy: Policy, rule: CompiledRule): readonly Restriction[] {
  if (rule.pattern.operation) return [];
  const governing = policy.find({ method: sampleMethodOf(rule), target: samplePathOf(rule) }, false);
  return governing.restrictions().active;
}

/** Returns the ids in granted scopes, for each parameter; at most 1,000 combinations. */
function idsToTry(rules: readonly CompiledRule[], granted: readonly string[]): readonly Ids[] {
  const candidates = new Map<string, string[]>();
  const grantedIds = granted
    .map(splitScope)
    .flatMap(([, id, ...rest]) => (rest.length === 1 ? (id ?? []) : []));
  const names = rules.flatMap(({ requirement }) => templatesOf(requirement));
  for (const name of names) candidates.set(name, [...new Set(grantedIds)]);
  const add = (all: readonly Ids[], [name, ids]: [string, string[]]) =>
    all.flatMap((combination) => ids.map((id) => new Map([...combination, [name, id]]))).slice(0, 1000);
  return [...candidates].reduce<readonly Ids[]>(add, [new Map()]);
}

function describe(decision: Decision): string {
  const { satisfied, missing, rule } = decision;
  const isAnyOf = "anyOf" in (Object(rule?.requirement) as object);
  if (missing.length > 0) return `missing ${isAnyOf ? "one of " : ""}${missing.join(" ")}`;
  if (!decision.allowed) return "no token";
  return satisfied.map(({ granted, by }) => `${granted} (${by})`).join(", ") || "no scope needed";
}
