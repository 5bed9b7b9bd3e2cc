/** What to observe or change in the response to an allowed request. */
import type { Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Json } from "../../core/runtime/json.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { watchToken } from "../../capabilities/connections/watch-token.ts";
import type { OperationRules } from "../../capabilities/mcp-operations/operation-rules.ts";
import type { HttpResponse } from "../../core/response/http-response.ts";
import { isCallable } from "./caller.ts";
import { allowChallenge } from "./challenge.ts";
import { type Exchange, SESSION_FIELD, sessionsInQuery } from "./exchange.ts";
import { type EditEntry, editLists, LISTS } from "./lists.ts";
import { idOf, type Messages } from "./messages.ts";
import type { Ownership, OwnersPlace } from "./owners.ts";
import type { ResponseEdits } from "./response-editor.ts";
import { createSchemeWriter } from "./security-schemes.ts";
import { filterTasks, findStartedTask, readOperation, writeOperation } from "./tasks.ts";

export interface WatchSettings {
  readonly server: ResourceServer;
  readonly rules: OperationRules;
  readonly listFilter: boolean;
  readonly streamCheckSeconds: number | false;
}

/** An allowed request whose response is watched. */
export interface WatchedCall {
  readonly settings: WatchSettings;
  readonly place: OwnersPlace;
  readonly verdict: Verdict;
  readonly messages: Messages;
  readonly exchange: Pick<Exchange, "raw" | "method" | "header">;
  /** Puts the names of hidden operations back; absent if none is hidden. */
  readonly restoreNames?: (text: string) => string;
}

/** For `NODE_DEBUG`: most handlers that respond with 400 have read a stream that has ended. */
const BODY_REFUSED =
  "400: the MCP server refused the body that protectMcp passed on. If the error is a parse error, pass the parsed body to the server, such as req.body.";

/** What an adapter does with the response to an allowed request. */
export class ResponseWatch {
  readonly #call: WatchedCall;
  /** The sessions that the stream of this response has announced. */
  readonly #announced: string[] = [];
  /** Resolves when every process knows the session that this response starts. */
  started: Pending<void> = undefined;

  constructor(call: WatchedCall) {
    this.#call = call;
  }

  /** Calls `replaceBy` if the handler asks for more scopes before anything is sent. */
  onChallenge(replaceBy: (refusal: HttpResponse) => void): void {
    const { exchange, messages } = this.#call;
    allowChallenge(exchange.raw, { messages, replaceBy });
  }

  /** Whether the response can start a session. Nothing of it is sent before `started`. */
  get canStartSession(): boolean {
    return this.#has("initialize");
  }

  /** Receives the status and the session of a response. */
  start(status: number, sessionId: string | undefined): void {
    const { settings, place, verdict, messages, exchange } = this.#call;
    const { server } = settings;
    const { sessions } = place;
    const { principal, request } = verdict;
    const ended = exchange.header(SESSION_FIELD);
    if (exchange.method === "DELETE" && status < 300 && ended !== undefined) sessions.end(ended);
    if (status === 400 && messages.body) pipelineOf(server).observer.logResponse(BODY_REFUSED, request);
    if (sessionId !== undefined && this.canStartSession) this.started = sessions.start(sessionId, principal);
  }

  /** Calls `end` when a stream of events must end. Call the returned function when it has ended by itself. */
  watchStream(end: () => void): () => void {
    const { settings, place, verdict } = this.#call;
    const { server, streamCheckSeconds } = settings;
    const { principal } = verdict;
    const stop =
      principal && streamCheckSeconds !== false
        ? watchToken(principal, { server, checkEverySeconds: streamCheckSeconds, onEnd: end })
        : undefined;
    return () => {
      stop?.();
      for (const id of this.#announced) place.sessions.end(id);
    };
  }

  /** What is read and changed in the body; `undefined` if it's sent as the handler writes it. */
  get edits(): ResponseEdits | undefined {
    const { settings, place, verdict, messages, exchange, restoreNames } = this.#call;
    const { server, rules, listFilter } = settings;
    const { path, sessions, tasks } = place;
    const { principal, request } = verdict;
    const isGet = exchange.method === "GET";
    const { policy } = pipelineOf(server);
    const hasTasks = rules.hasTasks || policy.unmapped === "open";
    const isLegacyStream = isGet && exchange.header(SESSION_FIELD) === undefined;
    // The stream of a session can replay the responses to earlier requests.
    const hasLists = isGet || LISTS.some(({ method }) => this.#has(method));
    const isListFilter = hasLists && (listFilter || rules.hidden);
    const writeSchemes =
      hasLists && rules.securitySchemes ? createSchemeWriter(rules, policy, request) : undefined;
    const isTaskFilter = hasTasks && (isGet || this.#has("tasks/list"));
    const canStartTasks = hasTasks && (isGet || messages.calls.length > 0);
    // Every response to a named call is sent in the same way, so that hidden ones don't differ in headers.
    const hasNames = rules.hidden && messages.calls.some(({ name }) => name !== undefined);
    if (!isLegacyStream && !isListFilter && !writeSchemes && !canStartTasks && !hasNames) return undefined;
    // A task is listed as its result is sent: only while its caller may repeat the call.
    const isListed = (task: Ownership): boolean => {
      if (task.kind !== "own") return false;
      const operation = readOperation(task.note);
      return !operation || policy.decideGoverned(principal, rules.forOperation(operation, path)).allowed;
    };
    const editEntry: EditEntry = (entry, called) =>
      isListFilter && !isCallable(server, principal, called, { path })
        ? []
        : [writeSchemes?.(entry, called) ?? entry];
    const editMessage = (message: Json): Pending<Json> => {
      const started = canStartTasks ? this.#startTask(message) : undefined;
      const listed = isListFilter || writeSchemes ? editLists(message, editEntry) : message;
      const findTask = (id: string) => andThen(tasks.find(id, principal), isListed);
      return andThen(started, () => (isTaskFilter ? filterTasks(listed, findTask) : listed));
    };
    const seeEvent = (name: string, data: string): Promise<unknown> => {
      const ids = name === "endpoint" ? sessionsInQuery(data) : [];
      this.#announced.push(...ids);
      return Promise.all(ids.map((id) => Promise.resolve(sessions.start(id, principal))));
    };
    // A compressed response would send the name that stands for a hidden operation.
    const isFilter = isListFilter || (isTaskFilter && !isGet) || restoreNames !== undefined;
    return compact({ editMessage, isFilter, restoreNames, seeEvent: isLegacyStream ? seeEvent : undefined });
  }

  #has(name: string): boolean {
    return this.#call.messages.messages.some(({ method }) => method === name);
  }

  /** Remembers the caller and the operation of a task. */
  #startTask(message: Json): Pending<void> {
    const taskId = findStartedTask(message);
    if (taskId === undefined) return undefined;
    const { place, verdict, messages, exchange } = this.#call;
    const id = idOf(message);
    const calls = [messages.body]
      .flat()
      .flatMap((request, index) =>
        idOf(request) === id ? (messages.messages[index]?.calls.slice(0, 1) ?? []) : [],
      );
    // If two requests have one id, it isn't known which of them the response is for.
    const call = calls.length === 1 ? calls[0] : undefined;
    // The stream of a session has the responses to earlier requests, whose operations are no longer known.
    const isOfSession = exchange.method === "GET";
    if (!call && !isOfSession) return undefined;
    return place.tasks.start(taskId, verdict.principal, call ? writeOperation(call) : "");
  }
}
