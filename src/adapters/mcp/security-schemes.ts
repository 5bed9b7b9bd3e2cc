/** What clients read about sign-in: the schemes of a tool in its list, and the challenge in a result. */
import type { Operation } from "../../capabilities/mcp-operations/operation-key.ts";
import type { OperationRules } from "../../capabilities/mcp-operations/operation-rules.ts";
import { requestableScopesOf } from "../../capabilities/resource/requestable-scopes.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { CompiledRequirement } from "../../core/policy/requirement.ts";
import type { AccessRequest } from "../../core/request.ts";
import { CHALLENGE_FIELD } from "../../core/response/challenge.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Json } from "../../core/runtime/json.ts";
import { ownObject } from "./messages.ts";

const NOAUTH = { type: "noauth" };

/**
 * Returns a function that writes into a tool of a list what its callers need: a scheme for each alternative.
 * What the server has written there is replaced, because the table decides.
 */
export function createSchemeWriter(rules: OperationRules, policy: Policy, request: AccessRequest) {
  const ofPath = policy.find({ ...request, method: "POST" }, true);
  return (entry: Json, { method, name }: Pick<Operation, "method" | "name">): Json => {
    if (method !== "tools/call") return entry;
    const governing = rules.forCalls(ofPath, [{ method, name, parameters: {}, isPartial: true }]);
    const withoutToken = policy.decideGoverned(undefined, governing);
    // No token would help.
    if (!withoutToken.allowed && withoutToken.reason !== "credential_missing")
      return withSchemes(entry, undefined);
    const requirements = governing.matches.map(({ compiled }) => compiled.requirement);
    // Those of the operation come after those of the path.
    const ofTool = requirements.slice(ofPath.matches.length);
    const isPublic = withoutToken.allowed && ofTool.every(({ kind }) => kind === "public");
    if (isPublic) return withSchemes(entry, [NOAUTH]);
    const schemes = combine(requirements).map(toScheme);
    return withSchemes(entry, withoutToken.allowed ? [NOAUTH, ...schemes] : schemes);
  };
}

/** The scopes of each way to satisfy all requirements. */
const combine = (requirements: readonly CompiledRequirement[]): readonly (readonly string[])[] =>
  requirements
    .map(alternativesOf)
    .reduce(
      (ways, alternatives) => ways.flatMap((way) => alternatives.map((more) => [...way, ...more])),
      [[]],
    );

const alternativesOf = (requirement: CompiledRequirement): readonly (readonly string[])[] =>
  requirement.kind === "anyOf"
    ? requirement.scopes.map((scope) => requestableScopesOf({ kind: "allOf", scopes: [scope] }))
    : [requestableScopesOf(requirement)];

const toScheme = (scopes: readonly string[]) =>
  compact({ type: "oauth2", scopes: scopes.length > 0 ? [...new Set(scopes)] : undefined });

/** Some clients read the property of the tool, and some that of its `_meta`. */
function withSchemes(entry: Json, securitySchemes: readonly object[] | undefined): Json {
  const { securitySchemes: _, ...tool } = entry;
  const meta = ownObject(entry, "_meta");
  if (!meta && !securitySchemes) return tool;
  const { securitySchemes: __, ...others } = meta ?? {};
  const written = compact({ securitySchemes });
  return { ...tool, ...written, _meta: { ...others, ...written } };
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
