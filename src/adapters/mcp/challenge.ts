/** The challenge of a handler that learns from its backend that its caller needs more scopes. */
import { type Refused, refuse } from "../../core/policy/decision.ts";
import { pipelineOf } from "../../core/port.ts";
import type { HttpResponse } from "../../core/response/http-response.ts";
import { compileScopeList } from "../../core/scopes/required-scope.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { guardsOf, notesOf, verdictOf } from "../shared/guard.ts";
import { CallerInfo, type HandlerExtra, infoOf } from "./caller.ts";
import type { Messages } from "./messages.ts";
import { explainRefusal } from "./refusals.ts";
import { type ChallengeResult, toResult } from "./security-schemes.ts";

/** A request of Node.js or the Fetch standard that `protectMcp` has passed on. */
export interface PassedRequest {
  /** What `protectMcp` adds: the token and its scopes. */
  readonly auth?: object | undefined;
}

/** A request that a handler can still refuse. */
interface ChallengeableCall {
  readonly messages: Messages;
  /** Sends this response in place of the handler's, if nothing was sent yet. */
  readonly replaceBy: (refusal: HttpResponse) => void;
}

/** A symbol in the notes of a request, because entries of a `WeakMap` make collecting garbage slow. */
const CALL = Symbol("call");
interface Notes {
  [CALL]?: KeptCall;
}

/** Has only a private property, so that logging a request doesn't print the message. */
class KeptCall {
  readonly #call: ChallengeableCall;

  constructor(call: ChallengeableCall) {
    this.#call = call;
  }

  get call(): ChallengeableCall {
    return this.#call;
  }
}

/** Remembers how the response to a request can be replaced. */
export function allowChallenge(raw: object, call: ChallengeableCall): void {
  const notes: Notes | undefined = notesOf(raw);
  if (notes) notes[CALL] = new KeptCall(call);
}

/**
 * Asks the client for more scopes, from the handler of an operation that was allowed: when its backend
 * refuses the caller. The challenge is the one that `protectMcp` writes: it has the scopes of the operation,
 * and for older clients those of the token, so that one sign-in is enough. The client receives it as 403, or
 * in the result that this function returns if an event stream has begun or the request is a batch. A tool
 * returns the result; any other handler throws an error. `onDecision` is called.
 *
 * @param request the last argument of the handler, or the request of Node.js or the Fetch standard; for
 * callers without a token, the request
 * @param scopes all scopes that the backend needs
 * @throws TypeError for a request that `protectMcp` didn't pass on
 * @throws ConfigurationError for a scope that no token can have
 * @example
 * ```ts
 * import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
 * import { challenge } from "scopegate/mcp";
 *
 * const mcp = new McpServer({ name: "docs", version: "1.0.0" });
 * mcp.registerTool("publish", {}, async (extra) => {
 *   const response = await fetch("https://backend.example/publish", { method: "POST" });
 *   if (response.status === 403) return challenge(extra, ["docs:publish"]);
 *   return { content: [{ type: "text", text: "published" }] };
 * });
 * ```
 */
export function challenge(request: HandlerExtra | PassedRequest, scopes: readonly string[]): ChallengeResult {
  compileScopeList(scopes, new Set());
  const { server, raw } = findGuarded(request);
  const verdict = verdictOf(raw, server);
  if (!verdict) throw new TypeError(NOT_PASSED);
  const pipeline = pipelineOf(server);
  const { principal, request: asked } = verdict;
  const { allowed: _, ...facts } = verdict.decision();
  const required = Object.freeze([...new Set([...facts.required, ...scopes])]);
  const missing = Object.freeze(scopes.filter((scope) => !principal?.has(scope)));
  const decided: Refused = principal
    ? Object.freeze({ ...facts, required, missing, allowed: false, reason: "scope_insufficient" })
    : refuse("credential_missing", facts.rules);
  const refused = pipeline.withResource(decided, asked) as Refused;
  pipeline.observer.observe(refused, asked);
  const refusal = server.refuse(refused);
  const notes: Notes | undefined = notesOf(raw);
  const keptCall: KeptCall | undefined = notes?.[CALL];
  const call = keptCall?.call;
  const response = call ? explainRefusal(refusal, refused, server, call.messages) : refusal;
  // The other operations of a batch have run.
  if (call?.messages.messages.length === 1) call.replaceBy(response);
  return toResult({ ...refusal, headers: response.headers });
}

/** Finds the server and the guarded request. Only a request has them for a caller without a token. */
function findGuarded(request: HandlerExtra | PassedRequest): {
  readonly server: ResourceServer;
  readonly raw: object;
} {
  const info = infoOf(request as HandlerExtra) ?? (request as PassedRequest).auth;
  const ofCaller = CallerInfo.guardedOf(info);
  if (ofCaller) return ofCaller;
  const [guarded] = Object(request) === request ? guardsOf(request) : [];
  if (guarded) return { server: guarded.server, raw: request };
  throw new TypeError(NOT_PASSED);
}

const NOT_PASSED =
  "challenge takes the last argument of a handler, or for a caller without a token the request that protectMcp has passed on.";
