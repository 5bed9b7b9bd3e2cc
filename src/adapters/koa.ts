import { type Principal } from "../principal.ts";
import { attempt } from "../errors.ts";
import { originForm, pathOf } from "../request.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type Refusal } from "../response/refusal.ts";
import {
  assertOptions,
  assertResourceServer,
  createScopeCheck,
  findPrincipal,
  guard,
  type NodeRequest,
} from "./guard.ts";

/** The part of Koa's context (2 and 3) that is read and written. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly originalUrl: string;
  /** Set by koa-mount. */
  readonly mountPath?: string;
  /** Set by a middleware that has @koa/router route by another path. */
  readonly newRouterPath?: string;
  /** Set by @koa/router. */
  readonly params?: Readonly<Record<string, string>>;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): unknown;
}

/** A middleware, typed by what it uses: it fits both majors and leaves the types of the state alone. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/** How the routers of the application read a path: the options given to `@koa/router`. */
export interface ProtectOptions {
  /** `/Agents` is another route than `/agents`: `sensitive` of the router. Default: `false`. */
  readonly caseSensitive?: boolean;
  /** `/agents/` is another route than `/agents`. Default: `false`. */
  readonly strict?: boolean;
}

/**
 * Protects everything behind it: `app.use(protect(server))` before body parsers and routers. Refusals are answered; a
 * fault is thrown to Koa.
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
  assertOptions(options, ["caseSensitive", "strict"]);
  const reading = { ignoreCase: !options.caseSensitive, ignoreTrailingSlash: !options.strict };
  return async (context, next) => {
    const refusal = await guard(server, context.req, {
      method: context.method,
      target: readTarget(context),
      reading,
    });
    if (refusal) send(context, refusal);
    else await next();
  };
}

/**
 * Asks one route for scopes on top of its rule; `<name>` stands for a parameter of the route. Needs `protect` in front.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): KoaMiddleware {
  const check = createScopeCheck(scopes);
  return async (context, next) => {
    const refusal = check(context.req, context.params);
    if (refusal) send(context, refusal);
    else await next();
  };
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(context: { readonly req: object }): Principal | undefined {
  return findPrincipal(context.req);
}

/**
 * The whole path as the routers see it. koa-mount strips its prefix from `path` and keeps `originalUrl`; where the two do
 * not fit, a middleware rewrote the URL on the way. That, and a URL that Koa itself cannot read, is an empty target,
 * which is refused.
 */
function readTarget(context: KoaContext): string {
  const { mountPath, newRouterPath, originalUrl, url } = context;
  // Koa's parser throws for some authorities; its routers would answer 500.
  const path = attempt(() => context.path);
  if (path === undefined) return "";
  if (newRouterPath !== undefined) return mountPath === undefined ? newRouterPath : "";
  if (mountPath === undefined) return url;
  const whole = pathOf(originForm(originalUrl) ?? "");
  // koa-mount leaves its mark behind when it lets a request pass on: then nothing is stripped.
  if (path === whole) return url;
  const prefix = mountPath.replace(/\/$/, "");
  const isMounted = whole.endsWith(path.startsWith("/") ? prefix + path : `${prefix}/${path}`);
  return isMounted || (path === "/" && whole.endsWith(prefix)) ? originalUrl : "";
}

function send(context: KoaContext, { status, headers, body }: Refusal): void {
  context.status = status;
  context.set({ ...headers });
  // As text: Koa gives an object the type application/json.
  context.body = JSON.stringify(body);
}
