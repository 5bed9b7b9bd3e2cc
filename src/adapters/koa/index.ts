import type { ResourceServer } from "../../core/resource-server.ts";
import type { Principal } from "../../core/token/principal.ts";
import { findPrincipal, guardRequest, notesOf } from "../shared/guard.ts";
import { createBodyWarning } from "../shared/body-warning.ts";
import { assertResourceServer, misplaced } from "../shared/misuse.ts";
import { assertNoOptions, type NoOptions } from "../shared/no-options.ts";
import { createMetadata } from "../shared/metadata.ts";
import { toAccessRequest } from "../shared/access-request.ts";
import { findMarked, withRole } from "../shared/roles.ts";
import { createScopeCheck } from "../shared/scope-check.ts";
import { type KoaContext, type KoaMiddleware, proceed, readTarget } from "./context.ts";
import { watchRouters } from "./route-check.ts";

export type { KoaContext, KoaLayer, KoaMiddleware, KoaRouter } from "./context.ts";

/**
 * Protects everything after it: write `app.use(protect(server))` before body parsers and routers. It sends
 * refusals itself, and throws errors to Koa.
 *
 * Each route of @koa/router after the guard is checked again before it runs. For other handlers, only the
 * path's rule decides. Inside a @koa/router the guard throws, because the router may skip it for a route.
 *
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError for any option
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
export function protect(server: ResourceServer, options: NoOptions = {}): KoaMiddleware {
  assertResourceServer(server);
  assertNoOptions(options);
  const warnOfBody = createBodyWarning();
  // Not async: a promise costs as much as checking a remembered token.
  const protecting = (context: KoaContext, next: () => Promise<unknown>): unknown => {
    if (typeof next !== "function" || !("req" in context) || !("originalUrl" in context))
      throw misplaced("koa", context, next);
    if (isInsideRouter(context)) throw new TypeError(INSIDE_ROUTER);
    // No warning after another guard: it refuses requests before a parser in between reads their bodies.
    const { body } = Object(context.request) as { readonly body?: unknown };
    if (body !== undefined && !notesOf(context.req)) warnOfBody(context.req);
    watchRouters(context);
    const request = toAccessRequest(
      context.req,
      context,
      context.method.toUpperCase(),
      readTarget(context).target,
    );
    const setHeader = (name: string, value: string) => context.set({ [name]: value });
    return proceed(context, guardRequest(server, context.req, request, true, setHeader), next);
  };
  return withRole("guard", protecting as KoaMiddleware, server);
}

const isInsideRouter = ({ matched }: KoaContext): boolean =>
  matched?.flat().some(({ stack }) => stack.some(isGuard)) ?? false;

const isGuard = (middleware: unknown): boolean => findMarked(middleware)?.scopegateRole === "guard";

const INSIDE_ROUTER =
  "protect must not be used inside a @koa/router, which may skip its middleware for a route: write app.use(protect(server)) before the router.";

/**
 * Serves the metadata of the option `resource` (RFC 9728) to OAuth clients, such as those of MCP: write
 * `app.use(metadata(server))` before `protect`. The document is public and has CORS headers for every origin.
 * @throws TypeError for a server without the option `resource`
 */
export function metadata(server: ResourceServer): KoaMiddleware {
  const find = createMetadata(server);
  return async (context, next) => {
    await proceed(context, find(context.method.toUpperCase(), context.originalUrl), next);
  };
}

/**
 * Requires scopes for one route on top of its rule; `<name>` is a route parameter. Needs `protect` before it.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): KoaMiddleware {
  const check = createScopeCheck(scopes);
  return withRole("scope check", async (context, next) => {
    await proceed(context, check(context.req, context.params), next);
  });
}

/**
 * Returns the caller of a protected request; `undefined` if no token was read, or no `protect` ran.
 * @throws TypeError for an object of another framework
 */
export function principalOf(context: { readonly req: object }): Principal | undefined {
  return findPrincipal("koa", context, (context as Partial<typeof context> | undefined)?.req);
}
