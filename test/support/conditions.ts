/** Decides requests of hypothetical callers by rules with conditions. */
import type { Decision, ScopeMappings } from "scopegate";
import type { Conditions } from "scopegate/conditions";
import { explain } from "scopegate/explain";
import { createServer, issuesOf } from "./resource-servers.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** The decision for a caller with claims, and with no scope unless `scopes` names them. */
export function decide(
  scopeMappings: ScopeMappings,
  route: string,
  claims: Claims = {},
  scopes: readonly string[] = [],
  options: Parameters<typeof createServer>[0] = {},
): Decision {
  const [method = "", path = ""] = route.split(" ");
  return explain(createServer({ scopeMappings, ...options }), { method, path, claims, scopes }).decision;
}

/** `"allowed"`, or the reason and the condition of a refusal. */
export function resultOf(decision: Decision): string {
  if (decision.allowed) return "allowed";
  return decision.condition === undefined ? decision.reason : `${decision.reason} ${decision.condition}`;
}

/** The result of one rule for `GET /orgs/:org`, asked for `/orgs/acme`. */
export const resultFor = (conditions: Conditions, claims: Claims = {}): string =>
  resultOf(decide({ "GET /orgs/:org": { scopes: [], ...conditions } }, "GET /orgs/acme", claims));

/** The codes, places and messages of the mistakes in conditions of `GET /orgs/:org`. */
export const conditionIssues = (conditions: object, key = "GET /orgs/:org"): readonly string[] =>
  issuesOf({
    serviceId: "agents-prod",
    verificationKeys: [],
    scopeMappings: { [key]: { scopes: [], ...conditions } },
  })
    .filter(({ path }) => path[0] === "scopeMappings")
    .map(({ code, path, message, hint }) => `${code} ${path.slice(2).join(".")}: ${message} ${hint}`);
