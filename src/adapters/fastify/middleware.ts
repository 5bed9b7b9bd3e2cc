/** What @fastify/express and @fastify/middie run: before the route that Fastify picked, with routers of their own. */
import { type PathReading } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { protect } from "../express/index.ts";
import { watchRoutes } from "../express/route-check.ts";
import { putInFront } from "../express/router.ts";

/** An instance that one of the two has decorated. */
interface WithMiddleware {
  readonly use?: (middleware: unknown) => unknown;
  /** Of @fastify/express alone. */
  readonly express?: { use(middleware: unknown): unknown };
}

/** Guards the middleware of an application. */
export interface MiddlewareGuard {
  /** Guards what an instance is given from now on, where its middleware runs before our hook. */
  readonly attach: (instance: object) => void;
  /** Guards what runs behind our hook for a request of an instance; answers how the paths of the instance are read. */
  readonly watch: (raw: object, instance: object, reading: PathReading) => PathReading;
}

export function createMiddlewareGuard(server: ResourceServer): MiddlewareGuard {
  const guarded = new WeakSet<object>();
  return {
    attach(instance: WithMiddleware) {
      if (instance.express) guarded.add(instance.express);
      instance.use?.(protect(server));
    },
    watch(raw, instance: WithMiddleware, reading) {
      const { express, use } = instance;
      if (!use) return reading;
      watchRoutes(raw);
      if (express && !guarded.has(express)) {
        guarded.add(express);
        // It decodes the URL that it serves, which its handlers must not get unchecked.
        putInFront(express, protect(server));
      }
      return withoutStrictness(reading);
    },
  };
}

/** Routers that stand beside Fastify's may be more lenient. */
const withoutStrictness = ({ ignoreCase, ignoreTrailingSlash }: PathReading): PathReading => ({
  ignoreCase: ignoreCase ? true : undefined,
  ignoreTrailingSlash: ignoreTrailingSlash ? true : undefined,
});
