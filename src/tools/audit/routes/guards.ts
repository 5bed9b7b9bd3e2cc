/** Recognizes the guards and scope checks of an application. */
import {
  guardedInstances,
  holdingInstances,
  withOuter,
} from "../../../adapters/fastify/guarded-instances.ts";
import { findMarked } from "../../../adapters/shared/roles.ts";

/** The server whose guards count, during `withGuardsOf`. */
let countedServer: object | undefined;

/** Runs a function in which only the guards of one server count as guards. */
export function withGuardsOf<Result>(server: object, run: () => Result): Result {
  countedServer = server;
  try {
    return run();
  } finally {
    countedServer = undefined;
  }
}

export const isCounted = (server: object | undefined): boolean =>
  countedServer === undefined || countedServer === server;

export function isGuard(middleware: unknown): boolean {
  const marked = findMarked(middleware);
  return marked?.scopegateRole === "guard" && isCounted(marked.scopegateServer?.());
}

export const isScopeCheck = (middleware: unknown): boolean =>
  findMarked(middleware)?.scopegateRole === "scope check";

/** Returns whether `protect` was registered in a Fastify application or in one of its plugins. */
export const holdsGuard = (app: object): boolean => hasCounted(holdingInstances, app);

/** Returns whether `protect` runs for the routes of a Fastify instance. */
export const isGuardedInstance = (instance: object): boolean => hasCounted(guardedInstances, instance);

const hasCounted = (servers: typeof guardedInstances, instance: object): boolean =>
  withOuter(instance).some((outer) => [...(servers.get(outer) ?? [])].some(isCounted));
