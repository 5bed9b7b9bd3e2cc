import { type ListedRoute } from "../../tools/audit/coverage.ts";
import { checkOptions, type OptionChecks } from "../../core/options/check-options.ts";
import { isGuard } from "../shared/roles.ts";
import {
  describeUnguarded,
  listInOrder,
  type Registration,
  type UnguardedRoute,
  writeOut,
} from "../shared/route-list.ts";
import { isRouter, type KoaRouter } from "./context.ts";

/** The part of a Koa application (2 and 3) that `routesOf` reads. */
export interface KoaApplication {
  /** The middleware that was passed to `app.use`, in order. */
  readonly middleware: readonly unknown[];
}

/** Where a listed router or application is mounted. */
export interface RoutesOptions {
  /** The path that was passed to koa-mount, such as `/api`. Default: none. */
  readonly prefix?: string;
}

/**
 * Lists the routes for `server.audit`: of an application with `app.use(router.routes())`, or of one or
 * several routers, nested ones included. Optional groups are written out, a handler for every method is `*`,
 * and HEAD next to GET is part of GET. The audit reports a regular expression as unreadable.
 *
 * Routes that `protect` does not run in front of are marked as unguarded. A `protect` in a router guards
 * nothing. If the application has no guard, every route is marked, and the audit warns.
 *
 * Other middleware hides its routes: koa-mount, koa-compose and handlers that read `ctx.path`. List a mounted
 * application or router with its mount path, and audit all lists as one.
 *
 * @throws TypeError for anything else, and for an application that uses no router
 * @throws ConfigurationError for a `prefix` that is not a path, and for an unknown option
 * @example
 * ```ts
 * import Router from "@koa/router";
 * import Koa from "koa";
 * import mount from "koa-mount";
 * import { createResourceServer } from "scopegate";
 * import { protect, routesOf } from "scopegate/koa";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const router = new Router().get("/agents", (ctx) => (ctx.body = []));
 * const teams = new Router().get("/", (ctx) => (ctx.body = []));
 * const app = new Koa().use(protect(server)).use(router.routes()).use(mount("/teams", teams.routes()));
 * server.audit([...routesOf(app), ...routesOf(teams, { prefix: "/teams" })]).orThrow();
 * ```
 */
export function routesOf(
  from: KoaApplication | KoaRouter | readonly KoaRouter[],
  options: RoutesOptions = {},
): readonly ListedRoute[] {
  checkOptions("routesOf", options, OPTIONS);
  const { prefix = "" } = options;
  return listInOrder(readRouters(from).flatMap((used) => registrationsOf(used, prefix.replace(/\/$/, ""))));
}

const OPTIONS: OptionChecks<RoutesOptions> = {
  prefix: {
    accepts: (prefix) => typeof prefix === "string" && /^(?:\/.*)?$/.test(prefix),
    hint: 'Write a path: { prefix: "/api" }.',
  },
};

/** A router, and why `protect` does not guard it; `undefined` if it does, or if it is listed alone. */
interface UsedRouter {
  readonly router: KoaRouter;
  readonly place: UnguardedRoute | undefined;
}

function readRouters(from: unknown): readonly UsedRouter[] {
  const alone = isRouter(from) ? [from] : from;
  if (Array.isArray(alone) && alone.length > 0 && alone.every(isRouter))
    return alone.map((router) => ({ router, place: undefined }));
  const { middleware } = Object(from) as { readonly middleware?: unknown };
  if (!Array.isArray(middleware))
    throw new TypeError(
      "routesOf takes a Koa application or routers: write routesOf(app) or routesOf(router).",
    );
  const routers = middleware.map((one) => (Object(one) as { readonly router?: unknown }).router);
  if (!routers.some(isRouter))
    throw new TypeError(
      "routesOf finds no router in the application. Call it after app.use(router.routes()). For a mounted or composed router write routesOf(router, { prefix }).",
    );
  const guard = middleware.findIndex(isGuard);
  return routers.flatMap((router, index) =>
    isRouter(router)
      ? [{ router, place: guard < 0 ? placeIn(router) : guard < index ? undefined : "before" }]
      : [],
  );
}

/** Returns the place of a router in an application that has no guard. */
const placeIn = ({ stack }: KoaRouter): UnguardedRoute =>
  stack.some((layer) => layer.stack.some(isGuard)) ? "router" : "unknown";

/** Returns no route for a layer without methods, because it is middleware. */
const registrationsOf = ({ router, place }: UsedRouter, mount: string): readonly Registration[] =>
  router.stack.flatMap(({ path, methods, stack }) => {
    const unguarded = place && describeUnguarded(place, stack);
    const whole = mount !== "" && path === "/" ? mount : `${mount}${String(path)}`;
    const patterns = typeof path === "string" ? writeOut(whole) : [`RegExp ${whole}`];
    return patterns.map((pattern) => ({ methods, pattern, unguarded, isPartial: whole.includes("(") }));
  });
