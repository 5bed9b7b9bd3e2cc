/** What must be seen or changed in the response to an allowed request. */
import type { Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { ResourceServer } from "../../core/server.ts";
import { untilExpiry } from "../../core/until-expiry.ts";
import type { ReadHeader } from "./body.ts";
import { isCallable } from "./caller.ts";
import { filterLists, LISTS } from "./lists.ts";
import { idOf, type Message, type Messages } from "./messages.ts";
import { isOwn, type Owners } from "./owners.ts";
import type { EditMessage, ResponseEdits } from "./response-editor.ts";
import { filterTasks, findStartedTask, writeOperation } from "./tasks.ts";

/** What a host does with the response to an allowed request. */
export interface ResponseWatch {
  /** Sees the status and the session of a response. */
  readonly start: (status: number, sessionId: string | undefined) => void;
  /** Absent if the body is sent as the handler writes it. */
  readonly edits: ResponseEdits | undefined;
  /** Calls `end` when a stream of events must end. Call the returned function when it has ended by itself. */
  readonly watchStream: (end: () => void) => () => void;
}

interface Settings {
  readonly server: ResourceServer;
  readonly sessions: Owners;
  readonly tasks: Owners;
  readonly listFilter: boolean;
  readonly streamCheckSeconds: number | false;
}

const NOTHING = (): void => undefined;

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

export function createWatch(
  settings: Settings,
  { principal, request }: Verdict,
  { body, messages }: Messages,
  { method, header }: { readonly method: string; readonly header: ReadHeader },
): ResponseWatch {
  const { server, sessions, tasks, listFilter, streamCheckSeconds } = settings;
  const { hasTasks } = pipelineOf(server).policy.rules.operations;
  const has = (name: string): boolean => messages.some((message) => message.method === name);
  const started: string[] = [];
  const startSession = (id: string): void => {
    started.push(id);
    sessions.start(id, principal);
  };

  const editors: EditMessage[] = [];
  // A stream of a session can replay the answers to earlier requests.
  const isFilter = listFilter && (method === "GET" || LISTS.some((list) => has(list.method)));
  if (isFilter)
    editors.push((message) => filterLists(message, (called) => isCallable(server, principal, called)));
  if (hasTasks && messages.some(({ calls }) => calls.length > 0)) {
    const callOf = new Map(
      [body].flat().map((entry, index) => [idOf(entry), (messages[index] as Message).calls[0]] as const),
    );
    editors.push((message) => {
      const taskId = findStartedTask(message);
      const call = callOf.get(idOf(message));
      if (taskId !== undefined && call) tasks.start(taskId, principal, writeOperation(call));
      return message;
    });
  }
  const isTaskFilter = hasTasks && has("tasks/list");
  if (isTaskFilter) editors.push((message) => filterTasks(message, (id) => isOwn(tasks.find(id, principal))));

  const isLegacyStream = method === "GET" && header("mcp-session-id") === undefined;
  const seeEvent = (name: string, data: string): void => {
    if (name === "endpoint") sessionsInQuery(data).forEach(startSession);
  };
  const editMessage: EditMessage = (message) =>
    editors.reduce<ReturnType<EditMessage>>(
      (edited, edit) => ("then" in edited ? (edited as Promise<typeof message>).then(edit) : edit(edited)),
      message,
    );
  const isEdited = editors.length > 0 || isLegacyStream;
  return {
    start(status, sessionId) {
      if (sessionId !== undefined && has("initialize")) sessions.start(sessionId, principal);
      const ended = header("mcp-session-id");
      if (method === "DELETE" && status < 300 && ended !== undefined) sessions.end(ended);
    },
    edits: isEdited
      ? compact({
          editMessage,
          isFilter: isFilter || isTaskFilter,
          seeEvent: isLegacyStream ? seeEvent : undefined,
        })
      : undefined,
    watchStream(end) {
      const stop =
        principal && streamCheckSeconds !== false
          ? untilExpiry(principal, { server, checkEverySeconds: streamCheckSeconds, onEnd: end })
          : NOTHING;
      return () => {
        stop();
        for (const id of started) sessions.end(id);
      };
    },
  };
}
