/** Computes who may call a route under one table, and whether another table lets all of them in. */
import { type ResolvedOptions } from "../../../core/options/resolve.ts";
import { findPathRule } from "../../../core/policy/find-rules.ts";
import { describeRequirement } from "../../../core/policy/explain.ts";
import { type CompiledRule, type Rule, type RuleMatch } from "../../../core/policy/rule.ts";
import { matchOf } from "../../../core/policy/rule-tree.ts";
import { OPERATION_METHOD, readPath } from "../../../core/request.ts";
import { bindScope, isCovered } from "../../../core/scopes/required-scope.ts";
import { GrantedScopes, type ScopeRules, splitScope } from "../../../core/scopes/scope.ts";

/** One of the conditions that a token must satisfy: it needs a scope that covers one of these. */
interface Clause {
  readonly scopes: readonly string[];
  readonly isMetBy: (granted: GrantedScopes) => boolean;
}

/** From nobody to everybody; `token` is for those with a valid token that satisfies every clause. */
export interface Access {
  readonly to: "nobody" | "token" | "optional" | "everybody";
  readonly clauses: readonly Clause[];
  readonly scopeRules: ScopeRules;
  readonly rule?: Rule;
}

/** Returns the access to a path, or to an operation in which each argument has its own name as its value. */
export function accessTo(table: ResolvedOptions, method: string, target: string): Access {
  const { scopeRules, authorization, unmappedRoutes, enforcement } = table;
  const match = findMatch(table, method, target);
  const needsRule = authorization && unmappedRoutes !== "authenticated" && enforcement === "enforce";
  if (!match) return { to: needsRule ? "nobody" : "token", clauses: [], scopeRules };
  const { rule, requirement } = match.compiled;
  const { kind } = requirement;
  if (kind === "public") return { to: "everybody", clauses: [], scopeRules, rule };
  if (kind === "optional") return { to: "optional", clauses: [], scopeRules, rule };
  const clauses = authorization && rule.enforcement === "enforce" ? clausesOf(match) : [];
  return { to: "token", clauses, scopeRules, rule };
}

function findMatch(table: ResolvedOptions, method: string, target: string): RuleMatch | undefined {
  if (method !== OPERATION_METHOD) {
    const path = readPath(target);
    const leaf = path && findPathRule(table.tree, method, path).leaf;
    return leaf && matchOf(leaf, path);
  }
  const compiled = table.operations.find(target);
  if (!compiled) return undefined;
  const result = table.operations.match({ text: target, parameters: argumentsOf(compiled) });
  return result.kind === "matched" ? result.match : undefined;
}

const argumentsOf = ({ rule }: CompiledRule): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...JSON.stringify(rule.requirement).matchAll(/<([^<>"]+)>/g)].map(([, name = ""]) => [name, name]),
  );

function clausesOf({ compiled: { requirement }, parameter }: RuleMatch): readonly Clause[] {
  if (requirement.kind === "filtered") {
    const { resource, action, scope } = requirement;
    const isMetBy = (granted: GrantedScopes) => granted.findSome(resource, action, "") !== undefined;
    return [{ scopes: [scope.text, `${resource}:${SOME_ID}:${action}`], isMetBy }];
  }
  if (!("scopes" in requirement)) return [];
  const { kind, scopes } = requirement;
  const groups = kind === "anyOf" ? [scopes] : scopes.map((scope) => [scope]);
  return groups.map((group) => ({
    scopes: group.map((scope) => bindScope(scope, parameter).text),
    isMetBy: (granted) => group.some((scope) => isCovered(scope, parameter, granted)),
  }));
}

const SOME_ID = "~";

const RANK = ["nobody", "token", "optional", "everybody"] as const;

/** Returns whether `other` lets in everyone whom `one` lets in. */
export function isWithin(one: Access, other: Access): boolean {
  if (one.to === "nobody" || other.to === "everybody") return true;
  if (one.to !== "token" || other.to !== "token") return RANK.indexOf(one.to) <= RANK.indexOf(other.to);
  const pool = candidates(one, other);
  // A single scope can satisfy a clause. So `one` is within `other` if every clause of `other` is implied by
  // some clause of `one`: every scope that satisfies the clause of `one` also satisfies that of `other`.
  return other.clauses.every((needed) =>
    one.clauses.some((own) =>
      pool.every(
        (scope) =>
          !own.isMetBy(new GrantedScopes([scope], one.scopeRules)) ||
          needed.isMetBy(new GrantedScopes([scope], other.scopeRules)),
      ),
    ),
  );
}

/** Every kind of scope that could make a difference: for all ids, for one, implied ones and admin. */
function candidates(...both: readonly Access[]): readonly string[] {
  const named = both.flatMap(({ clauses, scopeRules: { adminScope, implied } }) => [
    ...clauses.flatMap(({ scopes }) => scopes),
    ...[...implied].flatMap(([scope, others]) => [scope, ...others]),
    ...(adminScope === null ? [] : [adminScope]),
  ]);
  const parts = named.map(splitScope);
  const ids = new Set(["*", SOME_ID, ...parts.flatMap((part) => (part.length === 3 ? [part[1] ?? ""] : []))]);
  const forms = parts.flatMap(([resource = "", second = "", action = second, ...more]) =>
    more.length > 0 || second === ""
      ? []
      : [`${resource}:${action}`, ...[...ids].map((id) => `${resource}:${id}:${action}`)],
  );
  return [...new Set([...named, ...forms])];
}

export function describeAccess({ to, rule }: Access): string {
  if (!rule) return to === "nobody" ? "refused: no rule" : "a valid token: no rule";
  const required = describeRequirement(rule.requirement);
  if (to === "everybody") return `public: no token needed (${rule.key})`;
  const isReport = rule.enforcement === "report";
  const kind = isReport ? "report-only: any valid token; reports " : to === "optional" ? "optional: " : "";
  return `${kind}${required} (${rule.key})`;
}
