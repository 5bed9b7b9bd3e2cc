import type { Principal } from "scopegate";
import { describeKnowledge, type KnowledgeConfiguration } from "./knowledge.ts";
import { isProblem } from "./problem.ts";
import { createResources, type Resources } from "./resources.ts";
import { createSessions, type Sessions } from "./sessions.ts";

/** The part of a principal that the operations need. */
export type Caller = Pick<Principal, "userId" | "sessionId" | "resourceIds">;

export interface OperationInput {
  readonly caller: Caller | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface OperationOutput {
  readonly status: number;
  readonly contentType?: "application/json" | "application/problem+json";
  readonly body?: unknown;
}

/** One endpoint, independent of the framework. */
export interface Operation {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly pattern: string;
  readonly run: (input: OperationInput) => OperationOutput;
}

/** Creates the endpoints of one service. Each call creates new state. */
export function createOperations(knowledge: KnowledgeConfiguration): readonly Operation[] {
  const agents = createResources("agents");
  const teams = createResources("teams");
  const sessions = createSessions();
  return [
    ...resourceOperations(agents),
    ...resourceOperations(teams),
    ...sessionOperations(sessions),
    guarded("GET", "/knowledge/config", ({ query }) => answer(200, describeKnowledge(knowledge, query))),
    guarded("POST", "/custom/endpoint", ({ body }) => answer(201, { received: body })),
    open("GET", "/public/stats", () =>
      answer(200, { agents: agents.size, teams: teams.size, sessions: sessions.size }),
    ),
    open("GET", "/health", () => answer(200, { status: "ok" })),
  ];
}

function resourceOperations(resources: Resources): readonly Operation[] {
  const { kind, idName } = resources;
  const id = parameter(idName);
  return [
    guarded("GET", `/${kind}`, (_, caller) => answer(200, resources.list(caller.resourceIds(kind, "read")))),
    guarded("GET", `/${kind}/:${idName}`, (input) => answer(200, resources.read(id(input)))),
    guarded("POST", `/${kind}/:${idName}/runs`, (input, { userId }) =>
      answer(201, resources.run(id(input), input.body, userId)),
    ),
  ];
}

function sessionOperations(sessions: Sessions): readonly Operation[] {
  const id = parameter("session_id");
  return [
    guarded("GET", "/sessions", (_, caller) => answer(200, sessions.list(caller.userId))),
    guarded("POST", "/sessions", ({ body }, caller) => answer(201, sessions.start(caller, body))),
    guarded("GET", "/sessions/:session_id", (input) => answer(200, sessions.read(id(input)))),
    guarded("PATCH", "/sessions/:session_id", (input) => answer(200, sessions.rename(id(input), input.body))),
    guarded("DELETE", "/sessions/:session_id", (input) => answer(204, sessions.delete(id(input)))),
  ];
}

function open(method: Operation["method"], pattern: string, run: Operation["run"]): Operation {
  return { method, pattern, run };
}

/**
 * A protected operation. It throws without a caller, because then the guard is missing, which is a bug of the
 * service.
 */
function guarded(
  method: Operation["method"],
  pattern: string,
  run: (input: OperationInput, caller: Caller) => OperationOutput,
): Operation {
  return open(method, pattern, (input) => {
    if (!input.caller) throw new Error(`${method} ${pattern} needs an authenticated caller.`);
    return run(input, input.caller);
  });
}

const parameter =
  (name: string) =>
  ({ params }: OperationInput): string => {
    const value = params[name];
    if (value === undefined) throw new Error(`The route parameter ${name} is missing.`);
    return value;
  };

function answer(status: number, result: object): OperationOutput {
  if (isProblem(result)) {
    return { status: result.status, contentType: "application/problem+json", body: result };
  }
  return status === 204 ? { status } : { status, contentType: "application/json", body: result };
}
