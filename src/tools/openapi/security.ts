/** Converts between requirements of the table and `security` of OpenAPI operations. */
import { findShapeMistakes } from "../../core/options/schema.ts";
import { hasPipeline, pipelineOf } from "../../core/port.ts";
import { entryOf } from "../../core/policy/compile-rules.ts";
import type { Conditions } from "../../core/policy/conditions.ts";
import type { ScopeMappings } from "../../core/policy/scope-mappings.ts";
import { CONDITION_NAMES } from "../../core/policy/table-entry.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { findRouteRules } from "../../core/policy/find-rules.ts";
import { readParameter } from "../../core/policy/parameters.ts";
import type { Policy } from "../../core/policy/policy.ts";
import { type Requirement, scopesOf } from "../../core/policy/requirement.ts";
import { compact } from "../../core/runtime/compact.ts";
import { bindScope, isForSomeIds } from "../../core/scopes/required-scope.ts";
import { samplePath } from "../shared/sample-path.ts";
import { membersOf, type OpenApiDocument, type Operation, readOwn, resolve } from "./document.ts";

/** The schemes of bearer tokens, each with whether `security` may list its scopes. */
export type Schemes = ReadonlyMap<string, boolean>;

/** The whole requirement, if `security` can't express it. */
const REQUIREMENT = "x-scopegate-requirement";
/** The conditions of an operation's rule, which `security` can't express either. */
const CONDITIONS = "x-scopegate-conditions";
/** At the root of a document: rules with conditions that don't belong to an operation. */
export const RESTRICTIONS = "x-scopegate-restrictions";

export const FORM = `For a public operation, write \`security: []\`. Otherwise list bearer, oauth2 or openIdConnect schemes: all with the same scopes, or each with exactly one scope. They must agree with \`${REQUIREMENT}\`.`;

/** In OpenAPI 3.0, only OAuth and OpenID Connect have scopes; in 3.1, every scheme. */
export function readSchemes(document: OpenApiDocument): Schemes {
  const isNew = String(document["openapi"]).startsWith("3.1");
  const schemes = Object.entries(membersOf(readOwn(document, "components", "securitySchemes")) ?? {});
  const types = schemes.map(([name, scheme]) => [name, typeOf(resolve(document, scheme))] as const);
  return new Map(types.flatMap(([name, type]) => (type ? [[name, type === "oauth" || isNew] as const] : [])));
}

/** Returns the type of a scheme whose credential is an access token. */
export function typeOf(scheme: unknown): "oauth" | "bearer" | undefined {
  const [type, name] = [readOwn(scheme, "type"), readOwn(scheme, "scheme")];
  if (type === "oauth2" || type === "openIdConnect") return "oauth";
  return type === "http" && /^(?:bearer|dpop)$/i.test(String(name)) ? "bearer" : undefined;
}

/** Entries with the same identity require the same. */
export const identityOf = (entry: Requirement): string =>
  JSON.stringify(entry, (_, part: unknown) => (Array.isArray(part) ? [...new Set(part)].sort() : part));

/** Reads what the `security` of an operation requires; `undefined` if no rule can express it. */
export function readSecurity({ security, value }: Operation, schemes: Schemes): Requirement | undefined {
  const written = readOwn(value, REQUIREMENT) as Requirement | undefined;
  const isKnown = written === undefined || isConfirmed(written, security, schemes);
  return isKnown ? (written ?? toRequirement(security, schemes)) : undefined;
}

/** Reads the conditions of an operation; `"unclear"` for what no rule can have. */
export function readConditions({ value }: Operation): Conditions | undefined | "unclear" {
  const written = readOwn(value, CONDITIONS);
  if (written === undefined) return undefined;
  const names = Object.keys(membersOf(written) ?? {});
  const isKnown =
    names.length > 0 && names.every((name) => (CONDITION_NAMES as readonly string[]).includes(name));
  return isKnown ? (written as Conditions) : "unclear";
}

/** Reads the rules at the root of a document, which aren't the rules of operations. */
export function readRestrictions(document: OpenApiDocument): ScopeMappings | "unclear" {
  const written = readOwn(document, RESTRICTIONS);
  if (written === undefined) return {};
  return findShapeMistakes({ scopeMappings: written }).length > 0 ? "unclear" : (written as ScopeMappings);
}

/** Returns the rules with conditions that don't belong to one of these operations. */
export function restrictionsBeside({ rules }: Policy, used: ReadonlySet<unknown>): ScopeMappings {
  const beside = rules.rules.filter(
    ({ conditions, rule }) => conditions && rule.method !== OPERATION_METHOD && !used.has(rule),
  );
  return Object.fromEntries(beside.map((compiled) => [compiled.rule.key, entryOf(compiled)]));
}

/** Writes the requirement into an operation. Adds the extension if `security` alone is read differently. */
export function writeSecurity(
  value: OpenApiDocument,
  requirement: Requirement,
  conditions: Conditions | undefined,
  schemes: Schemes,
): OpenApiDocument {
  const { [REQUIREMENT]: _, [CONDITIONS]: __, ...others } = value;
  const security = alternativesOf(requirement, schemes).map((text) => JSON.parse(text) as unknown);
  const isSaid = JSON.stringify(toRequirement(security, schemes)) === JSON.stringify(requirement);
  const extensions = compact({
    [REQUIREMENT]: isSaid ? undefined : requirement,
    [CONDITIONS]: conditions,
  });
  return { ...others, security, ...extensions };
}

/**
 * Returns the alternatives as JSON. For a template, only a token is required, because no client can
 * request such a scope.
 */
function alternativesOf(requirement: Requirement, schemes: Schemes): readonly string[] {
  if (requirement === "public") return [];
  const { anyOf } = requirement as { anyOf?: readonly string[] };
  const scopes = requirement === "optional" ? [] : (anyOf ?? (requirement as readonly string[]));
  const isPlain = scopes.every((scope) => !scope.includes("<"));
  const plainSets = anyOf ? anyOf.map((scope) => [scope]) : [scopes];
  const sets = isPlain ? plainSets : [[]];
  const texts = sets.flatMap((set) =>
    [...schemes].map(([name, hasScopes]) => JSON.stringify({ [name]: hasScopes ? set : [] })),
  );
  return [...new Set(texts), ...(requirement === "optional" ? ["{}"] : [])];
}

function toRequirement(security: unknown, schemes: Schemes): Requirement | undefined {
  if (!Array.isArray(security)) return undefined;
  const asked = (security as readonly unknown[]).filter(
    (schemesOf) => Object.keys(Object(schemesOf) as object).length > 0,
  );
  const lists = asked.map((schemesOf) =>
    Object.entries(membersOf(schemesOf) ?? { "": schemesOf }).flatMap(([name, list]): readonly unknown[] =>
      schemes.has(name) && Array.isArray(list) ? list : [undefined],
    ),
  ) as string[][];
  if (!lists.flat().every((scope) => typeof (scope as unknown) === "string")) return undefined;
  const [set, ...others] = new Map(lists.map((list) => [identityOf(list), list])).values();
  if (!set) return "public";
  const isOpen = asked.length < security.length;
  if (others.length === 0 && !isOpen) return set;
  if (others.length === 0) return set.length === 0 ? "optional" : undefined;
  const isAnyOf = !isOpen && [set, ...others].every(({ length }) => length === 1);
  return isAnyOf ? { anyOf: [set, ...others].flat() } : undefined;
}

/** Returns whether `security` contains alternatives of the extension, and nothing else. */
function isConfirmed(requirement: Requirement, security: unknown, schemes: Schemes): boolean {
  const isRequirement = typeof requirement === "object";
  const mistakes = findShapeMistakes({ scopeMappings: { [REQUIREMENT]: requirement } });
  if (!isRequirement || mistakes.length > 0 || !Array.isArray(security) || security.length === 0)
    return false;
  const expected = alternativesOf(requirement, schemes);
  const said = security.map((alternative) => JSON.stringify(alternative));
  // With only some of the alternatives, `security` requires more than the extension.
  const isWhole =
    readOwn(requirement, "anyOf") === undefined ||
    expected.every((alternative) => said.includes(alternative));
  return isWhole && said.every((alternative) => expected.includes(alternative));
}

export function policyOf(server: unknown): Policy {
  if (typeof server === "object" && server !== null && hasPipeline(server)) return pipelineOf(server).policy;
  throw new TypeError("Pass the document, and then a server of createResourceServer, not a copy of it.");
}

/** Finds the rule for an operation, as an audit does, and what it requires with its parameters. */
export function matchOf({ rules }: Policy, { method, pattern }: Operation) {
  const [alternative] = pattern.alternatives;
  const leaf = alternative && findRouteRules(rules.tree, method, alternative.segments)[0];
  if (!leaf) return undefined;
  const { rule, requirement } = leaf.compiled;
  // The template of each parameter is its value: `/agents/<id>`.
  const text = samplePath(alternative, (name) => `<${name}>`);
  const path = { text, end: text.length - (text.endsWith("/") ? 1 : 0), isPlain: false };
  const valueOf = (name: string): string => readParameter({ path, segments: leaf.segments }, name);
  const scopes = scopesOf(requirement).map((scope) =>
    isForSomeIds(scope) ? scope.text : bindScope(scope, valueOf).text,
  );
  let bound = rule.requirement;
  if (requirement.kind === "allOf") bound = scopes;
  else if (requirement.kind === "anyOf") bound = { anyOf: scopes };
  // If the operation is only one path of the rule, such as `/orgs/acme`, it has no names for the parameters.
  const isNamed = (leaf.compiled.conditions?.parameters ?? []).every((name) => /^<.*>$/.test(valueOf(name)));
  const conditions = rule.conditions && isNamed ? withNames(rule.conditions, valueOf) : undefined;
  return { rule, conditions, entry: bound };
}

/** Returns the conditions with the names that the operation has for the parameters of the rule. */
function withNames(conditions: Conditions, valueOf: (name: string) => string): Conditions {
  const { where, also, unless } = conditions;
  const nameOf = (name: string): string => valueOf(name).replace(/^<(.*)>$/, "$1");
  const renamed = (scope: string): string =>
    scope
      .split(":")
      .map((part) => (/^<.*>$/.test(part) ? `<${nameOf(part.slice(1, -1))}>` : part))
      .join(":");
  return {
    ...conditions,
    ...compact({
      where:
        where && Object.fromEntries(Object.entries(where).map(([name, source]) => [nameOf(name), source])),
      also: also?.map(renamed),
      unless:
        unless && "scopes" in unless
          ? { ...unless, scopes: unless.scopes.map(renamed) }
          : unless?.map(renamed),
    }),
  };
}
