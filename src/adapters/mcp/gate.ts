/** Checks a request after `protect`: its session, its body, its operations and its tasks. */
import { andThenAll } from "./and-then-all.ts";
import type { ReadBody } from "./body.ts";
import { verdictOf } from "../shared/guard.ts";
import { decideOperations, restoreVerdict } from "../shared/guard-operations.ts";
import type { Governing } from "../../core/policy/governing.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { Decision, Refused } from "../../core/policy/decision.ts";
import { type AccessRequest, ownProperty, type Path } from "../../core/request.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { Verdict } from "../../core/pipeline.ts";
import { type Operation, renderOperation } from "../../capabilities/mcp-operations/operation-key.ts";
import { operationRulesOf } from "../../capabilities/mcp-operations/operation-rules.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type AuthInfo, CallerInfo, isCallable } from "./caller.ts";
import { type Exchange, hasBody, isJson, SESSION_FIELD, sessionsInQuery } from "./exchange.ts";
import { agree } from "./headers.ts";
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
    // A server replays the events of a session. Without a session header, their owner is unknown.
    if (session === undefined && exchange.header("last-event-id") !== undefined) return INVALID.session;
    // A server may find the session in the header, and in the query.
    const inQuery = sessionsInQuery(request.target);
    const ids = session === undefined ? inQuery : [session, ...inQuery];
    if (ids.length === 0) return readBody(exchange, place);
    return andThenAll(
      ids.map((id) => place.sessions.find(id, principal)),
      (ownerships) => invalidOwner(ownerships, INVALID.session) ?? readBody(exchange, place),
    );
  };

  const readBody = (exchange: Exchange, place: OwnersPlace): Pending<Outcome> => {
    const { method, header } = exchange;
    if (WITHOUT_BODY.has(method)) {
      // Later code may change the method, and then read a body that was never checked.
      const isEmpty = hasBody(header) ? false : exchange.isEmpty(limits);
      return andThen(isEmpty, (empty) => (empty ? pass(NO_MESSAGE, exchange, place) : INVALID.message));
    }
    if (!isJson(header)) return INVALID.type;
    if (Number(header("content-length") ?? 0) > limits.maxBodyBytes) return INVALID.tooLarge;
    return andThen(exchange.body(limits), (read) => {
      const messages = readMessagesOf(read, exchange);
      return messages.kind === "invalid" ? messages : checkTasks(messages, exchange, place);
    });
  };

  const readMessagesOf = (read: ReadBody | { readonly parsed: unknown }, exchange: Exchange) => {
    if (typeof read === "string") return read === "too slow" ? INVALID.tooSlow : INVALID.tooLarge;
    const received = Buffer.isBuffer(read) ? read : read.parsed;
    if (received === undefined) throw new Error(BODY_LOST);
    // A text parser stores the whole body.
    const body = typeof received === "string" ? Buffer.from(received) : received;
    if (typeof body !== "object" || body === null) return INVALID.message;
    const context = { methods: rules.methods, revision: exchange.header("mcp-protocol-version") };
    const messages = Buffer.isBuffer(body) ? parseMessages(body, context) : readMessages(body, context);
    if (messages.kind === "invalid" || agree(exchange, messages)) return messages;
    return withId(INVALID.header, idOf(messages.body));
  };

  const checkTasks = (messages: Messages, exchange: Exchange, place: OwnersPlace): Pending<Outcome> => {
    const { calls, taskIds } = messages;
    if (taskIds.length === 0) return checkOperations(messages, calls, exchange, place);
    const { principal } = requireVerdict(exchange.raw, server);
    return andThenAll(
      taskIds.map((id) => place.tasks.find(id, principal)),
      (ownerships) => {
        // The task of another caller gets the same response as one that doesn't exist.
        const invalid = invalidOwner(ownerships, INVALID.task);
        if (invalid) return withId(invalid, idOf(messages.body));
        const started = ownerships.flatMap((task) =>
          task.kind === "own" ? (readOperation(task.note) ?? []) : [],
        );
        return checkOperations(messages, [...calls, ...started], exchange, place);
      },
    );
  };

  /** Decides by the rules for these operations, and keeps the verdict. */
  const decide = ({ raw }: Exchange, calls: readonly Operation[]) =>
    decideOperations(server, raw, (pipeline, verdict) => {
      const { request } = verdict;
      // Only for an observer: the copy takes as long as the decision.
      const asked = pipeline.observer.isWatching
        ? { ...request, operations: calls.map(renderOperation) }
        : request;
      return pipeline.decideAgain(
        verdict,
        (ofPath, policy) =>
          withHandlerValues(
            (operationRulesOf(policy.rules) ?? rules).forCalls(ofPath, calls),
            request,
            policy,
          ),
        asked,
      );
    });

  const checkOperations = (
    messages: Messages,
    calls: readonly Operation[],
    exchange: Exchange,
    place: OwnersPlace,
  ): Pending<Outcome> => {
    const before = requireVerdict(exchange.raw, server);
    /** Hides the operations because of which a request is refused, and decides it again by the other ones. */
    const conclude = (verdict: Verdict, hidden: ReadonlySet<Operation>): Pending<Outcome> => {
      if (verdict.isAllowed) return pass(messages, exchange, place, hidden);
      const isHidden = rules.hidden ? createHider(verdict.decision(), before, place) : () => false;
      const newlyHidden = messages.calls.filter((call) => !hidden.has(call) && isHidden(call));
      if (newlyHidden.length === 0) return refuse(verdict, messages);
      restoreVerdict(server, exchange.raw, before);
      const all = new Set([...hidden, ...newlyHidden]);
      const visible = calls.filter((call) => !all.has(call));
      return andThen(decide(exchange, visible), (again) => conclude(again, all));
    };
    return andThen(decide(exchange, calls), (verdict) => conclude(verdict, NONE));
  };

  /**
   * Returns which operations of a refused request don't exist for its caller. If no token was read yet and an
   * operation has no rule, only such operations are hidden, and the other ones are decided again.
   */
  const createHider = (decision: Decision, before: Verdict, { path }: OwnersPlace) => {
    const isUnmapped = !before.principal && !decision.allowed && decision.reason === "route_unmapped";
    const caller = before.principal ?? callerOf(decision);
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

/** The caller of a refused request. A token that isn't accepted is as good as none. */
const callerOf = (decision: Decision): Principal | undefined =>
  decision.allowed || ABOUT_CALLER.has(decision.reason) ? decision.principal : undefined;

const ABOUT_CALLER: ReadonlySet<string> = new Set([
  "scope_insufficient",
  "caller_not_allowed",
  "authentication_insufficient",
]);

const isInvalid = (outcome: Outcome): outcome is Invalid => Object.hasOwn(outcome, "kind");

/** Returns the response to a request that names another caller's id; `undefined` if it names none. */
function invalidOwner(ownerships: readonly Ownership[], ofOther: Invalid): Invalid | undefined {
  if (ownerships.some(({ kind }) => kind === "unknown")) return INVALID.unknownOwner;
  return ownerships.some(({ kind }) => kind === "other") ? ofOther : undefined;
}

/** Refuses a request whose handler receives another value of a parameter of the path than a rule has read. */
function withHandlerValues(governing: Governing, request: AccessRequest, { table }: Policy): Governing {
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
