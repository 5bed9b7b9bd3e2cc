/** Checks a request after `protect`: its session, its body, its operations and its tasks. */
import { andThenAll } from "./and-then-all.ts";
import type { ReadBody } from "./body.ts";
import { verdictOf } from "../shared/guard.ts";
import { decideOperations, restoreVerdict } from "../shared/guard-operations.ts";
import type { Governing } from "../../core/policy/governing.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { Decision, Refused } from "../../core/policy/decision.ts";
import type { AddRules } from "../../core/policy/shadow.ts";
import { type AccessRequest, ownProperty, type Path } from "../../core/request.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { Verdict } from "../../core/pipeline.ts";
import { type Operation, renderOperation } from "../../capabilities/mcp-operations/operation-key.ts";
import { operationRulesOf } from "../../capabilities/mcp-operations/operation-rules.ts";
import { isTokenAccepted } from "../../capabilities/shadow/accepted-token.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type AuthInfo, CallerInfo, isCallable } from "./caller.ts";
import { type Exchange, hasBody, isJson, SESSION_FIELD, sessionsInQuery } from "./exchange.ts";
import { headersAgree } from "./headers.ts";
import { type HiddenCalls, hideCalls } from "./hidden.ts";
import { INVALID, type Invalid, withId } from "./invalid.ts";
import { idOf, type Messages, parseMessages, readMessages } from "./messages.ts";
import type { GateSettings } from "./options.ts";
import { type Ownership, Owners, OwnersAt, type OwnersPlace } from "./owners.ts";
import { explainRefusal } from "./refusals.ts";
import type { WatchedCall } from "./responses.ts";
import { readOperation } from "./tasks.ts";

/** An allowed request, with what handlers of the official SDK expect. */
export interface Passed extends Pick<Messages, "body" | "bytes">, WatchedCall {
  /** `undefined` if no token was read. */
  readonly authInfo: AuthInfo | undefined;
  /** Header fields of the request that the handler must see instead of those that were sent. */
  readonly headers?: HiddenCalls["headers"];
}

/** Only an own property: a polluted prototype must not turn a refusal into an allowed request. */
export const isPassed = <Allowed extends Pick<Passed, "verdict">>(
  outcome: Allowed | HttpResponse,
): outcome is Allowed => Object.hasOwn(outcome, "verdict");

export type Gate = (exchange: Exchange) => Pending<Passed | HttpResponse>;

type Outcome = Passed | Invalid | HttpResponse;

/** The methods that have no body. Any other request must be a message. */
const WITHOUT_BODY = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

const NO_MESSAGE: Messages = {
  kind: "messages",
  body: undefined,
  bytes: undefined,
  messages: [],
  calls: [],
  taskIds: [],
};

const NONE: ReadonlySet<Operation> = new Set();

/**
 * Creates the steps that decide a request. Each calls the next one: the session, the body, the tasks, the
 * operations, and what is passed on.
 */
export function createGate(server: ResourceServer, settings: GateSettings): Gate {
  const { limits, maxSessions, store, rules, listFilter, streamCheckSeconds } = settings;
  const allSessions = new Owners("session", maxSessions, store);
  const allTasks = new Owners("task", maxSessions, store);
  const { observer } = pipelineOf(server);
  const watchSettings = { server, rules, listFilter, streamCheckSeconds };

  const placeOf = ({ governing }: Verdict): OwnersPlace => {
    const path = governing.kind === "ambiguous" ? undefined : governing.path;
    const id = rules.transports.idOf(path);
    return { path, sessions: new OwnersAt(allSessions, id), tasks: new OwnersAt(allTasks, id) };
  };

  const checkSession = (exchange: Exchange): Pending<Outcome> => {
    const verdict = requireVerdict(exchange.raw, server);
    const { principal, request } = verdict;
    const place = placeOf(verdict);
    const session = exchange.header(SESSION_FIELD);
    // `Last-Event-ID` replays a session's events, so the session's header is required to know their owner.
    if (session === undefined && exchange.header("last-event-id") !== undefined) return INVALID.session;
    // A server may read the session from the header or from the query, so both are checked.
    const inQuery = sessionsInQuery(request.target);
    const ids = session === undefined ? inQuery : [session, ...inQuery];
    if (ids.length === 0) return checkBody(exchange, place);
    return andThenAll(
      ids.map((id) => place.sessions.find(id, principal)),
      (ownerships) => ownershipError(ownerships, INVALID.session) ?? checkBody(exchange, place),
    );
  };

  const checkBody = (exchange: Exchange, place: OwnersPlace): Pending<Outcome> => {
    const { method, header } = exchange;
    if (WITHOUT_BODY.has(method)) {
      // Later code may change the method, and then read a body that was never checked.
      const isEmpty = !hasBody(header) && exchange.isEmpty(limits);
      return andThen(isEmpty, (empty) => (empty ? pass(NO_MESSAGE, exchange, place) : INVALID.message));
    }
    if (!isJson(header)) return INVALID.type;
    if (Number(header("content-length") ?? 0) > limits.maxBodyBytes) return INVALID.tooLarge;
    return andThen(exchange.body(limits), (bodyResult) => {
      const messages = messagesOfBody(bodyResult, exchange);
      return messages.kind === "invalid" ? messages : checkTasks(messages, exchange, place);
    });
  };

  const messagesOfBody = (bodyResult: ReadBody | { readonly parsed: unknown }, exchange: Exchange) => {
    if (typeof bodyResult === "string") return bodyResult === "too slow" ? INVALID.tooSlow : INVALID.tooLarge;
    const received = Buffer.isBuffer(bodyResult) ? bodyResult : bodyResult.parsed;
    if (received === undefined) throw new Error(BODY_LOST);
    // A parser for text stores the body as a string.
    const body = typeof received === "string" ? Buffer.from(received) : received;
    if (typeof body !== "object" || body === null) return INVALID.message;
    const context = { methods: rules.methods, revision: exchange.header("mcp-protocol-version") };
    const messages = Buffer.isBuffer(body) ? parseMessages(body, context) : readMessages(body, context);
    if (messages.kind === "messages" && !headersAgree(exchange, messages))
      return withId(INVALID.header, idOf(messages.body));
    return messages;
  };

  const checkTasks = (messages: Messages, exchange: Exchange, place: OwnersPlace): Pending<Outcome> => {
    const { calls, taskIds } = messages;
    if (taskIds.length === 0) return checkOperations(messages, calls, exchange, place);
    const { principal } = requireVerdict(exchange.raw, server);
    return andThenAll(
      taskIds.map((id) => place.tasks.find(id, principal)),
      (ownerships) => {
        // The task of another caller gets the same response as one that doesn't exist.
        const error = ownershipError(ownerships, INVALID.task);
        if (error) return withId(error, idOf(messages.body));
        const started = ownerships.flatMap((task) =>
          task.kind === "own" ? (readOperation(task.note) ?? []) : [],
        );
        return checkOperations(messages, [...calls, ...started], exchange, place);
      },
    );
  };

  /** Decides by the rules for these operations, and keeps the verdict. */
  const decideCalls = ({ raw }: Exchange, calls: readonly Operation[]) =>
    decideOperations(server, raw, (pipeline, verdict) => {
      const { request } = verdict;
      // Only for an observer: the copy takes as long as the decision.
      const observedRequest = pipeline.observer.isWatching
        ? { ...request, operations: calls.map(renderOperation) }
        : request;
      const addRules: AddRules = (ofPath, policy) => {
        const ofCalls = (operationRulesOf(policy.rules) ?? rules).forCalls(ofPath, calls);
        return compareHandlerValues(ofCalls, request, policy);
      };
      return pipeline.decideAgain(verdict, addRules, observedRequest);
    });

  const checkOperations = (
    messages: Messages,
    calls: readonly Operation[],
    exchange: Exchange,
    place: OwnersPlace,
  ): Pending<Outcome> => {
    const guardVerdict = requireVerdict(exchange.raw, server);
    /** Hides the operations that a request is refused for, and decides the others, until they are allowed. */
    const hideUntilAllowed = (verdict: Verdict, hidden: ReadonlySet<Operation>): Pending<Outcome> => {
      if (verdict.isAllowed) return pass(messages, exchange, place, hidden);
      const isHidden = rules.hidden ? createHider(verdict.decision(), guardVerdict, place) : () => false;
      const newlyHidden = messages.calls.filter((call) => !hidden.has(call) && isHidden(call));
      if (newlyHidden.length === 0) return refuse(verdict, messages);
      restoreVerdict(server, exchange.raw, guardVerdict);
      const allHidden = new Set([...hidden, ...newlyHidden]);
      const visible = calls.filter((call) => !allHidden.has(call));
      return andThen(decideCalls(exchange, visible), (newVerdict) => hideUntilAllowed(newVerdict, allHidden));
    };
    return andThen(decideCalls(exchange, calls), (verdict) => hideUntilAllowed(verdict, NONE));
  };

  /**
   * Creates a function that returns whether to hide a call. Before a token is read, if an operation has no
   * rule, only calls without a rule are hidden, and the others are decided again.
   */
  const createHider = (decision: Decision, guardVerdict: Verdict, { path }: OwnersPlace) => {
    const { principal } = guardVerdict;
    const isUnmapped = !principal && !decision.allowed && decision.reason === "route_unmapped";
    const caller = principal ?? callerOf(decision);
    return (call: Operation): boolean =>
      call.name !== undefined &&
      (isUnmapped ? isUnmappedCall(call, path) : !isCallable(server, caller, call, { path }));
  };

  const refuse = (verdict: Verdict, messages: Messages): HttpResponse => {
    const decision = verdict.decision() as Refused;
    return explainRefusal(server.refuse(decision), decision, server, messages);
  };

  const isUnmappedCall = ({ method, name }: Operation, path: Path | undefined): boolean =>
    rules.forOperation({ method, name, parameters: {}, isPartial: true }, path).kind === "unmapped";

  const pass = (messages: Messages, exchange: Exchange, place: OwnersPlace, hidden = NONE): Passed => {
    const verdict = requireVerdict(exchange.raw, server);
    const { principal, request } = verdict;
    const authInfo = principal && (new CallerInfo(server, principal, request, exchange.raw) as AuthInfo);
    const { body, bytes } = messages;
    const passed: Passed = {
      verdict,
      authInfo,
      body,
      bytes,
      settings: watchSettings,
      place,
      exchange,
      messages,
    };
    if (hidden.size === 0) return passed;
    const replaced = hideCalls(messages, hidden, exchange.header);
    return { ...passed, ...replaced, body: replaced.messages.body, bytes: replaced.messages.bytes };
  };

  return (exchange) =>
    andThen(checkSession(exchange), (outcome) => {
      if (isInvalid(outcome)) {
        const logLine = `${outcome.status}: ${outcome.body.error.message}`;
        observer.logResponse(logLine, verdictOf(exchange.raw, server)?.request);
      }
      return outcome;
    });
}

/** Returns the caller of a refused request. A rejected token counts as no token. */
const callerOf = (decision: Decision): Principal | undefined =>
  isTokenAccepted(decision) ? decision.principal : undefined;

const isInvalid = (outcome: Outcome): outcome is Invalid => Object.hasOwn(outcome, "kind");

/**
 * Returns the response to a request with an id whose owner is another caller, or is unknown because the store
 * doesn't respond; `undefined` if the caller owns all ids.
 */
function ownershipError(ownerships: readonly Ownership[], notFound: Invalid): Invalid | undefined {
  if (ownerships.some(({ kind }) => kind === "unknown")) return INVALID.unknownOwner;
  return ownerships.some(({ kind }) => kind === "other") ? notFound : undefined;
}

/** Returns ambiguous rules if the handler receives another value of a path parameter than a rule reads. */
function compareHandlerValues(governing: Governing, request: AccessRequest, { table }: Policy): Governing {
  const { method, matchedPattern, params } = request;
  if (matchedPattern === undefined || !params) return governing;
  const readValue = (name: string) => ownProperty(params, name);
  return table.forRoute(governing, method, [matchedPattern], { readValue });
}

function requireVerdict(raw: object, server: ResourceServer): Verdict {
  const verdict = verdictOf(raw, server);
  if (!verdict) throw new Error("The guard didn't decide this request.");
  return verdict;
}

const BODY_LOST =
  "The body was read before protectMcp, and wasn't stored as a JSON value. Put protectMcp before the code that reads it.";
