/** Guards the middleware of @fastify/express and @fastify/middie, which runs before Fastify's route. */
import { type ResourceServer } from "../../core/server.ts";
import { protect } from "../express/index.ts";
import { watchRoutes } from "../express/route-check.ts";
import { putInFront } from "../express/router.ts";

/** An instance that @fastify/express or @fastify/middie may have decorated. */
interface WithMiddleware {
  readonly use?: (middleware: unknown) => unknown;
  /** Only with @fastify/express. */
  readonly express?: { use(middleware: unknown): unknown };
}

export function createMiddlewareGuard(server: ResourceServer) {
  const guarded = new WeakSet<object>();
  return {
    /** Guards what is added to an instance from now on, if its middleware runs before the adapter's hook. */
    attach(instance: object): void {
      const own: WithMiddleware = instance;
      if (own.express) guarded.add(own.express);
      own.use?.(protect(server));
    },
    /** Guards a request after the hook. Returns whether the instance has routers that check routes. */
    watch(raw: object, instance: object): boolean {
      const { express, use }: WithMiddleware = instance;
      if (!use) return false;
      watchRoutes(raw);
      if (express && !guarded.has(express)) {
        guarded.add(express);
        // @fastify/express passes on a decoded URL, so the application needs its own guard.
        putInFront(express, protect(server));
      }
      return true;
    },
  };
}
