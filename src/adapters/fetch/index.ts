import type { AccessRequest } from "../../core/request.ts";
import { pipelineOf } from "../../core/port.ts";
import { NONCE_FIELD } from "../../core/response/challenge.ts";
import type { ResourceServer } from "../../core/server.ts";
import type { Verdict } from "../../core/pipeline.ts";
import { isPending, type Pending } from "../../core/runtime/pending.ts";
import type { Principal } from "../../core/token/principal.ts";
import { decideRequest, findPrincipal, refusalOf } from "../shared/guard.ts";
import { createMetadata } from "../shared/metadata.ts";
import { assertNoOptions, assertResourceServer, misplaced, type NoOptions } from "../shared/misuse.ts";
import { type Access, GrantedAccess, isAccess } from "./access.ts";
import { readWebRequest, targetOf, toResponse, type WebRequest } from "../shared/web-request.ts";
import { createScopeCheck } from "../shared/scope-check.ts";

export { type Access, type WebRequest };

/** Decides a request. Returns the access, which has a `decision`, or the response to send, which has none. */
export type FetchGuard = (request: WebRequest) => Promise<Access | Response>;

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
export type ScopeGuard = (request: WebRequest, params?: Params) => Response | undefined;

type Params = AccessRequest["params"];

/**
 * Decides Fetch-standard requests: call the guard before anything else. If the result is a response (it has
 * no `decision`), return it. The guard has no router, so it refuses a path that isn't spelled as in the
 * table. Find the handler by the same `request.url`. An error rejects the promise.
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
  return async (request) => decideAccess(server, request);
}

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

function decideAccess(server: ResourceServer, request: WebRequest): Pending<Access | Response> {
  if (typeof (request.headers as Partial<Headers> | undefined)?.get !== "function")
    throw misplaced("fetch", request);
  const verdict = decideRequest(server, request, readWebRequest(request, request), false);
  return isPending(verdict)
    ? verdict.then((awaited) => toResult(awaited, server))
    : toResult(verdict, server);
}

function toResult(verdict: Verdict, server: ResourceServer): Access | Response {
  const refusal = refusalOf(verdict, server);
  if (refusal) return toResponse(refusal);
  return new GrantedAccess(verdict);
}

/**
 * Runs `protect` before a handler. The handler receives the caller as its second argument, and then the
 * arguments that the framework or runtime passes after the request, for example `env` and `ctx` of Workers.
 * It runs only for allowed requests. An error is thrown, or rejects the promise.
 *
 * @throws TypeError for anything but a resource server and a function
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { withScopes } from "scopegate/fetch";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * export default {
 *   fetch: withScopes(server, (request, { principal }) => Response.json({ caller: principal?.userId })),
 * };
 * ```
 */
export function withScopes<
  Requested extends WebRequest = Request,
  Rest extends readonly unknown[] = readonly unknown[],
>(server: ResourceServer, handler: GuardedHandler<Requested, Rest>): FetchHandler<Requested, Rest> {
  assertResourceServer(server, "withScopes");
  if (typeof (handler as unknown) !== "function")
    throw new TypeError("withScopes takes a handler: write withScopes(server, (request) => ...).");
  assertNoSocket(server, "withScopes");
  // Not async: a promise costs as much as checking a remembered token.
  return (request, ...rest) => {
    const respond = (access: Access | Response) => {
      if (!isAccess(access)) return access;
      const response = handler(request, access, ...rest);
      const { nextNonce } = access;
      return nextNonce === undefined ? response : withNextNonce(response, nextNonce);
    };
    const access = decideAccess(server, request);
    return isPending(access) ? access.then(respond) : respond(access);
  };
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
