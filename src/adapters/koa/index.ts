import { type Principal } from "../../token/principal.ts";
import { type PathReading } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { createBodyWarning } from "../body-parser.ts";
import { createScopeCheck, findPrincipal, guard } from "../guard.ts";
import { isRouter, type KoaMiddleware, type KoaRouter, readTarget, send } from "./context.ts";
import { findUnchecked, passOnTo, rememberInside, watchRouters } from "./route-check.ts";
import { asGuard, asScopeCheck } from "../middleware-marks.ts";
import { assertOptions, assertResourceServer, misplaced } from "../misuse.ts";

export { type KoaContext, type KoaLayer, type KoaMiddleware, type KoaRouter } from "./context.ts";
export { type KoaApplication, type RoutesOptions, routesOf } from "./list-routes.ts";

/** How the routers of the application read a path: the options given to `@koa/router`. */
export interface ProtectOptions {
  /** `/Agents` is another route than `/agents`: `sensitive` of the router. Default: `false`. */
  readonly caseSensitive?: boolean;
  /** `/agents/` is another route than `/agents`. Default: `false`. */
  readonly strict?: boolean;
  /** The routers behind the guard, whose `sensitive` and `strict` are then read; several must agree. Default: none told. */
  readonly router?: KoaRouter | readonly KoaRouter[];
}

/**
 * Protects everything behind it: `app.use(protect(server))` before body parsers and routers. Refusals are answered; a
 * fault is thrown to Koa. Each route of @koa/router behind it asks again before it runs; other handlers are decided by the path
 * alone.
 *
 * @example
 * ```ts
 * import Router from "@koa/router";
 * import Koa from "koa";
 * import { createResourceServer } from "scopegate";
 * import { principalOf, protect } from "scopegate/koa";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const router = new Router();
 * router.get("/agents/:agent_id", (ctx) => {
 *   ctx.body = { caller: principalOf(ctx)?.userId };
 * });
 * const app = new Koa();
 * app.use(protect(server)).use(router.routes());
 * ```
 */
export function protect(server: ResourceServer, options: ProtectOptions = {}): KoaMiddleware {
  assertResourceServer(server);
  assertOptions(options, ["caseSensitive", "strict", "router"]);
  const reading = readReading(options);
  const warnOfBody = createBodyWarning();
  const protecting: KoaMiddleware = async (context, next) => {
    if (typeof next !== "function" || !("req" in context)) throw misplaced("koa", context, next);
    if ((context.request as { readonly body?: unknown } | undefined)?.body !== undefined)
      warnOfBody(context.req);
    rememberInside(context, protecting);
    watchRouters(context);
    const refusal = await guard(server, context.req, {
      method: context.method.toUpperCase(),
      target: readTarget(context),
      reading,
    });
    const unchecked = refusal ? [] : findUnchecked(context);
    if (refusal) send(context, refusal);
    else if (unchecked.length > 0) await passOnTo(unchecked, context, next);
    else await next();
  };
  return asGuard(protecting);
}

/**
 * Asks one route for scopes on top of its rule; `<name>` stands for a parameter of the route. Needs `protect` in front.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): KoaMiddleware {
  const check = createScopeCheck(scopes);
  return asScopeCheck(async (context, next) => {
    const refusal = check(context.req, context.params);
    if (refusal) send(context, refusal);
    else await next();
  });
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(context: { readonly req: object }): Principal | undefined {
  return findPrincipal(context.req);
}

/** Where routers differ, nothing is known of what a path is to all of them. */
function readReading({ caseSensitive, strict, router = [] }: ProtectOptions): PathReading {
  const routers: readonly unknown[] = [router].flat();
  if (!routers.every(isRouter))
    throw new TypeError("protect takes a router of @koa/router: write protect(server, { router }).");
  const sensitive = caseSensitive ?? agreed(routers.map(({ opts }) => opts.sensitive));
  const exact = strict ?? agreed(routers.map(({ opts }) => opts.strict));
  return {
    ignoreCase: sensitive === undefined ? undefined : !sensitive,
    ignoreTrailingSlash: exact === undefined ? undefined : !exact,
  };
}

/** What all of them say; without any the default of @koa/router. */
function agreed(answers: readonly (boolean | undefined)[]): boolean | undefined {
  const said = new Set(answers.map(Boolean));
  return said.size > 1 ? undefined : said.has(true);
}
