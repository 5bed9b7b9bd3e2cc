/** Checks a request after `protect`: its session, its body, its operations and its tasks. */
import { type BodyLimits, hasBody, isJson, type ReadBody, type ReadHeader } from "./body.ts";
import { guardOperations, verdictOf } from "../shared/guard.ts";
import { checkOptions, flag, type OptionChecks, wholeNumber } from "../../core/options/check-options.ts";
import type { Verdict } from "../../core/pipeline.ts";
import { type Operation, renderOperation } from "../../core/policy/operation-key.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/server.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { andThen, andThenAll } from "../../core/runtime/and-then.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { Store } from "../../core/runtime/store.ts";
import { type AuthInfo, CallerInfo } from "./caller.ts";
import { agree } from "./headers.ts";
import { INVALID, type Invalid, withId } from "./invalid.ts";
import { idOf, type Messages, parseMessages, readMessages } from "./messages.ts";
import { type Ownership, Owners } from "./owners.ts";
import { explainRefusal } from "./refusals.ts";
import { ResponseWatch, sessionsInQuery } from "./responses.ts";
import { readOperation } from "./tasks.ts";

/** The options of `protectMcp`. */
export interface McpOptions extends Partial<BodyLimits> {
  /**
   * Removes what the caller may not call from the lists of tools, prompts and resources. Most servers don't
   * need this: a client can't request the scope of a tool that it doesn't see. Default: `false`.
   */
  readonly listFilter?: boolean;
  /**
   * Where the owners of sessions and tasks are kept for a week, so that several processes share them:
   * `redisStore(client)` of `scopegate/store`. Default: this process, which drops the least recently used.
   */
  readonly store?: Store;
  /**
   * How many owners of sessions this process keeps, and how many owners of tasks. One caller can have a tenth
   * of each. Default: `10_000`.
   */
  readonly maxSessions?: number;
  /**
   * How often an open stream of events is checked, in seconds: it ends when its token has expired or is
   * revoked. `false` never ends a stream. Default: `10`.
   */
  readonly streamCheckSeconds?: number | false;
}

/** One request, as its framework represents it. */
export interface Exchange {
  /** The request of the platform, in which the guard keeps its verdict. */
  readonly raw: object;
  readonly method: string;
  readonly header: ReadHeader;
  /** The names of the header fields, in lower case. */
  readonly fields: () => Iterable<string>;
  /** The body, or the value that an earlier body parser has stored. */
  readonly body: (limits: BodyLimits) => Pending<ReadBody | { readonly parsed: unknown }>;
  /** Whether the request has no body even if no header announces one: in HTTP/2, a body needs no header. */
  readonly isEmpty: (limits: BodyLimits) => Pending<boolean>;
}

/** An allowed request, with what handlers of the official SDK expect. */
export interface Passed extends Pick<Messages, "body" | "bytes"> {
  readonly verdict: Verdict;
  /** `undefined` if no token was read. */
  readonly authInfo: AuthInfo | undefined;
  /** What to observe or change in the response. */
  readonly watch: ResponseWatch;
}

/** Only an own property: a polluted prototype must not turn a refusal into an allowed request. */
export const isPassed = (outcome: Passed | HttpResponse): outcome is Passed =>
  Object.hasOwn(outcome, "verdict");

export type Gate = (exchange: Exchange) => Pending<Passed | HttpResponse>;

/** The header of a session, in requests and responses. */
export const SESSION_FIELD = "mcp-session-id";

/** The methods that have no body. Any other request must be a message. */
const WITHOUT_BODY = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

const NO_MESSAGE: Messages = { kind: "messages", body: undefined, bytes: undefined, messages: [], calls: [] };

const OPTIONS: OptionChecks<McpOptions> = {
  maxBodyBytes: wholeNumber,
  bodyTimeoutMs: wholeNumber,
  listFilter: flag,
  maxSessions: wholeNumber,
  streamCheckSeconds: {
    accepts: (seconds) => seconds === false || (typeof seconds === "number" && seconds > 0),
    hint: "Write a number of seconds greater than 0, or false.",
  },
  store: {
    accepts: (store) =>
      ["get", "set", "delete"].every((name) => typeof Reflect.get(Object(store), name) === "function"),
    hint: "Write a store, such as redisStore(client) of scopegate/store.",
    rejectsUndefined: true,
  },
};
const OTHER_OPTIONS = {
  metadata:
    "Put metadata(server) of your adapter before it, and write the option `resource` of createResourceServer.",
};

/** @throws ConfigurationError that lists every mistake in the options */
export function createGate(server: ResourceServer, options: McpOptions, caller = "protectMcp"): Gate {
  checkOptions(caller, options, OPTIONS, OTHER_OPTIONS);
  // Without a prototype: a polluted one must not set an option.
  const plainOptions = { __proto__: null, ...options };
  const { maxBodyBytes = 4_194_304, bodyTimeoutMs = 30_000, store } = plainOptions;
  const { maxSessions: maxEntries = 10_000, streamCheckSeconds = 10, listFilter = false } = plainOptions;
  const limits: BodyLimits = { maxBodyBytes, bodyTimeoutMs };
  const sessions = new Owners("session", maxEntries, store);
  const tasks = new Owners("task", maxEntries, store);
  const settings = { server, sessions, tasks, listFilter, streamCheckSeconds };
  const { observer, policy } = pipelineOf(server);
  const { methods } = policy.rules.operations;

  const refuse = (invalid: Invalid, { raw }: Exchange): HttpResponse => {
    const logLine = `${invalid.status}: ${invalid.body.error.message}`;
    observer.logResponse(logLine, verdictOf(raw, server)?.request);
    return invalid;
  };

  const checkSession = (exchange: Exchange): Pending<Passed | HttpResponse> => {
    const verdict = requireVerdict(exchange.raw, server);
    const ids = sessionsOf(exchange.header, verdict.request.target);
    // A server replays the events of a session. Without a session header, their owner is unknown.
    const isOwnerUnknown =
      exchange.header("last-event-id") !== undefined && exchange.header(SESSION_FIELD) === undefined;
    if (isOwnerUnknown) return refuse(INVALID.session, exchange);
    return andThenAll(
      ids.map((id) => sessions.find(id, verdict.principal)),
      (ownerships) => {
        const invalid = invalidOwner(ownerships, INVALID.session);
        return invalid ? refuse(invalid, exchange) : readBody(exchange, verdict);
      },
    );
  };

  const readBody = (exchange: Exchange, verdict: Verdict): Pending<Passed | HttpResponse> => {
    const { method, header, body, isEmpty } = exchange;
    if (WITHOUT_BODY.has(method)) {
      // Later code may change the method, and then read a body that was never checked.
      if (hasBody(header)) return refuse(INVALID.message, exchange);
      return andThen(isEmpty(limits), (empty) =>
        empty ? pass(NO_MESSAGE, exchange) : refuse(INVALID.message, exchange),
      );
    }
    if (!isJson(header)) return refuse(INVALID.type, exchange);
    if (Number(header("content-length") ?? 0) > limits.maxBodyBytes)
      return refuse(INVALID.tooLarge, exchange);
    return andThen(body(limits), (read) => {
      const messages = readMessagesOf(read, exchange);
      return messages.kind === "invalid"
        ? refuse(messages, exchange)
        : checkTasks(messages, exchange, verdict);
    });
  };

  const readMessagesOf = (read: ReadBody | { readonly parsed: unknown }, exchange: Exchange) => {
    if (typeof read === "string") return read === "too slow" ? INVALID.tooSlow : INVALID.tooLarge;
    const received = Buffer.isBuffer(read) ? read : read.parsed;
    if (received === undefined) throw new Error(BODY_LOST);
    // A text parser stores the whole body.
    const body = typeof received === "string" ? Buffer.from(received) : received;
    if (typeof body !== "object" || body === null) return INVALID.message;
    const { header, fields } = exchange;
    const context = { methods, revision: header("mcp-protocol-version") };
    const messages = Buffer.isBuffer(body) ? parseMessages(body, context) : readMessages(body, context);
    if (messages.kind === "invalid" || agree(header, fields, messages)) return messages;
    return withId(INVALID.header, idOf(messages.body));
  };

  /** The task of another caller gets the same response as one that doesn't exist. */
  const checkTasks = (
    messages: Messages,
    exchange: Exchange,
    { principal }: Verdict,
  ): Pending<Passed | HttpResponse> => {
    const ids = messages.messages.flatMap(({ taskIds }) => taskIds);
    return andThenAll(
      ids.map((id) => tasks.find(id, principal)),
      (ownerships) => {
        const invalid = invalidOwner(ownerships, INVALID.task);
        if (invalid) return refuse(withId(invalid, idOf(messages.body)), exchange);
        const started = ownerships.flatMap((task) =>
          task.kind === "own" ? (readOperation(task.note) ?? []) : [],
        );
        return decideOperations(messages, [...messages.calls, ...started], exchange);
      },
    );
  };

  const decideOperations = (
    messages: Messages,
    calls: readonly Operation[],
    exchange: Exchange,
  ): Pending<Passed | HttpResponse> => {
    const { raw } = exchange;
    const refusal = guardOperations(server, raw, (pipeline, verdict) => {
      const governing = pipeline.table.forCalls(verdict.governing, calls);
      const { request } = verdict;
      if (!pipeline.observer.isWatching) return pipeline.decideAgain(verdict, governing, request);
      // Only for an observer: the copy takes as long as the decision.
      const operations = calls.map(renderOperation);
      return pipeline.decideAgain(verdict, governing, { ...request, operations });
    });
    return andThen(refusal, (refused) =>
      refused
        ? explainRefusal(refused, requireVerdict(raw, server).decision(), { server, messages })
        : pass(messages, exchange),
    );
  };

  const pass = (messages: Messages, { raw, method, header }: Exchange): Passed => {
    const verdict = requireVerdict(raw, server);
    const { body, bytes } = messages;
    const watch = new ResponseWatch(settings, verdict, messages, { method, header });
    // Frameworks seldom read `authInfo`, so it's created when they do.
    return {
      verdict,
      body,
      bytes,
      watch,
      get authInfo() {
        const { principal, request } = verdict;
        return principal && (new CallerInfo(server, principal, request) as AuthInfo);
      },
    };
  };
  return checkSession;
}

/** Returns each session that a server may find in a request: in the header, and in the query. */
const sessionsOf = (header: ReadHeader, target: string): readonly string[] =>
  [header(SESSION_FIELD) ?? [], sessionsInQuery(target)].flat();

/** Returns the response to a request that names another caller's id; `undefined` if it names none. */
function invalidOwner(ownerships: readonly Ownership[], ofOther: Invalid): Invalid | undefined {
  if (ownerships.some(({ kind }) => kind === "unknown")) return INVALID.unknownOwner;
  return ownerships.some(({ kind }) => kind === "other") ? ofOther : undefined;
}

function requireVerdict(raw: object, server: ResourceServer): Verdict {
  const verdict = verdictOf(raw, server);
  if (!verdict) throw new Error("The guard didn't decide this request.");
  return verdict;
}

const BODY_LOST =
  "The body was read before protectMcp, and wasn't stored as a JSON value. Put protectMcp before the code that reads it.";
