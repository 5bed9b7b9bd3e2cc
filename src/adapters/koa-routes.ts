import { type ListedRoute } from "../policy/route-coverage.ts";
import { isRouter, type KoaRouter } from "./koa-context.ts";
import { listRoutes, type Registration, toWrittenPatterns } from "./listed-routes.ts";

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
  return listRoutes(routersOf(from).flatMap((router) => registrationsOf(router, mount)));
}

function routersOf(from: unknown): readonly KoaRouter[] {
  if (isRouter(from)) return [from];
  if (Array.isArray(from) && from.length > 0 && from.every(isRouter)) return from;
  const { middleware } = Object(from) as { readonly middleware?: unknown };
  if (!Array.isArray(middleware)) {
    throw new TypeError(
      "routesOf takes a Koa application or routers: write routesOf(app) or routesOf(router).",
    );
  }
  const routers = middleware
    .map((one) => (Object(one) as { readonly router?: unknown }).router)
    .filter(isRouter);
  if (routers.length === 0) {
    throw new TypeError(
      "routesOf finds no router in the application. Call it after app.use(router.routes()); where that is mounted or composed, write routesOf(router, { prefix }).",
    );
  }
  return routers;
}

/** A layer without methods is middleware, and so no route. */
const registrationsOf = ({ stack }: KoaRouter, mount: string): readonly Registration[] =>
  stack.flatMap(({ path, methods }) => patternsOf(path, mount).map((pattern) => ({ methods, pattern })));

function patternsOf(path: string | RegExp, mount: string): readonly string[] {
  if (typeof path !== "string") return [`RegExp ${mount}${String(path)}`];
  return toWrittenPatterns(mount !== "" && path === "/" ? mount : mount + path);
}
