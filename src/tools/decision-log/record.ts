/** Renders one decision as a line of JSON. */
import { createHmac } from "node:crypto";
import { orUndefined } from "../../core/errors.ts";
import type { ResourceServerOptions } from "../../core/options/options.ts";
import type { Decision } from "../../core/policy/decision.ts";
import { ownProperty } from "../../core/request.ts";
import { withoutTokens } from "../../core/runtime/printable.ts";
import { escapeUnits } from "../escape.ts";
import { claimAt, claimNameOf, type ClaimPath } from "../../core/token/claim-path.ts";

export type Observed = Parameters<NonNullable<ResourceServerOptions["onDecision"]>>;

/** The options of `decisionLog`. */
export interface DecisionLogOptions {
  /** The shares of decisions to write, from 0 to 1. Default: 1 each. */
  readonly sample?: { readonly allowed?: number; readonly refused?: number };
  /**
   * How ids of users and actors are written: hashed with `hashSecret`, in plain form, or not at all. Default:
   * `"hash"`.
   */
  readonly subject?: "hash" | "plain" | "none";
  /** At least 32 characters. Use one secret wherever hashes must be equal. Default: random for each log. */
  readonly hashSecret?: string;
  /** What else to write: the path and the operations of MCP, path parameters, claims. Default: nothing. */
  readonly include?: readonly ("path" | "parameters" | { readonly claim: ClaimPath })[];
  /** How many lines may wait for the sink; more are dropped and counted. Default: `10_000`. */
  readonly maxQueued?: number;
  /** Selects the sample: returns a number from 0 to 1, excluding 1. Default: `Math.random`. */
  readonly random?: () => number;
}

export type Result = "allowed" | "refused";

export const resultOf = ({ allowed }: Decision): Result => (allowed ? "allowed" : "refused");

type Details = Required<Pick<DecisionLogOptions, "subject" | "hashSecret" | "include">>;

/** The caller may not be the user that the token was issued to. */
const NOT_ACCEPTED: readonly unknown[] = ["token_rejected", "proof_rejected"];

export function describeDecision(id: string, [decision, request, event]: Observed, details: Details) {
  const { subject, hashSecret, include } = details;
  const { principal } = decision;
  const refusal = decision.allowed ? undefined : decision;
  const { reason, rejection, claim, condition, proofRejection } = refusal ?? {};
  const { required, missing } = refusal ?? decision;
  const calls = ownProperty(request, "operations");
  const matched = ownProperty(request, "matchedPattern");
  const [hasPath, hasParameters] = [include.includes("path"), include.includes("parameters")];
  const named = include.flatMap((detail) => (typeof detail === "object" ? [detail.claim] : []));
  const claims = named.map((name) => [claimNameOf(name), bounded(claimAt(principal?.claims ?? {}, name))]);
  const find = (scope: string, { rules } = decision) => templateOf(scope, rules);
  // Scopes whose templates are filled in contain path parameters. Scopes of `requireScopes` have no rule.
  const show = (scope: string, of = decision) =>
    hasPath || hasParameters ? scope : (find(scope, of) ?? "(requireScopes)");
  // Other causes may be errors of the application. Only with the path: a cause may quote an MCP operation.
  const isShown = rejection === "claims" || (hasPath && /^(?:request|credential)_/.test(reason ?? ""));
  const cause = isShown && typeof refusal?.cause === "string" ? refusal.cause : undefined;
  const hash = (text: string) => createHmac("sha256", hashSecret).update(text).digest("base64url");
  const identify = (text: string | undefined) => {
    if (text === undefined || subject === "none") return undefined;
    return subject === "hash" ? hash(text) : bounded(text);
  };
  return {
    time: orUndefined(() => new Date(event.at).toISOString()),
    id,
    method: /^[A-Z-]{1,20}$/.test(request.method) ? request.method : "other",
    pattern: bounded(matched ?? decision.rules[0]?.pattern) ?? null,
    rule: decision.rule?.key ?? null,
    policy: event.policy,
    result: resultOf(decision),
    reason,
    rejection,
    claim,
    condition,
    proof: proofRejection,
    cause: bounded(cause),
    required: required.map((scope) => show(scope)),
    missing: missing.map((scope) => show(scope)),
    granted: principal && !NOT_ACCEPTED.includes(reason) ? principal.scopes : null,
    issuer: bounded(principal?.issuer),
    tenant: bounded(principal?.tenant),
    subject: identify(principal?.userId),
    // How the token is bound to a key of the client.
    bound: principal?.binding ?? refusal?.binding,
    // Who acts for the subject: the current actor first.
    actors: principal?.delegation?.map(({ sub }) => identify(sub) ?? null),
    durationMs: Math.round(event.durationMs * 1000) / 1000,
    traceId: orUndefined(() => traceIdOf(event.source)),
    matched: matched === undefined ? undefined : true,
    rules: decision.rules.length > 1 ? decision.rules.map(({ key }) => key) : undefined,
    shadow: describeShadow(decision.shadow, show),
    routeScopes: required.every((scope) => find(scope)) ? undefined : true,
    operations: calls?.length ? ((hasPath ? bounded(calls) : null) ?? null) : undefined,
    path: hasPath ? bounded(request.target) : undefined,
    parameters: hasParameters ? bounded(ownProperty(request, "params")) : undefined,
    claims: claims.length > 0 ? (Object.fromEntries(claims) as object) : undefined,
  };
}

/** What the table of `shadow` decides, where it differs. */
function describeShadow(shadow: Decision["shadow"], show: (scope: string, of: Decision) => string) {
  if (shadow === undefined || shadow === "undecided") return shadow;
  const reason = shadow.allowed ? undefined : shadow.reason;
  const missing = shadow.missing.map((scope) => show(scope, shadow));
  return { result: resultOf(shadow), reason, rule: shadow.rule?.key ?? null, missing };
}

export const render = (record: object): string =>
  withoutTokens(JSON.stringify(record)).replace(INVISIBLE, escapeUnits);

/** Omits values over 2,048 characters, because clients and issuers control their size. */
const bounded = <T>(value: T): T | undefined =>
  value === undefined || JSON.stringify(value).length > 2_048 ? undefined : value;

/** Escapes characters that JSON doesn't escape, but that have an effect in terminals and line readers. */
const INVISIBLE = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Returns the scope of a rule as it's written, whose parameters may be filled in. */
function templateOf(scope: string, rules: Decision["rules"]): string | undefined {
  const written = rules.map(({ requirement }) => Object.values(Object(requirement) as object) as unknown[]);
  return (written.flat(2) as string[]).find((template) => isFilledIn(template, scope));
}

/** Returns whether a required scope is a scope of the table with its parameters filled in. */
function isFilledIn(template: string, scope: string): boolean {
  const [parts, scopeParts] = [template.split(":"), scope.split(":")];
  const isSame = parts.every((part, index) => part === scopeParts[index] || part.startsWith("<"));
  return isSame && parts.length === scopeParts.length;
}

interface Carrier extends Readonly<Record<"headers" | "req" | "raw", Carrier | undefined>> {
  get?(name: string): unknown;
}

/**
 * Returns the trace id (W3C Trace Context) from a framework's request or context. Clients can send any value.
 */
function traceIdOf(source: object | undefined): string | undefined {
  const { headers, req } = Object(source) as Carrier;
  const fields = headers ?? req?.headers ?? req?.raw?.headers;
  const field =
    typeof fields?.get === "function" ? fields.get("traceparent") : claimAt({ ...fields }, "traceparent");
  return /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.exec(String(field))?.[1];
}
