import type { ResourceServer } from "../../core/resource-server.ts";
import { checkOptions, type OptionCheck } from "../../core/options/check-options.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { Principal } from "../../core/token/principal.ts";
import { findPrincipal } from "../shared/guard.ts";
import { createMetadata } from "../shared/metadata.ts";
import { assertResourceServer } from "../shared/misuse.ts";
import { assertNoOptions, type NoOptions } from "../shared/no-options.ts";
import { type Access, isAccess, NONCE_FIELD } from "./access.ts";
import { decideAccess } from "./decide-access.ts";
import { assertNoSocket } from "./no-socket.ts";
import { type BindRoute, createRoute, type FindRoute, type RouteParams } from "./route.ts";
import { targetOf, toResponse, type WebRequest } from "../shared/web-request.ts";
import { createScopeCheck } from "../shared/scope-check.ts";

export { type Access, type WebRequest };

/**
 * Decides a request. Returns the access, which has a `decision`, or the response to send, which has none.
 * Pass the route that the host reports, in its own syntax, and the parameters: its rule decides too.
 */
export type FetchGuard = (
  request: WebRequest,
  reported?: { readonly route: string; readonly params?: RouteParams | undefined },
) => Promise<Access | Response>;

interface HandlerRoute<Requested, Rest extends readonly unknown[]> {
  /** As the table writes it, with or without a method: `GET /agents/:agent_id`, `/docs{/*path}`. */
  readonly route: string;
  /** Returns its parameters. Default: `params` of the next argument, as in Next.js, or of Bun's request. */
  readonly params?: (request: Requested, ...rest: Rest) => Pending<RouteParams | undefined>;
  /** What the host removes from the start of the URL, such as the `basePath` of Next.js. Default: nothing. */
  readonly basePath?: string;
}

/** A handler after the guard; `rest` are the arguments that the framework passes after the request. */
export type GuardedHandler<Requested, Rest extends readonly unknown[]> = (
  request: Requested,
  access: Access,
  ...rest: Rest
) => Response | Promise<Response>;

/** A handler as frameworks call it. It returns a promise unless the decision needs no waiting. */
export type FetchHandler<Requested, Rest extends readonly unknown[]> = (
  request: Requested,
  ...rest: Rest
) => Response | Promise<Response>;

/** Returns the response to send if the caller of a guarded request lacks the scopes. */
export type ScopeGuard = (request: WebRequest, params?: RouteParams) => Response | undefined;

/**
 * Decides Fetch-standard requests: call the guard before anything else. If the result is a response (it has
 * no `decision`), return it. Find the handler by the same `request.url`, or pass the route that the host has
 * found: without it, a path that isn't spelled as in the table is refused. An error rejects the promise.
 *
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError for any option
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { protect } from "scopegate/fetch";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const guard = protect(server);
 * export async function fetch(request: Request): Promise<Response> {
 *   const access = await guard(request);
 *   if (!("decision" in access)) return access;
 *   return Response.json({ caller: access.principal?.userId });
 * }
 * ```
 */
export function protect(server: ResourceServer, options: NoOptions = {}): FetchGuard {
  assertResourceServer(server);
  // Without this check, only the guard would run, and never the handler.
  if (typeof options === "function")
    throw new TypeError("protect takes no handler: write withScopes(server, handler).");
  assertNoOptions(options);
  assertNoSocket(server, "protect of scopegate/fetch");
  const routes = new Map<unknown, BindRoute>();
  const findReported = ({ route, params }: NonNullable<Parameters<FetchGuard>[1]>): FindRoute => {
    const bindRoute = routes.get(route) ?? createRoute(server, "guard", route);
    // A host has few routes. A program could pass paths, and these must not fill the memory.
    if (routes.size < 1_000) routes.set(route, bindRoute);
    return bindRoute(params);
  };
  return async (request, reported) =>
    decideAccess(server, request, false, reported && ((sent) => findReported(reported)(sent)));
}

/** The headers of some responses can't be changed. */
async function withNextNonce(pending: Response | Promise<Response>, nonce: string): Promise<Response> {
  const response = await pending;
  const changeable = new Response(response.body, response);
  changeable.headers.set(NONCE_FIELD, nonce);
  return changeable;
}

/**
 * Guards one handler, or one for each method. They receive the caller as the second argument, and then the
 * arguments that the framework or runtime passes after the request, for example `env` and `ctx` of Workers.
 * They run only for allowed requests: the rule for `route` and the rule for the client's path must both be
 * satisfied, because hosts rewrite URLs. Without a route, an open rule with a wildcard opens no handler. An
 * error is thrown, or rejects the promise.
 *
 * @throws TypeError for anything but a resource server and functions
 * @throws ConfigurationError for a route that isn't written as in the table
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { withScopes } from "scopegate/fetch";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * export const { GET, DELETE } = withScopes(server, { route: "/agents/:agent_id" }, {
 *   GET: (request, { principal }) => Response.json({ caller: principal?.userId }),
 *   DELETE: () => new Response(null, { status: 204 }),
 * });
 * ```
 */
export function withScopes<
  Requested extends WebRequest = Request,
  Rest extends readonly unknown[] = readonly unknown[],
>(
  server: ResourceServer,
  route: HandlerRoute<Requested, Rest>,
  handler: GuardedHandler<Requested, Rest>,
): FetchHandler<Requested, Rest>;
export function withScopes<
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- with unknown, arguments aren't inferred
  Rests extends Readonly<Record<string, readonly any[]>>,
  Requested extends WebRequest = Request,
>(
  server: ResourceServer,
  route: HandlerRoute<Requested, readonly never[]>,
  handlers: { readonly [Method in keyof Rests]: GuardedHandler<Requested, Rests[Method]> },
): { readonly [Method in keyof Rests]: FetchHandler<Requested, Rests[Method]> };
export function withScopes<
  Requested extends WebRequest = Request,
  Rest extends readonly unknown[] = readonly unknown[],
>(server: ResourceServer, handler: GuardedHandler<Requested, Rest>): FetchHandler<Requested, Rest>;
export function withScopes(server: ResourceServer, ...written: readonly unknown[]): unknown {
  assertResourceServer(server, "withScopes");
  assertNoSocket(server, "withScopes of scopegate/fetch");
  if (written.length < 2) return guardHandler(server, written[0]);
  const [options, handler] = written as [HandlerRoute<WebRequest, readonly unknown[]>, unknown];
  const byMethod = typeof handler === "object" && handler !== null ? handler : undefined;
  checkOptions("withScopes", options, {
    route: byMethod ? PATH : ROUTE,
    params: PARAMS,
    basePath: BASE_PATH,
  });
  const guard = (route: string, each: unknown) =>
    guardHandler(server, each, createRoute(server, "withScopes", route), options);
  if (!byMethod) return guard(options.route, handler);
  return Object.fromEntries(
    Object.entries(byMethod).map(([method, each]) => [method, guard(`${method} ${options.route}`, each)]),
  );
}

const ROUTE: OptionCheck = { accepts: (value) => typeof value === "string", hint: "Write a string." };
const PATH: OptionCheck = {
  accepts: (value) => String(value).startsWith("/"),
  hint: "Write only the path: the names of the handlers are its methods.",
};
const PARAMS: OptionCheck = { accepts: (value) => typeof value === "function", hint: "Write a function." };

const BASE_PATH: OptionCheck = {
  accepts: (value) => typeof value === "string" && /^(?:\/[^/?#]+)+$/.test(value),
  hint: "Write it with its first slash: `/docs`.",
};

type HandlerOptions = Partial<HandlerRoute<WebRequest, readonly unknown[]>>;

/** Returns a function that isn't async: a promise costs as much as checking a remembered token. */
function guardHandler(
  server: ResourceServer,
  handler: unknown,
  bindRoute?: BindRoute,
  { params: readParams = findParams, basePath }: HandlerOptions = {},
): FetchHandler<WebRequest, readonly unknown[]> {
  if (typeof handler !== "function")
    throw new TypeError("withScopes takes a handler: write withScopes(server, { route }, (request) => ...).");
  return (request, ...rest) => {
    const respond = (access: Access | Response) => {
      if (!isAccess(access)) return access;
      const response = (handler as GuardedHandler<WebRequest, readonly unknown[]>)(request, access, ...rest);
      return access.nextNonce === undefined ? response : withNextNonce(response, access.nextNonce);
    };
    const params = bindRoute && readParams(request, ...rest);
    const access = andThen(params, (awaited) =>
      decideAccess(server, request, true, bindRoute?.(awaited), basePath),
    );
    return andThen(access, respond);
  };
}

const findParams = (request: object, context?: unknown): RouteParams | undefined => {
  const hasParams = Object.hasOwn(Object(context) as object, "params");
  return Reflect.get(hasParams ? (context as object) : request, "params") as RouteParams | undefined;
};

/**
 * Serves the metadata of the option `resource` (RFC 9728) to OAuth clients, such as those of MCP: call the
 * function that it returns before the guard. It returns `undefined` for any other request. The document is
 * public and has CORS headers for every origin.
 * @throws TypeError for a server without the option `resource`
 */
export function metadata(server: ResourceServer): (request: WebRequest) => Response | undefined {
  const find = createMetadata(server);
  return ({ method, url }) => {
    const document = find(method, targetOf(url));
    return document && toResponse(document);
  };
}

/**
 * Requires scopes for one route, on top of its rule; `<name>` stands for a property of `params`, which your
 * router found. Call the guard of `protect` or `withScopes` before it, with the same request object.
 *
 * @throws TypeError without a scope
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): ScopeGuard {
  const checkScopes = createScopeCheck(scopes, UNGUARDED);
  return (request, params) => {
    const refusal = checkScopes(request, params);
    return refusal && toResponse(refusal);
  };
}

/**
 * Returns the caller of a protected request; `undefined` on public routes, on optional ones without a token,
 * and if no `protect` ran. A clone of a request is another request, without a caller.
 * @throws TypeError for an object of another framework
 */
export function principalOf(request: object): Principal | undefined {
  return findPrincipal("fetch", request, request);
}

const UNGUARDED =
  "Pass the same request object to the guard of protect or withScopes first: a clone is another request.";
