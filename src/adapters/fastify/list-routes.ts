import { type ListedRoute } from "../../tools/audit/coverage.ts";
import { describeUnguarded, listRoutes, type Registration } from "../shared/route-list.ts";
import { toWrittenPattern } from "./pattern.ts";

/** The part of a Fastify instance (4 and 5) whose routes are listed. */
export interface FastifyRoutesInstance {
  /** Returns the routes as a string, to find out whether the instance has any. */
  printRoutes(): string;
  /** Adds a hook that runs for each route. */
  addHook(name: "onRoute", hook: (route: FastifyRoute) => void): unknown;
  /** Adds a hook that runs when all routes are registered. */
  addHook(name: "onReady", hook: (done: () => void) => void): unknown;
}

/** A route, as Fastify passes it to `onRoute` hooks. */
export interface FastifyRoute {
  /** One method or several. */
  readonly method: string | readonly string[];
  /** The whole path in Fastify's syntax. */
  readonly url: string;
}

/**
 * Lists the routes of an instance and its plugins for `server.audit`. Call it right after `fastify()`, before
 * any route or awaited plugin, and read the list after `app.ready()`. A handler for every method is `*`, HEAD
 * next to GET is part of GET, and patterns are as in the table (`/files/*path`). The 404 handler is left out.
 *
 * Routes outside the plugin that `protect` is registered in are marked as unguarded. If `protect` is not
 * registered at all, every route is marked, and the audit warns.
 *
 * @throws Error if the instance already has routes, or if the list is read before the application is ready
 * @example
 * ```ts
 * import fastify from "fastify";
 * import { createResourceServer } from "scopegate";
 * import { protect, routesOf } from "scopegate/fastify";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = fastify();
 * const routes = routesOf(app);
 * await app.register(protect(server));
 * app.get("/agents/:agent_id", () => "an agent");
 * await app.ready();
 * server.audit(routes).orThrow();
 * ```
 */
export function routesOf(app: FastifyRoutesInstance): Iterable<ListedRoute> {
  if (app.printRoutes() !== "(empty tree)")
    throw new Error(
      "routesOf(app) is called too late: the application already has routes, which it cannot list. Write `const routes = routesOf(app)` directly after `const app = fastify()`.",
    );
  const registered: [instance: object, own: Registration, handlers: readonly unknown[]][] = [];
  let isReady = false;
  app.addHook("onRoute", function (this: object, route) {
    // Copied now, because Fastify may reuse the object for another path.
    const own = { methods: [route.method].flat(), pattern: toWrittenPattern(route.url) };
    registered.push([this, own, Object.values(route).flat()]);
  });
  app.addHook("onReady", (done) => {
    isReady = true;
    done();
  });
  return Object.freeze({
    [Symbol.iterator](): Iterator<ListedRoute> {
      if (!isReady)
        throw new Error(
          "The routes of plugins are not registered yet. Write `await app.ready()` before server.audit(routes).",
        );
      // A hook also applies to routes that were registered before it, so this is only known now.
      const place = holdsGuard(app) ? "plugin" : "unknown";
      const registrations = registered.map(([instance, own, handlers]) =>
        isGuardedInstance(instance) ? own : { ...own, unguarded: describeUnguarded(place, handlers) },
      );
      return listRoutes(registrations)[Symbol.iterator]();
    },
  });
}

const guardedInstances = new WeakSet<object>();
const holdingInstances = new WeakSet<object>();

/** Records where `protect` was registered. The prototype of a plugin's instance is the instance around it. */
export function rememberGuarded(instance: object): void {
  guardedInstances.add(instance);
  for (const one of lineOf(instance)) holdingInstances.add(one);
}

const holdsGuard = (app: object): boolean => lineOf(app).some((one) => holdingInstances.has(one));
const isGuardedInstance = (instance: object): boolean =>
  lineOf(instance).some((one) => guardedInstances.has(one));

function lineOf(instance: object): readonly object[] {
  const above = Object.getPrototypeOf(instance) as object | null;
  return above === null || above === Object.prototype ? [instance] : [instance, ...lineOf(above)];
}
