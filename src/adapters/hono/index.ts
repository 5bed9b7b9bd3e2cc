import { pipelineOf } from "../../core/port.ts";
import type { AccessRequest } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Principal } from "../../core/token/principal.ts";
import { findPrincipal, guardRequest, shareVerdicts } from "../shared/guard.ts";
import { assertResourceServer, misplaced } from "../shared/misuse.ts";
import { assertNoOptions, type NoOptions } from "../shared/no-options.ts";
import { createMetadata } from "../shared/metadata.ts";
import { withRole } from "../shared/roles.ts";
import { createScopeCheck } from "../shared/scope-check.ts";
import { readWebRequest, targetOf } from "../shared/web-request.ts";
import { type HonoContext, type HonoMiddleware, type Next, proceed, readTarget } from "./context.ts";
import { checkRoutes } from "./route-check.ts";

export type { HonoContext, HonoMiddleware } from "./context.ts";

/**
 * Protects everything that is registered after it: write `app.use(protect(server))` before the routes. It
 * sends refusals itself, and throws errors to `app.onError`. Each route is checked again before it runs.
 *
 * Functions with a `next` that are registered for every method below a path, as by `app.use("/api/*", ...)`,
 * `app.all("/api/*", ...)` and `mount`, aren't routes: only the path's rule decides.
 *
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError for any option
 * @example
 * ```ts
 * import { Hono } from "hono";
 * import { createResourceServer } from "scopegate";
 * import { principalOf, protect } from "scopegate/hono";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = new Hono();
 * app.use(protect(server));
 * app.get("/agents/:agent_id", (c) => c.json({ caller: principalOf(c)?.userId }));
 * ```
 */
export function protect(server: ResourceServer, options: NoOptions = {}): HonoMiddleware {
  assertResourceServer(server);
  assertNoOptions(options);
  const readsCertificates = (pipelineOf(server).rules.keyProofs?.socketUse ?? "none") !== "none";
  const protecting = (context: HonoContext, next: Next): unknown => {
    if (typeof next !== "function" || !("newResponse" in context)) throw misplaced("hono", context, next);
    checkRoutes(context);
    const seen = readWebRequest(context.req.raw, context, readTarget(context));
    const request = readsCertificates ? withNodeRequest(seen, context) : seen;
    const setHeader = (name: string, value: string) => context.header(name, value);
    const refusal = guardRequest(server, context, request, true, setHeader, context.req.raw);
    // tRPC passes on the request, not the context.
    shareVerdicts(context, context.req.raw);
    return proceed(context, refusal, next);
  };
  return withRole("guard", protecting as HonoMiddleware, server);
}

/** On Node.js, only Node's own request has the socket with the certificate of the client. */
function withNodeRequest(request: AccessRequest, { env }: HonoContext): AccessRequest {
  const { incoming } = Object(env) as { readonly incoming?: object };
  return incoming ? { ...request, raw: incoming } : request;
}

/**
 * Serves the metadata of the option `resource` (RFC 9728) to OAuth clients, such as those of MCP: write
 * `app.use(metadata(server))` before `protect`. The document is public and has CORS headers for every origin.
 * @throws TypeError for a server without the option `resource`
 */
export function metadata(server: ResourceServer): HonoMiddleware {
  const find = createMetadata(server);
  const serving = (context: HonoContext, next: Next): unknown => {
    const { method, url } = context.req.raw;
    return proceed(context, find(method, targetOf(url)), next);
  };
  return serving as HonoMiddleware;
}

/**
 * Requires scopes for one route on top of its rule; `<name>` is a route parameter. Needs `protect` before it.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): HonoMiddleware {
  const check = createScopeCheck(scopes);
  const checking = (context: HonoContext, next: Next): unknown => {
    const req = context.req as HonoContext["req"] & { param(): AccessRequest["params"] };
    return proceed(context, check(context, req.param()), next);
  };
  return withRole("scope check", checking as HonoMiddleware);
}

/**
 * Returns the caller of a protected request; `undefined` on public routes, on optional ones without a token,
 * and if no `protect` ran, as in a mounted application.
 * @throws TypeError for an object of another framework
 */
export const principalOf = (context: { readonly req: object }): Principal | undefined =>
  findPrincipal("hono", context, context);
