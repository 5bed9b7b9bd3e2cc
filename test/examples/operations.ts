/** Calls operations of the example service without a server. */
import { loadKnowledge } from "../../examples/knowledge-service/knowledge.ts";
import {
  type Caller,
  createOperations,
  type OperationInput,
  type OperationOutput,
} from "../../examples/knowledge-service/operations.ts";

const knowledge = loadKnowledge();

/** A caller who may read everything, with the session `s-1`. */
export const everyone: Caller = {
  userId: "ada",
  sessionId: "s-1",
  resourceIds: () => "all",
};

export interface OperationService {
  /** `METHOD /pattern` of every operation. */
  readonly routes: readonly string[];
  /** Runs the operation of a route, as `everyone` unless the input has another caller. */
  readonly perform: (route: string, input?: Partial<OperationInput>) => OperationOutput;
}

/** Creates a service with its own sessions. */
export function createService(): OperationService {
  const operations = new Map(
    createOperations(knowledge).map((operation) => [`${operation.method} ${operation.pattern}`, operation]),
  );
  return {
    routes: [...operations.keys()],
    perform: (route, input = {}) => {
      const operation = operations.get(route);
      if (!operation) throw new Error(`No operation has the route ${route}.`);
      const query = new URLSearchParams();
      return operation.run({ caller: everyone, params: {}, query, body: undefined, ...input });
    },
  };
}
