import { type ListedRoute, type UnguardedPlace } from "../../audit/coverage.ts";
import { isRouter, type KoaLayer, type KoaRouter } from "./context.ts";
import { listRoutes, type Registration, toWrittenPatterns } from "../listed-routes.ts";
import { isGuard, isScopeCheck } from "../middleware-marks.ts";
import { describePlace } from "../unguarded.ts";

/** The part of a Koa application (2 and 3) whose routes are listed. */
export interface KoaApplication {
  /** What was given to `app.use`, in order. */
  readonly middleware: readonly unknown[];
}

/** Where a listed router or application is mounted. */
export interface RoutesOptions {
  /** The path that koa-mount was given: `/api`. Default: none. */
  readonly prefix?: string;
}

/**
 * Lists the routes for `server.audit`: of an application whose routers were given to `app.use(router.routes())`, or of one
 * or several routers. Nested routers and prefixes are followed, optional groups are written out, a handler for every method
 * is `*`, and the HEAD of a GET route is part of it. A route whose path is a regular expression is listed as its text, which the audit reports.
 *
 * A route that `protect` does not run in front of is told as such, where the application itself is listed and holds `protect`.
 *
 * It cannot look into other middleware: koa-mount, koa-compose and handlers that read `ctx.path` look alike. List a mounted
 * application or router with its mount path, and audit all lists as one.
 *
 * @throws TypeError for anything else, and for an application that uses no router
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
  const unknown = Object.keys(options).find((name) => name !== "prefix");
  if (unknown !== undefined)
    throw new TypeError(`routesOf received unknown option \`${unknown}\`. It takes { prefix }.`);
  const { prefix = "" } = options;
  if (typeof prefix !== "string" || !/^(?:\/.*)?$/.test(prefix))
    throw new TypeError('The prefix of routesOf is a path: write { prefix: "/api" }.');
  const mount = prefix.replace(/\/$/, "");
  return listRoutes(readRouters(from).flatMap((used) => registrationsOf(used, mount)));
}

/** A router, and where the guards of its application stand; of a router alone that is not known. */
interface UsedRouter {
  readonly router: KoaRouter;
  readonly guard: "in front" | "behind" | "elsewhere" | "unknown";
}

function readRouters(from: unknown): readonly UsedRouter[] {
  const bare = isRouter(from) ? [from] : from;
  if (Array.isArray(bare) && bare.length > 0 && bare.every(isRouter))
    return bare.map((router) => ({ router, guard: "unknown" }));
  const { middleware } = Object(from) as { readonly middleware?: unknown };
  if (!Array.isArray(middleware)) {
    throw new TypeError(
      "routesOf takes a Koa application or routers: write routesOf(app) or routesOf(router).",
    );
  }
  const routers = middleware.map((one) => (Object(one) as { readonly router?: unknown }).router);
  if (!routers.some(isRouter)) {
    throw new TypeError(
      "routesOf finds no router in the application. Call it after app.use(router.routes()); where that is mounted or composed, write routesOf(router, { prefix }).",
    );
  }
  const first = middleware.findIndex(isGuard);
  const isInside = routers.some((router) => isRouter(router) && router.stack.some(holdsGuard));
  const otherwise = isInside ? "elsewhere" : "unknown";
  return routers.flatMap((router, index) =>
    isRouter(router)
      ? [{ router, guard: first < 0 ? otherwise : first < index ? "in front" : "behind" }]
      : [],
  );
}

/** A layer without methods is middleware, and so no route. */
const registrationsOf = ({ router, guard }: UsedRouter, mount: string): readonly Registration[] =>
  router.stack.flatMap((layer) => {
    const unguarded = findUnguarded(layer, router.stack, guard);
    return patternsOf(layer.path, mount).map((pattern) => ({ methods: layer.methods, pattern, unguarded }));
  });

function findUnguarded(
  layer: KoaLayer,
  stack: readonly KoaLayer[],
  guard: UsedRouter["guard"],
): UnguardedPlace | undefined {
  if (guard === "in front" || guard === "unknown") return undefined;
  const running = stack.filter((one) => holdsGuard(one) && runsFor(one, layer));
  if (running.some((one) => stack.indexOf(one) <= stack.indexOf(layer))) return undefined;
  const isBefore = guard === "behind" || running.length > 0;
  return describePlace(isBefore ? "before" : "outside", layer.stack.some(isScopeCheck));
}

const holdsGuard = ({ stack }: KoaLayer): boolean => stack.some(isGuard);

/** Whether all requests of a route pass another layer as well; an expression is compared with the text of the route's path. */
const runsFor = (guard: KoaLayer, layer: KoaLayer): boolean =>
  guard === layer ||
  ((guard.methods.length === 0 || layer.methods.every((method) => guard.methods.includes(method))) &&
    (guard.regexp?.test(String(layer.path)) ?? true));

function patternsOf(path: string | RegExp, mount: string): readonly string[] {
  if (typeof path !== "string") return [`RegExp ${mount}${String(path)}`];
  return toWrittenPatterns(mount !== "" && path === "/" ? mount : mount + path);
}
