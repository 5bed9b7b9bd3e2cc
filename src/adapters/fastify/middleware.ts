/** Guards what @fastify/express and @fastify/middie run: routers of their own, in front of Fastify's route. */
import { type ResourceServer } from "../../resource-server.ts";
import { protect } from "../express/index.ts";
import { watchRoutes } from "../express/route-check.ts";
import { putInFront } from "../express/router.ts";

/** An instance that one of the two has decorated. */
interface WithMiddleware {
  readonly use?: (middleware: unknown) => unknown;
  /** Only with @fastify/express. */
  readonly express?: { use(middleware: unknown): unknown };
}

export interface MiddlewareGuard {
  /** Guards what is added to an instance from now on, where its middleware runs before the hook of the adapter. */
  readonly attach: (instance: object) => void;
  /** Guards what runs behind the hook for a request. Returns whether the instance has routers that check routes. */
  readonly watch: (raw: object, instance: object) => boolean;
}

export function createMiddlewareGuard(server: ResourceServer): MiddlewareGuard {
  const guarded = new WeakSet<object>();
  return {
    attach(instance: WithMiddleware) {
      if (instance.express) guarded.add(instance.express);
      instance.use?.(protect(server));
    },
    watch(raw, instance: WithMiddleware) {
      const { express, use } = instance;
      if (!use) return false;
      watchRoutes(raw);
      if (express && !guarded.has(express)) {
        guarded.add(express);
        // @fastify/express decodes the URL that it passes on, so the application needs a guard of its own.
        putInFront(express, protect(server));
      }
      return true;
    },
  };
}
