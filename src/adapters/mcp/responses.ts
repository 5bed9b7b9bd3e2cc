/** What to observe or change in the response to an allowed request. */
import type { Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { ResourceServer } from "../../core/server.ts";
import { untilExpiry } from "../../capabilities/connections/until-expiry.ts";
import type { ReadHeader } from "./body.ts";
import { isCallable } from "./caller.ts";
import { filterLists, type Json, LISTS } from "./lists.ts";
import { idOf, type Messages } from "./messages.ts";
import type { Ownership, Owners } from "./owners.ts";
import type { ResponseEdits } from "./response-editor.ts";
import { filterTasks, findStartedTask, readOperation, writeOperation } from "./tasks.ts";

export interface WatchSettings {
  readonly server: ResourceServer;
  readonly sessions: Owners;
  readonly tasks: Owners;
  readonly listFilter: boolean;
  readonly streamCheckSeconds: number | false;
}

/** The request of a response. */
export interface WatchedRequest {
  readonly method: string;
  readonly header: ReadHeader;
}

/** `sessionId` in the spellings that servers read, such as `session_id` and `sessionId[]`. */
const SESSION_PARAMETER = /^session[-_]?id(?:\[|$)/i;

/**
 * Returns the sessions in a query: the transport with two endpoints, which revision 2025-03-26 replaced, has
 * them there. A server may read any of several parameters.
 */
export function sessionsInQuery(target: string): readonly string[] {
  const start = target.indexOf("?");
  if (start < 0) return [];
  const parameters = [...new URLSearchParams(target.slice(start + 1))];
  return parameters.flatMap(([name, value]) => (SESSION_PARAMETER.test(name) ? [value] : []));
}

/** For `NODE_DEBUG`: most handlers that respond with 400 have read a stream that has ended. */
const BODY_REFUSED =
  "400: the MCP server refused the body that protectMcp passed on. If the error is a parse error, pass the parsed body to the server, such as req.body.";

/** What an adapter does with the response to an allowed request. */
export class ResponseWatch {
  readonly #settings: WatchSettings;
  readonly #verdict: Verdict;
  readonly #messages: Messages;
  readonly #request: WatchedRequest;
  /** The sessions that the stream of this response has announced. */
  readonly #announced: string[] = [];
  /** Resolves when every process knows the session that this response starts. */
  started: Pending<void> = undefined;

  constructor(settings: WatchSettings, verdict: Verdict, messages: Messages, request: WatchedRequest) {
    this.#settings = settings;
    this.#verdict = verdict;
    this.#messages = messages;
    this.#request = request;
  }

  /** Whether the response can start a session. Nothing of it is sent before `started`. */
  get canStartSession(): boolean {
    return this.#has("initialize");
  }

  /** Receives the status and the session of a response. */
  start(status: number, sessionId: string | undefined): void {
    const { server, sessions } = this.#settings;
    const { principal, request } = this.#verdict;
    const ended = this.#request.header("mcp-session-id");
    if (this.#request.method === "DELETE" && status < 300 && ended !== undefined) sessions.end(ended);
    if (status === 400 && this.#messages.body) pipelineOf(server).observer.logResponse(BODY_REFUSED, request);
    if (sessionId !== undefined && this.canStartSession) this.started = sessions.start(sessionId, principal);
  }

  /** Calls `end` when a stream of events must end. Call the returned function when it has ended by itself. */
  watchStream(end: () => void): () => void {
    const { server, sessions, streamCheckSeconds } = this.#settings;
    const { principal } = this.#verdict;
    const stop =
      principal && streamCheckSeconds !== false
        ? untilExpiry(principal, { server, checkEverySeconds: streamCheckSeconds, onEnd: end })
        : undefined;
    return () => {
      stop?.();
      for (const id of this.#announced) sessions.end(id);
    };
  }

  /** What is read and changed in the body; `undefined` if it's sent as the handler writes it. */
  get edits(): ResponseEdits | undefined {
    const { server, sessions, tasks, listFilter } = this.#settings;
    const { principal } = this.#verdict;
    const isGet = this.#request.method === "GET";
    const { policy } = pipelineOf(server);
    const hasTasks = policy.rules.operations.hasTasks || !policy.needsRule;
    const isLegacyStream = isGet && this.#request.header("mcp-session-id") === undefined;
    // The stream of a session can replay the responses to earlier requests.
    const isListFilter = listFilter && (isGet || LISTS.some(({ method }) => this.#has(method)));
    const isTaskFilter = hasTasks && (isGet || this.#has("tasks/list"));
    const canStartTasks = hasTasks && (isGet || this.#messages.calls.length > 0);
    if (!isLegacyStream && !isListFilter && !canStartTasks) return undefined;
    // A task is listed as its result is sent: only while its caller may repeat the call.
    const isListed = (task: Ownership): boolean => {
      const operation = task.kind === "own" ? readOperation(task.note) : undefined;
      return task.kind === "own" && (!operation || policy.decideOperation(principal, operation).allowed);
    };
    const editMessage = (message: Json): Pending<Json> => {
      const started = canStartTasks ? this.#startTask(message) : undefined;
      const listed = isListFilter
        ? filterLists(message, (called) => isCallable(server, principal, called))
        : message;
      const findTask = (id: string) => andThen(tasks.find(id, principal), isListed);
      return andThen(started, () => (isTaskFilter ? filterTasks(listed, findTask) : listed));
    };
    const seeEvent = (name: string, data: string): Promise<unknown> => {
      const ids = name === "endpoint" ? sessionsInQuery(data) : [];
      this.#announced.push(...ids);
      return Promise.all(ids.map((id) => Promise.resolve(sessions.start(id, principal))));
    };
    const isFilter = isListFilter || (isTaskFilter && !isGet);
    return compact({ editMessage, isFilter, seeEvent: isLegacyStream ? seeEvent : undefined });
  }

  #has(name: string): boolean {
    return this.#messages.messages.some(({ method }) => method === name);
  }

  /** Remembers the caller and the operation of a task. */
  #startTask(message: Json): Pending<void> {
    const taskId = findStartedTask(message);
    if (taskId === undefined) return undefined;
    const id = idOf(message);
    const calls = [this.#messages.body]
      .flat()
      .flatMap((request, index) =>
        idOf(request) === id ? (this.#messages.messages[index]?.calls.slice(0, 1) ?? []) : [],
      );
    // If two requests have one id, it isn't known which of them the response is for.
    const call = calls.length === 1 ? calls[0] : undefined;
    // The stream of a session has the responses to earlier requests, whose operations are no longer known.
    const isOfSession = this.#request.method === "GET";
    if (!call && !isOfSession) return undefined;
    return this.#settings.tasks.start(taskId, this.#verdict.principal, call ? writeOperation(call) : "");
  }
}
