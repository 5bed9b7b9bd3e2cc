/** `where`: a parameter of the request is equal to a claim of the token, such as the tenant. */
import type { ConditionCaller, Where, WhereSource } from "../../core/policy/conditions.ts";
import { namesOf, type Pattern } from "../../core/policy/pattern.ts";
import { ANY } from "../../core/scopes/required-scope.ts";
import { isText } from "../../core/runtime/json.ts";
import { claimNameOf } from "../../core/token/claim-path.ts";
import { isTenantSource, readClaim } from "../../core/token/claim-values.ts";
import {
  type ConditionContext,
  type ConditionKind,
  readProperties,
  readStrings,
  reportInvalid,
} from "./condition.ts";

type Bindings = readonly (readonly [parameter: string, sources: readonly WhereSource[]])[];

const FORM = 'Write the parameter and the claim: { org: { claim: "org_id" } }.';

export const where: ConditionKind<Where> = {
  parse(written, context) {
    const bindings = readBindings(written, context);
    if (!bindings) return undefined;
    return {
      name: "where",
      reason: "caller_not_allowed",
      isMet: (caller) => bindings.every((binding) => matchOf(binding, caller) !== undefined),
      findAmbiguous: (caller) =>
        bindings.flatMap((binding) => {
          const match = matchOf(binding, caller);
          return match?.kind === "one of several" ? [match] : [];
        }),
      boundParameters: bindings.map(([parameter]) => parameter),
      readsTenant: bindings.some(([, sources]) => sources.some(isTenantSource)),
    };
  },
  describe: (written) =>
    Object.entries(written)
      .map(([parameter, sources]) => `${parameter} is ${describeSources([sources].flat())}`)
      .join(" and "),
};

function describeSources(sources: readonly WhereSource[]): string {
  const claims = sources.flatMap((source) => {
    if (isTenantSource(source)) return [];
    const { claim, issuer } = source;
    return `${claimNameOf(claim)}${issuer === undefined ? "" : ` of ${issuer}`}`;
  });
  const tenant = sources.some(isTenantSource) ? ["the tenant of the issuer"] : [];
  return [...tenant, ...(claims.length > 0 ? [`the claim ${claims.join(" or ")}`] : [])].join(" or ");
}

function matchOf([parameter, sources]: Bindings[number], caller: ConditionCaller) {
  const value = caller.parameter(parameter);
  if (value === "") return undefined;
  for (const source of sources) {
    const kind = findInClaim(caller.principal, source, value);
    // A claim with one name may be written as a string or as an array.
    if (kind) return { kind, parameter, value, claim: nameOfSource(source) };
  }
  return undefined;
}

const nameOfSource = (source: WhereSource): string =>
  isTenantSource(source) ? "tenant" : JSON.stringify([source.claim].flat());

/** Returns whether a claim has this value, and whether it's one of several. Compares code units. */
function findInClaim(
  claimant: ConditionCaller["principal"],
  source: WhereSource,
  text: string,
): "only" | "one of several" | undefined {
  const values = readClaim(claimant, source);
  if (!values.some((value) => String(value) === text)) return undefined;
  return new Set(values.map(String)).size > 1 ? "one of several" : "only";
}

function readBindings(written: unknown, context: ConditionContext): Bindings | undefined {
  const entries = readProperties(written, "any");
  if (!entries) {
    reportInvalid(context, "isn't an object of parameters.", FORM);
    return;
  }
  const bindings = [...entries].flatMap(([parameter, value]) => {
    const sources = readSources(value);
    const mistake = findParameterMistake(parameter, context.pattern);
    if (mistake) reportInvalid(context, ...mistake, [parameter]);
    if (!sources) reportInvalid(context, "doesn't name a claim.", FORM, [parameter]);
    return sources && !mistake ? [[parameter, sources] as const] : [];
  });
  return bindings.length === entries.size ? bindings : undefined;
}

function readSources(value: unknown): readonly WhereSource[] | undefined {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const sources = values.flatMap((source) => readSource(source) ?? []);
  return sources.length === values.length && sources.length > 0 ? sources : undefined;
}

function readSource(value: unknown): WhereSource | undefined {
  if (readProperties(value, ["tenant"])?.get("tenant") === true) return { tenant: true };
  const properties = readProperties(value, ["claim", "issuer"]);
  const claim = properties?.get("claim");
  const path = isText(claim) ? claim : readStrings(claim);
  if (!properties || path === undefined) return undefined;
  if (!properties.has("issuer")) return { claim: path };
  const issuer = properties.get("issuer");
  return isText(issuer) ? { claim: path, issuer } : undefined;
}

/** A parameter must not decide if some requests of the rule lack it, or if routers read it differently. */
function findParameterMistake(
  name: string,
  { parameters, alternatives }: Pattern,
): readonly [message: string, hint: string] | undefined {
  if (parameters === "any" && name === ANY) return ["can't be an argument.", "Give it another name."];
  if (parameters === "any") return undefined;
  if (parameters.has(name)) return undefined;
  if (alternatives[0]?.segments.flatMap(namesOf).includes(name))
    return ["is a wildcard, which matches several segments.", "Write a parameter: `:org` instead of `*org`."];
  const names = [...parameters].map((parameter) => `\`${parameter}\``).join(", ");
  return [
    "isn't a parameter of the route.",
    names === "" ? "The route has no parameters." : `It has ${names}.`,
  ];
}
