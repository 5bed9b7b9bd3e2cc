/** Guards the middleware of @fastify/express and @fastify/middie, which runs before Fastify's route. */
import type { ResourceServer } from "../../core/resource-server.ts";
import { protect } from "../express/index.ts";
import { watchRoutes } from "../express/route-check.ts";
import { routerOf } from "../express/router.ts";

/** An instance that @fastify/express or @fastify/middie may have decorated. */
export interface WithMiddleware {
  use(middleware: unknown): unknown;
  /** Only with @fastify/express. */
  readonly express?: { use(middleware: unknown): unknown };
}

export function createMiddlewareGuard(server: ResourceServer) {
  const guarded = new WeakSet<object>();
  return {
    /** Guards what is added to an instance from now on, if its middleware runs before the adapter's hook. */
    attach(instance: WithMiddleware): void {
      if (instance.express) guarded.add(instance.express);
      instance.use(protect(server));
    },
    /** Checks the routes of routers that a request reaches after the hook. */
    watch(raw: object, { express }: WithMiddleware): void {
      watchRoutes(raw);
      if (express && !guarded.has(express)) {
        guarded.add(express);
        // @fastify/express passes on a decoded URL, so the application needs its own guard.
        express.use(protect(server));
        // As its first middleware.
        const stack = routerOf(express)?.stack;
        stack?.unshift(...stack.splice(-1));
      }
    },
  };
}
