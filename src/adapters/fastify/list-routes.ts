import { type ListedRoute, type UnguardedPlace } from "../../audit/coverage.ts";
import { toPattern } from "./pattern.ts";
import { listRoutes, type Registration, unquote } from "../listed-routes.ts";
import { isScopeCheck } from "../middleware-marks.ts";
import { describePlace } from "../unguarded.ts";

/** The part of a Fastify instance (4 and 5) whose routes are listed. */
export interface FastifyRoutesInstance {
  /** The routes as a text; asked whether there is one already. */
  printRoutes(): string;
  /** Adds a hook that is told of each route. */
  addHook(name: "onRoute", hook: (route: FastifyRoute) => void): unknown;
  /** Adds a hook that is told when all routes are there. */
  addHook(name: "onReady", hook: (done: () => void) => void): unknown;
}

/** A route, as Fastify tells its `onRoute` hooks. */
export interface FastifyRoute {
  /** One method or several. */
  readonly method: string | readonly string[];
  /** The whole path in Fastify's syntax. */
  readonly url: string;
}

/** What `printRoutes` of an instance without routes says, in both majors. */
const NO_ROUTES = "(empty tree)";

/**
 * Lists the routes of an instance for `server.audit`, those of its plugins included. It listens to their registration:
 * call it straight after `fastify()`, before any route and before a plugin is awaited, and read the list after `app.ready()`.
 * A handler for every method is `*`, the HEAD route that Fastify adds to a GET route is part of it, and patterns are
 * written as in the table (`/files/*path`). It does not see the 404 handler, nor what hooks answer themselves. Where `protect` is registered, a route
 * outside of its plugin is told as such.
 *
 * @throws Error where the instance has routes already, and where the list is read before the application is ready
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
  if (app.printRoutes() !== NO_ROUTES) {
    throw new Error(
      "routesOf(app) comes too late: the application has routes that it was not told of. Write `const routes = routesOf(app)` straight after `const app = fastify()`.",
    );
  }
  const registered: {
    readonly instance: object;
    readonly own: Registration;
    readonly place: UnguardedPlace;
  }[] = [];
  let isReady = false;
  app.addHook("onRoute", function (this: object, route) {
    const own = { methods: [route.method].flat(), pattern: toWrittenPattern(route.url) };
    registered.push({ instance: this, own, place: describeOutside(route) });
  });
  app.addHook("onReady", (done) => {
    isReady = true;
    done();
  });
  return Object.freeze({
    [Symbol.iterator](): Iterator<ListedRoute> {
      if (!isReady) {
        throw new Error(
          "The routes of plugins are not registered yet. Write `await app.ready()` before server.audit(routes).",
        );
      }
      // A hook reaches the routes that were there before it: only now it is known.
      const registrations = registered.map(({ instance, own, place }) =>
        isKnown(app) && !isGuardedInstance(instance) ? { ...own, unguarded: place } : own,
      );
      return listRoutes(registrations)[Symbol.iterator]();
    },
  });
}

const guardedInstances = new WeakSet<object>();
const holdingInstances = new WeakSet<object>();

/** Remembers where `protect` was registered. A plugin's instance has the one that it was registered on for a prototype. */
export function rememberGuarded(instance: object): void {
  guardedInstances.add(instance);
  for (const one of lineOf(instance)) holdingInstances.add(one);
}

const isKnown = (app: object): boolean => lineOf(app).some((one) => holdingInstances.has(one));
const isGuardedInstance = (instance: object): boolean =>
  lineOf(instance).some((one) => guardedInstances.has(one));

function lineOf(instance: object): readonly object[] {
  const above = Object.getPrototypeOf(instance) as object | null;
  return above === null || above === Object.prototype ? [instance] : [instance, ...lineOf(above)];
}

const describeOutside = (route: FastifyRoute): UnguardedPlace =>
  describePlace("outside of the plugin", Object.values(route).flat().some(isScopeCheck));

/** In the syntax of the table; the parameter `*` of Fastify's wildcard needs a name there. */
const toWrittenPattern = (url: string): string => unquote(toPattern(url).replace(/\*"\*"$/, "*path"));
