/** What clients read about sign-in in the protocol: in the list of tools, and in the result of a call. */
import type { Operation } from "../../capabilities/mcp-operations/operation-key.ts";
import type { OperationRules } from "../../capabilities/mcp-operations/operation-rules.ts";
import type { Policy } from "../../core/policy/policy.ts";
import { requestableScopesOf } from "../../core/policy/requirement.ts";
import type { AccessRequest } from "../../core/request.ts";
import { CHALLENGE_FIELD } from "../../core/response/challenge.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Json } from "../../core/runtime/json.ts";
import { ownObject } from "./messages.ts";

/** Returns a function that adds to a tool in a list what its callers need, if it has a rule. */
export function createSchemeWriter(rules: OperationRules, policy: Policy, request: AccessRequest) {
  const ofPath = policy.find({ ...request, method: "POST" }, true);
  return (entry: Json, { method, name }: Pick<Operation, "method" | "name">): Json => {
    if (method !== "tools/call") return entry;
    const governing = rules.forCalls(ofPath, [{ method, name, parameters: {}, isPartial: true }]);
    const guest = policy.decideGoverned(undefined, governing);
    if (!guest.allowed && guest.reason !== "credential_missing") return entry;
    const scopes = governing.matches.flatMap(({ compiled }) => requestableScopesOf(compiled.requirement));
    const oauth2 = compact({ type: "oauth2", scopes: scopes.length > 0 ? [...new Set(scopes)] : undefined });
    const ofTool = governing.matches.slice(ofPath.matches.length);
    const isPublic = guest.allowed && ofTool.every(({ compiled }) => compiled.requirement.kind === "public");
    const securitySchemes = [guest.allowed ? { type: "noauth" } : [], isPublic ? [] : oauth2].flat();
    // Some clients read one place, and some the other one.
    return { ...entry, securitySchemes, _meta: { ...ownObject(entry, "_meta"), securitySchemes } };
  };
}

/** The result of a tool that asks for more scopes: return it. */
export interface ChallengeResult {
  [name: string]: unknown;
  /** Says that more scopes are needed. */
  content: { type: "text"; text: string }[];
  /** The call has failed. */
  isError: true;
  /** The challenge, as in `WWW-Authenticate`. */
  _meta: { "mcp/www_authenticate": string[] };
}

/** Writes the challenge of a refusal as the result of a tool. */
export const toResult = ({ problem, headers }: Pick<Refusal, "problem" | "headers">): ChallengeResult => ({
  content: [{ type: "text", text: problem.detail }],
  isError: true,
  _meta: { "mcp/www_authenticate": [headers[CHALLENGE_FIELD] ?? ""] },
});
