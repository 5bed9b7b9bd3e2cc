import { type AccessRequest, requireString } from "../request.ts";
import { type Decision, refusalIn } from "./decision.ts";
import { type Requirement } from "./requirement.ts";

/** What to explain: a request, and the scopes of a hypothetical caller. */
export interface ExplainQuery extends Pick<AccessRequest, "method" | "matchedPattern" | "params"> {
  /** The target, read exactly as it is spelled. */
  readonly path: string;
  /** The scopes of the caller. If omitted, the caller has no token. */
  readonly scopes?: readonly string[];
}

/** How a request is decided, as data and as text. */
export interface Explanation {
  /** The method of the query. */
  readonly method: string;
  /** The path of the query. */
  readonly path: string;
  /** The decision that `check` would make. */
  readonly decision: Decision;
  /** For a terminal: the rules, what they require, what satisfied them and what is missing. */
  readonly text: string;
}

/** @throws TypeError for a query of the wrong shape, for callers without types */
export function requireQuery({ path, scopes }: ExplainQuery): void {
  requireString(path, "server.explain takes { method, path, scopes }", "path");
  if (scopes === undefined || Array.isArray(scopes)) return;
  throw new TypeError('server.explain: `scopes` must be an array: write scopes: ["agents:read"].');
}

export function explainDecision({ method, path }: ExplainQuery, decision: Decision): Explanation {
  const isOnly = decision.rules.length === 1;
  const isAmbiguous = refusalIn(decision)?.reason === "request_ambiguous";
  const rules = decision.rules.flatMap(({ key, source, requirement, enforcement }) => [
    ["rule", `${key} (${source}${enforcement === "report" ? ", report-only" : ""})`],
    ["requires", describeRequirement(requirement, isOnly ? decision.required : [])],
  ]);
  const lines = [
    ...(rules.length > 0 || isAmbiguous ? rules : [["rule", "none"]]),
    ["granted", join(decision.granted)],
    ...decision.satisfied.map(({ required, granted, by }) => [
      "satisfied",
      `${required} by ${granted} (${by})`,
    ]),
    ...(decision.missing.length > 0 ? [["missing", join(decision.missing)]] : []),
    ["decision", describeDecision(decision)],
  ];
  const text = [
    `${method} ${path}`,
    ...lines.map(([name = "", value = ""]) => `  ${name.padEnd(10)} ${value}`),
  ];
  return { method, path, decision, text: text.join("\n") };
}

function describeDecision(decision: Decision): string {
  const refused = refusalIn(decision);
  if (!refused) return "allowed";
  const why = refused.reason === "request_ambiguous" ? `. ${String(refused.cause)}` : "";
  const result = decision.allowed ? "allowed, reported" : "refused";
  const rejection = refused.rejection === undefined ? "" : ` (${refused.rejection})`;
  return `${result}: ${refused.reason}${rejection}${why}`;
}

/** Describes what a rule requires, with the scopes of one request if they are known. */
export function describeRequirement(requirement: Requirement, required: readonly string[] = []): string {
  if (requirement === "public") return "nothing";
  if (requirement === "optional") return "no token, or a valid one";
  if ("filtered" in requirement) return `${requirement.filtered}, for all ids or at least one`;
  if ("anyOf" in requirement) return `one of ${join(required.length > 0 ? required : requirement.anyOf)}`;
  if (requirement.length === 0) return "a valid token";
  return join(required.length > 0 ? required : requirement);
}

const join = (items: readonly string[]): string => (items.length === 0 ? "-" : items.join(" "));
