import { pipelineOf } from "../../core/port.ts";
import { NONCE_FIELD } from "../../core/response/challenge.ts";
import type { ResourceServer } from "../../core/server.ts";
import {
  anyString,
  anyValue,
  callback,
  checkOptions,
  optionError,
  required,
} from "../../core/options/check-options.ts";
import type { RunningRoute, Verdict } from "../../core/pipeline.ts";
import type { AccessRequest, GuardedRequest } from "../../core/request.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { Principal } from "../../core/token/principal.ts";
import { decideRequest, findPrincipal, refusalOf } from "../shared/guard.ts";
import { createMetadata } from "../shared/metadata.ts";
import { assertNoOptions, assertResourceServer, misplaced, type NoOptions } from "../shared/misuse.ts";
import { type Access, GrantedAccess, isAccess } from "./access.ts";
import { FetchRoute, fromHost, type RouteParams } from "./route.ts";
import { readWebRequest, targetOf, toResponse, type WebRequest } from "../shared/web-request.ts";
import { createScopeCheck } from "../shared/scope-check.ts";

export { type Access, type WebRequest };

/**
 * Decides a request. Returns the access, which has a `decision`, or the response to send, which has none. If
 * the host reports the route that will run, pass it: its rule must be satisfied too.
 */
export type FetchGuard = (request: WebRequest, route?: ReportedRoute) => Promise<Access | Response>;

/** The route that a host has found for a request. */
interface ReportedRoute {
  /**
   * The route as the host writes it, with or without a method: `event.route.id` of SvelteKit,
   * `event.context.matchedRoute.route` of h3, or `routeKey` of API Gateway.
   */
  readonly route: string;
  /** Its parameters, as the handler receives them. */
  readonly params?: RouteParams | undefined;
}

/** The route of a handler. */
interface HandlerRoute<Requested, Rest extends readonly unknown[]> {
  /** The route as the table writes it, with or without a method: `GET /agents/:agent_id`, `/docs{/*path}`. */
  readonly route: string;
  /**
   * Returns the parameters of the route, as the handler receives them. Default: `params` of the argument after
   * the request, as in Next.js, or of the request, as in Bun.
   */
  readonly params?: (request: Requested, ...rest: Rest) => Pending<RouteParams | undefined>;
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
 * found. Without a route, the guard refuses a path that isn't spelled as in the table. An error rejects the
 * promise.
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
  assertNoSocket(server, "protect");
  const routes = new Map<string, FetchRoute>();
  const findRoute = (route: string): FetchRoute => {
    let found = routes.get(route);
    if (!found) {
      found = new FetchRoute(server, "guard", fromHost(route));
      // A host has few routes; a program could pass paths, and these must not fill the memory.
      if (routes.size >= MAX_ROUTES) routes.clear();
      routes.set(route, found);
    }
    return found;
  };
  return async (request, reported) => {
    if (reported === undefined) return decideAccess(server, request, false);
    checkOptions("guard", reported, { route: required(anyString), params: anyValue });
    const { route, params } = reported;
    return decideAccess(server, request, false, (sent) =>
      findRoute(route).at(sent.method, sent.target, params),
    );
  };
}

const MAX_ROUTES = 1_000;

/** No certificate could ever be found, so every token that is bound to one would be refused. */
function assertNoSocket(server: ResourceServer, functionName: string): void {
  if (pipelineOf(server).keyProofs?.mtls?.needsSocket)
    throw new TypeError(
      `${functionName} of scopegate/fetch can't read the certificate of a client: a request of the Fetch standard has no socket. Write senderConstraint: { mtls: { from: { header, format, trusted: () => true } } } if only a proxy can reach the server, or use scopegate/node.`,
    );
}

/** The headers of some responses can't be changed. */
async function withNextNonce(pending: Response | Promise<Response>, nonce: string): Promise<Response> {
  const response = await pending;
  const headers = new Headers(response.headers);
  headers.set(NONCE_FIELD, nonce);
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

/** With `findRoute`, decides at this route too. */
function decideAccess(
  server: ResourceServer,
  request: WebRequest,
  isAtHandler: boolean,
  findRoute?: (sent: AccessRequest) => RunningRoute,
): Pending<Access | Response> {
  if (typeof (request.headers as Partial<Headers> | undefined)?.get !== "function")
    throw misplaced("fetch", request);
  const sent: GuardedRequest = { ...readWebRequest(request, request), isAtHandler };
  const route = findRoute?.(sent);
  const verdict = decideRequest(server, request, sent, route !== undefined, request, route);
  return andThen(verdict, (awaited) => toResult(awaited, server));
}

function toResult(verdict: Verdict, server: ResourceServer): Access | Response {
  const refusal = refusalOf(verdict, server);
  if (refusal) return toResponse(refusal);
  return new GrantedAccess(verdict);
}

/**
 * Runs a guard before a handler. The handler receives the caller as its second argument, and then the
 * arguments that the framework or runtime passes after the request, for example `env` and `ctx` of Workers.
 * It runs only for allowed requests. An error is thrown, or rejects the promise.
 *
 * Write the `route` of the handler: hosts may rewrite the URL, so that the rule for the client's path isn't
 * the rule for the handler. With a route, both must be satisfied. Instead of a handler, pass an object with
 * one for each method. Without a route, an open rule with a wildcard doesn't open the handler.
 *
 * @throws TypeError for anything but a resource server and functions
 * @throws ConfigurationError for a route that isn't written as in the table
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { withScopes } from "scopegate/fetch";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * export const GET = withScopes(server, { route: "GET /agents/:agent_id" }, (request, { principal }) =>
 *   Response.json({ caller: principal?.userId }),
 * );
 * ```
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
/** Runs a guard before each handler of an object, whose keys are the methods of the route. */
export function withScopes<
  Rests extends Readonly<Record<string, readonly unknown[]>>,
  Requested extends WebRequest = Request,
>(
  server: ResourceServer,
  route: HandlerRoute<Requested, Rests[keyof Rests]>,
  handlers: { readonly [Method in keyof Rests]: GuardedHandler<Requested, Rests[Method]> },
): { readonly [Method in keyof Rests]: FetchHandler<Requested, Rests[Method]> };
/** Runs a guard before a handler that finds its route by `request.url`. */
export function withScopes<
  Requested extends WebRequest = Request,
  Rest extends readonly unknown[] = readonly unknown[],
>(server: ResourceServer, handler: GuardedHandler<Requested, Rest>): FetchHandler<Requested, Rest>;
export function withScopes(server: ResourceServer, ...written: readonly unknown[]): unknown {
  assertResourceServer(server, "withScopes");
  const [options, handler] = written.length > 1 ? written : [undefined, written[0]];
  const isByMethod = options !== undefined && typeof handler === "object" && handler !== null;
  const entries: (readonly [string, unknown])[] = isByMethod ? Object.entries(handler) : [["", handler]];
  if (typeof options === "function" || !entries.every(([, each]) => typeof each === "function"))
    throw new TypeError(
      options === undefined
        ? "withScopes takes a handler: write withScopes(server, (request) => ...)."
        : "withScopes takes the route before its handler: write withScopes(server, { route }, (request) => ...), or an object with a function for each method.",
    );
  assertNoSocket(server, "withScopes");
  if (options === undefined) return guardHandler(server, handler as Handler);
  checkOptions("withScopes", options, {
    route: required(anyString),
    params: callback("Write a function that returns the parameters of the route."),
  });
  const { route, params = findParams } = options as HandlerRoute<WebRequest, readonly unknown[]>;
  if (!isByMethod)
    return guardHandler(server, handler as Handler, new FetchRoute(server, "withScopes", route), params);
  if (!route.startsWith("/"))
    throw optionError(
      ["withScopes", "route"],
      "has a method, and the handlers have methods too.",
      "Write only the path.",
    );
  return Object.fromEntries(
    entries.map(([method, each]) => {
      const ofMethod = new FetchRoute(server, "withScopes", `${method} ${route}`);
      return [method, guardHandler(server, each as Handler, ofMethod, params)];
    }),
  );
}

type Handler = GuardedHandler<WebRequest, readonly unknown[]>;

/** Returns a function that isn't async: a promise costs as much as checking a remembered token. */
function guardHandler(
  server: ResourceServer,
  handler: Handler,
  route?: FetchRoute,
  readParams: NonNullable<HandlerRoute<WebRequest, readonly unknown[]>["params"]> = findParams,
): FetchHandler<WebRequest, readonly unknown[]> {
  return (request, ...rest) => {
    const respond = (access: Access | Response) => {
      if (!isAccess(access)) return access;
      const response = handler(request, access, ...rest);
      const { nextNonce } = access;
      return nextNonce === undefined ? response : withNextNonce(response, nextNonce);
    };
    if (!route) return andThen(decideAccess(server, request, true), respond);
    const params = route.hasParams ? readParams(request, ...rest) : undefined;
    const access = andThen(params, (found) =>
      decideAccess(server, request, true, (sent) => route.at(sent.method, sent.target, found)),
    );
    return andThen(access, respond);
  };
}

/** Returns what Next.js passes in the context of a handler, or Bun with the request. */
function findParams(request: object, context: unknown): Pending<RouteParams | undefined> {
  const holder = Object.hasOwn(Object(context) as object, "params") ? context : request;
  return (holder as { readonly params?: Pending<RouteParams> }).params;
}

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
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { requireScopes, withScopes } from "scopegate/fetch";
 *
 * const server = createResourceServer({ serviceId: "logs", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const mayReadLogs = requireScopes("logs:<agent_id>:read");
 * export const GET = withScopes(server, (request) => mayReadLogs(request, { agent_id: "web" }) ?? new Response("[]"));
 * ```
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
