/** How the refusal of an operation differs from the refusal of a route. */
import { nameOfScope } from "../../core/options/vocabulary.ts";
import type { PolicyRules } from "../../core/policy/policy.ts";
import { scopesOf } from "../../core/policy/requirement.ts";
import { normalizeScope } from "../../core/scopes/scope.ts";
import type { Decision, Refused } from "../../core/policy/decision.ts";
import type { HttpResponse, Refusal } from "../../core/response/refusal.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { pipelineOf } from "../../core/port.ts";
import { operationRulesOf } from "../../capabilities/mcp-operations/operation-rules.ts";
import { idOf, type Messages } from "./messages.ts";
import { toResult } from "./security-schemes.ts";

/** A code for errors of the server (JSON-RPC 2.0, section 5.1), and for a resource that doesn't exist. */
const REFUSED = -32000;
const NOT_FOUND = -32602;

/** The refusals after which a client asks its user. With an invalid token, it gets a new one first. */
const NEEDS_MORE: ReadonlySet<string> = new Set([
  "credential_missing",
  "scope_insufficient",
  "authentication_insufficient",
]);

/**
 * Before revision 2026-07-28, the body is the problem, and the challenge also names the granted scopes that
 * the table uses, because clients request only the scopes of the challenge. Since then, the body is an error
 * of JSON-RPC with the request's id, and clients remember scopes, unless the challenge is about the login.
 * With `securitySchemes`, the challenge is the result of the tool.
 */
export function explainRefusal(
  refusal: Refusal,
  decision: Decision,
  server: ResourceServer,
  { messages, body }: Messages,
): HttpResponse {
  if (decision.allowed) return refusal;
  const isStateless = messages.every((message) => message.isStateless);
  const isAboutLogin = decision.reason === "authentication_insufficient";
  const isAboutScopes = decision.reason === "scope_insufficient" && !isStateless;
  const explained = isAboutLogin || isAboutScopes ? retainScopes(refusal, decision, server) : refusal;
  const { status, headers: sent, problem } = explained;
  const headers = { ...sent, "Content-Type": "application/json" };
  const [message] = messages;
  // A batch has no id.
  const id = idOf(body);
  const { policy, rules } = pipelineOf(server);
  const isToolCall = message?.method === "tools/call" && id !== undefined;
  if (isToolCall && operationRulesOf(policy.rules)?.securitySchemes && NEEDS_MORE.has(decision.reason)) {
    const result = { ...toResult(explained), ...(isStateless && { resultType: "complete" }) };
    return { status: 200, headers, body: { jsonrpc: "2.0", id, result } };
  }
  if (!isStateless || rules.challenge.refusalBody) return explained;
  // A resource without a rule doesn't exist for clients, whether the server has it or not.
  const isNotFound = decision.reason === "route_unmapped" && message?.method === "resources/read";
  const error = isNotFound
    ? { code: NOT_FOUND, message: problem.title, data: { ...problem, uri: message.name } }
    : { code: REFUSED, message: problem.title, data: problem };
  return { status, headers, body: { jsonrpc: "2.0", id: id ?? null, error } };
}

function retainScopes(refusal: Refusal, decision: Refused, server: ResourceServer): Refusal {
  const { rules } = pipelineOf(server);
  const retained = decision.granted.filter((scope) => usesScope(rules, scope));
  return retained.length === 0 ? refusal : server.refuse({ ...decision, retained });
}

type Rules = Pick<PolicyRules, "rules" | "scopeRules">;

/** What the rules of each table require. */
const usedKinds = new WeakMap<Rules["rules"], ReadonlySet<string>>();

/** Returns whether a granted scope, or one that it implies, can satisfy some rule of the table. */
export function usesScope({ rules, scopeRules }: Rules, scope: string): boolean {
  const used =
    usedKinds.get(rules) ??
    new Set(rules.flatMap(({ requirement }) => scopesOf(requirement).map(({ text }) => nameOfScope(text))));
  usedKinds.set(rules, used);
  return [scope, ...(scopeRules.implied.get(normalizeScope(scope)) ?? [])].some((text) =>
    used.has(nameOfScope(text)),
  );
}
