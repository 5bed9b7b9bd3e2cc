/** How the refusal of an operation differs from that of a route. */
import type { Decision, Refused } from "../../core/policy/decision.ts";
import type { Answer, Refusal } from "../../core/response/refusal.ts";
import type { ResourceServer } from "../../core/server.ts";
import { pipelineOf } from "../../core/port.ts";
import { idOf, type Messages } from "./messages.ts";

interface Context {
  readonly server: ResourceServer;
  readonly messages: Messages;
}

/** A code for errors of the server (JSON-RPC 2.0, section 5.1). */
const REFUSED = -32000;

/**
 * Since revision 2026-07-28, the body is a JSON-RPC error with the id of the request, and the problem in its
 * data. In earlier revisions it is the problem. There, the challenge also names the granted scopes that the
 * table uses, because clients of these revisions request only the scopes of the challenge.
 */
export function explainRefusal(
  refusal: Refusal,
  decision: Decision,
  { server, messages: { messages, body } }: Context,
): Answer {
  if (messages.some(({ isStateless }) => !isStateless)) return retainScopes(refusal, decision, server);
  if (pipelineOf(server).hasRefusalBody) return refusal;
  const { status, headers, problem } = refusal;
  const id = idOf(body) ?? null;
  return {
    status,
    headers: { ...headers, "Content-Type": "application/json" },
    body: { jsonrpc: "2.0", id, error: { code: REFUSED, message: problem.title, data: problem } },
  };
}

function retainScopes(refusal: Refusal, decision: Decision, server: ResourceServer): Refusal {
  if (decision.allowed || decision.reason !== "scope_insufficient" || !decision.principal) return refusal;
  const { policy } = pipelineOf(server);
  const retained = decision.granted.filter((scope) => policy.usesScope(scope));
  return retained.length === 0 ? refusal : server.refuse({ ...decision, retained } satisfies Refused);
}
