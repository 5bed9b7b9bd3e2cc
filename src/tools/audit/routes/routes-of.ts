import { isListable } from "../../../adapters/express/router.ts";
import { isRouter } from "../../../adapters/koa/context.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { isPending } from "../../../core/runtime/pending.ts";
import { rememberRelisting } from "../other-guards.ts";
import { listExpress } from "./express.ts";
import { type FastifyRoutesInstance, isFastify, listFastify } from "./fastify.ts";
import { isHono, listHono } from "./hono.ts";
import { areRouters, isKoa, listKoa } from "./koa.ts";
import { isNest, listNest } from "./nest.ts";
import { listNext, type NextRoutesOptions } from "./next.ts";
import type { RoutesOptions } from "./registration.ts";
import { isTrpc, listTrpc, type TrpcRouter, type TrpcRoutesOptions } from "./trpc.ts";

type Routes = Iterable<ListedRoute> | Promise<readonly ListedRoute[]>;

interface Framework {
  readonly recognizes: (app: unknown) => boolean;
  readonly list: (app: never, options: never) => Routes;
}

const FRAMEWORKS: readonly Framework[] = [
  // A router of tRPC comes first, because its procedures are properties with any name.
  { recognizes: isTrpc, list: listTrpc },
  { recognizes: isNest, list: listNest },
  { recognizes: isFastify, list: listFastify },
  { recognizes: isHono, list: listHono },
  // Routers of Koa have a stack, as those of Express do.
  { recognizes: (app) => isKoa(app) || isRouter(app) || areRouters(app), list: listKoa },
  { recognizes: isListable, list: listExpress },
];

/** Returns whether the routes of a value can be listed. A tRPC router would also need its prefix. */
export const isApplication = (value: unknown): value is object =>
  !isTrpc(value) && FRAMEWORKS.some(({ recognizes }) => recognizes(value));

/**
 * Lists the routes of an application for `audit`, `page` and `scopegate audit`: of Express (4 and 5), Koa,
 * Fastify, Hono or NestJS, of a router of Express or Koa, of an array of Koa's routers, of a tRPC router, or
 * of a folder `app` of Next.js.
 *
 * - Optional groups are written out, a handler for every method is `*`, and HEAD next to GET is part of GET.
 *   A route that no pattern can express, such as a regular expression, is also listed, so that the audit
 *   reports it. So are static files, Swagger UI and applications that Hono mounts.
 * - Routes that `protect` doesn't run before are marked as unguarded. If the application has no guard, every
 *   route is marked. For a router alone and for tRPC, this isn't known.
 * - **Fastify**: call it right after `fastify()`, before any route or awaited plugin, and read the result
 *   after `app.ready()`. **NestJS**: call it after `app.init()`. **Koa** and **tRPC**: pass the `prefix`.
 *   **Next.js**: pass the `config`. The result is a promise.
 *
 * @throws TypeError for any other value, and for a mounted application that isn't in `mounted`
 * @throws ConfigurationError for unknown options, and for options that this framework doesn't have
 * @throws Error if Fastify already has routes, or the result is read too early, and for NestJS without
 * `ScopegateModule` or before `app.init()`
 * @example
 * ```ts
 * import fastify from "fastify";
 * import { createResourceServer } from "scopegate";
 * import { audit, routesOf } from "scopegate/audit";
 * import { protect } from "scopegate/fastify";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = fastify();
 * const routes = routesOf(app);
 * await app.register(protect(server));
 * app.get("/agents/:agent_id", () => "an agent");
 * await app.ready();
 * audit(server, routes).orThrow();
 * ```
 */
export function routesOf(router: TrpcRouter, options: TrpcRoutesOptions): Promise<readonly ListedRoute[]>;
export function routesOf(app: FastifyRoutesInstance): readonly ListedRoute[];
export function routesOf(app: object, options?: RoutesOptions): readonly ListedRoute[];
export function routesOf(folder: string, options?: NextRoutesOptions): Promise<readonly ListedRoute[]>;
export function routesOf(
  app: object | string,
  options: NextRoutesOptions | RoutesOptions | TrpcRoutesOptions = {},
): Routes {
  if (typeof app === "string") return listNext(app, options as NextRoutesOptions);
  const framework = FRAMEWORKS.find(({ recognizes }) => recognizes(app));
  if (framework) return withRelisting(() => framework.list(app as never, options as never));
  const { constructor } = Object(app) as { readonly constructor?: { readonly name?: unknown } };
  const received = Object(app) === app ? String(constructor?.name) : typeof app;
  throw new TypeError(
    `routesOf takes an application of Express, Koa, Fastify, Hono or NestJS, a router of Express, Koa or tRPC, or the path of the folder app of Next.js, but received ${received}.`,
  );
}

/**
 * Only tRPC, whose routers have no guards, returns a promise. For Fastify, the routes are known when the
 * application is ready: the result is an array that is listed when it's read, and throws before that.
 */
function withRelisting(list: () => Routes): Routes {
  const routes = list();
  if (isPending(routes)) return routes;
  if (Array.isArray(routes)) return rememberRelisting(routes, list as () => Iterable<ListedRoute>);
  const listed: ListedRoute[] = [];
  const readList = (): readonly ListedRoute[] => {
    if (listed.length === 0) listed.push(...rememberRelisting(routes, () => routes));
    return listed;
  };
  return new Proxy<readonly ListedRoute[]>(listed, {
    // An async function that returns the array reads `then`, which may be before the application is ready.
    get: (_, name) => (name === "then" ? undefined : (Reflect.get(readList(), name) as unknown)),
  });
}
