import { holdsGuard, isGuardedInstance } from "./guards.ts";
import { toWrittenPattern } from "../../../adapters/fastify/pattern.ts";
import { checkOptions } from "../../../core/options/check-options.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { SERVES } from "../mounts.ts";
import { describeUnguarded, listRoutes, type Registration, type RoutesOptions } from "./registration.ts";

/** The part of a Fastify instance (4 and 5) by which `routesOf` recognizes it. */
export interface FastifyRoutesInstance {
  /** Returns the routes as a string, to find out whether the instance has any. */
  printRoutes(): string;
}

interface FastifyInstance extends FastifyRoutesInstance {
  /** The names of the plugins around a route. */
  readonly pluginName: string;
  readonly prefix: string;
  addHook(name: "onRoute", hook: (this: FastifyInstance, route: FastifyRoute) => void): unknown;
  addHook(name: "onReady", hook: (done: () => void) => void): unknown;
}

/** A route, as Fastify passes it to `onRoute` hooks, with its handlers. */
interface FastifyRoute {
  readonly method: string | readonly string[];
  readonly url: string;
}

/** Returns whether a value is an instance of Fastify. */
export const isFastify = (value: unknown): value is FastifyInstance =>
  ["printRoutes", "addHook"].every((name) => name in (Object(value) as object));

/**
 * Lists the routes of an instance and its plugins. Fastify reports a route only to a hook that was added
 * before it, so the list is complete when the application is ready. The 404 handler is left out.
 * @throws Error if the instance already has routes, or if the list is read before the application is ready
 */
export function listFastify(app: FastifyInstance, options: RoutesOptions): Iterable<ListedRoute> {
  checkOptions("routesOf", options, {});
  if (app.printRoutes() !== "(empty tree)")
    throw new Error(
      "routesOf(app) is called too late: the application already has routes, which it can't list. Write `const routes = routesOf(app)` directly after `const app = fastify()`.",
    );
  const registered: { instance: object; registration: Registration; handlers: readonly unknown[] }[] = [];
  let isReady = false;
  app.addHook("onRoute", function (route) {
    // Copied at once, because Fastify may reuse the object for another path.
    const methods = [route.method].flat();
    const handlers = Object.values(route).flat();
    const serves = findServed(this, methods, route.url);
    const isSwaggerUi = serves === SERVES.swaggerUi;
    const pattern = isSwaggerUi ? `${this.prefix}{/*path}` : toWrittenPattern(route.url);
    if (isSwaggerUi && registered.some(({ registration }) => registration.pattern === pattern)) return;
    registered.push({ instance: this, registration: { methods, pattern, serves }, handlers });
  });
  app.addHook("onReady", (done) => {
    isReady = true;
    done();
  });
  return Object.freeze({
    [Symbol.iterator](): Iterator<ListedRoute> {
      if (!isReady)
        throw new Error(
          "The routes of plugins aren't registered yet. Write `await app.ready()` before audit(server, routes).",
        );
      // Only known now, because a hook also applies to routes that were registered before it.
      const place = holdsGuard(app) ? "plugin" : "unregistered";
      const registrations = registered.map(({ instance, registration, handlers }) =>
        isGuardedInstance(instance)
          ? registration
          : { ...registration, unguarded: describeUnguarded(place, handlers) },
      );
      return listRoutes(registrations)[Symbol.iterator]();
    },
  });
}

function findServed(instance: FastifyInstance, methods: readonly string[], url: string): string | undefined {
  const { pluginName, prefix } = instance;
  if (pluginName.endsWith("fastifyTRPCPlugin")) return SERVES.procedures;
  // Fastify names a plugin by its file. All routes of this one belong to one page, which needs one rule.
  if (/@fastify[/\\]swagger-ui[/\\]/.test(pluginName) && /[^/]$/.test(prefix)) return SERVES.swaggerUi;
  // `@fastify/cors` registers this route with its hook, and hooks run in the order of registration.
  const isCors = methods.includes("OPTIONS") && url.endsWith("*");
  return isCors && isGuardedInstance(instance) ? SERVES.lateCors : undefined;
}
