import { isRouter, type KoaRouter } from "../../../adapters/koa/context.ts";
import { isGuard } from "./guards.ts";
import { checkOptions, type OptionCheck } from "../../../core/options/check-options.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { writeOut } from "../../../core/policy/route-comparison.ts";
import {
  describeUnguarded,
  listInOrder,
  type Registration,
  type UnguardedRoute,
  type RoutesOptions,
} from "./registration.ts";

interface KoaApplication {
  /** The middleware that was passed to `app.use`, in order. */
  readonly middleware: readonly unknown[];
}

/** Returns whether a value is a Koa application (2 and 3). */
export const isKoa = (value: unknown): value is KoaApplication =>
  "callback" in (Object(value) as object) && Array.isArray((value as Partial<KoaApplication>).middleware);

/** Returns whether a value is an array of routers. */
export const areRouters = (value: unknown): value is readonly KoaRouter[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRouter);

/**
 * Lists the routes of an application with `app.use(router.routes())`, or of one or several routers, nested
 * ones included. A regular expression becomes an unreadable pattern. `protect` inside a router guards
 * nothing. koa-mount, koa-compose and handlers that read `ctx.path` hide their routes.
 */
export function listKoa(
  app: KoaApplication | KoaRouter | readonly KoaRouter[],
  options: RoutesOptions,
): readonly ListedRoute[] {
  checkOptions("routesOf", options, { prefix: MOUNT_PATH });
  const { prefix = "" } = options;
  const mount = prefix.replace(/\/$/, "");
  return listInOrder(usedRouters(app).flatMap((used) => registrationsOf(used, mount)));
}

const MOUNT_PATH: OptionCheck = {
  accepts: (prefix) => typeof prefix === "string" && /^(?:\/.*)?$/.test(prefix),
  hint: 'Write a path: { prefix: "/api" }.',
};

/** A router, and why `protect` doesn't guard it; `undefined` if it does, or if the router is listed alone. */
interface UsedRouter {
  readonly router: KoaRouter;
  readonly place: UnguardedRoute | undefined;
}

function usedRouters(app: KoaApplication | KoaRouter | readonly KoaRouter[]): readonly UsedRouter[] {
  if (!isKoa(app)) return [app].flat().map((router) => ({ router, place: undefined }));
  const routers = app.middleware.map((handler) => (Object(handler) as { readonly router?: unknown }).router);
  if (!routers.some(isRouter))
    throw new TypeError(
      "routesOf finds no router in the application. Call it after app.use(router.routes()). For a mounted or composed router write routesOf(router, { prefix }).",
    );
  const guard = app.middleware.findIndex(isGuard);
  return routers.flatMap((router, index): readonly UsedRouter[] => {
    if (!isRouter(router)) return [];
    if (guard >= 0) return [{ router, place: guard < index ? undefined : "before" }];
    const holdsGuard = router.stack.some(({ stack }) => stack.some(isGuard));
    return [{ router, place: holdsGuard ? "router" : "unknown" }];
  });
}

/** Returns no route for a layer without methods: it's middleware. */
const registrationsOf = ({ router, place }: UsedRouter, mount: string): readonly Registration[] =>
  router.stack.flatMap(({ path, methods, stack }) => {
    const unguarded = place && describeUnguarded(place, stack);
    const whole = mount !== "" && path === "/" ? mount : `${mount}${String(path)}`;
    const patterns = typeof path === "string" ? writeOut(whole) : [`RegExp ${whole}`];
    return patterns.map((pattern) => ({ methods, pattern, unguarded, isPartial: whole.includes("(") }));
  });
