import type { Principal } from "../../core/token/principal.ts";
import type { AccessRequest } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { FAULT } from "../../core/response/raw-response.ts";
import { createWarning } from "../../core/runtime/warn-once.ts";
import { findPrincipal } from "../shared/guard.ts";
import { assertResourceServer, misplaced } from "../shared/misuse.ts";
import { createMetadata } from "../shared/metadata.ts";
import type { NodeServerRequest } from "../shared/node-request.ts";
import { type NodeResponse, send } from "../shared/node-response.ts";
import { createScopeCheck } from "../shared/scope-check.ts";
import { guardNodeRequest } from "./guard-request.ts";
import { warn } from "./warn.ts";

export {
  authenticateFirst,
  type AuthenticateFirstOptions,
  type MessageSocket,
} from "./authenticate-first.ts";
export { guardUpgrades, protectUpgrade, type UpgradeGuard, type UpgradingServer } from "./upgrade.ts";
export type { UpgradeSocket } from "./upgrade-socket.ts";
export { type NodeResponse, type NodeServerRequest };

/** Returns whether a request is allowed; if not, the response has been sent. */
export type NodeGuard = (request: NodeServerRequest, response: NodeResponse) => Promise<boolean>;

/** Returns whether the caller of a guarded request holds the scopes; if not, the response has been sent. */
export type ScopeGuard = (request: NodeServerRequest, response: NodeResponse, params?: Params) => boolean;

type Params = AccessRequest["params"];

/**
 * Protects a request listener of Node's servers: await the guard, and continue only if it returns `true`. It
 * has no router, so it refuses a path that isn't spelled as in the table. After an error, it sends an empty
 * 500 and emits a process warning. If a response was sent before the refusal, for example because the guard
 * wasn't awaited, one process warning reports this.
 *
 * @throws TypeError for anything but a resource server
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createResourceServer } from "scopegate";
 * import { principalOf, protect } from "scopegate/node";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const guard = protect(server);
 * createServer(async (request, response) => {
 *   if (await guard(request, response)) response.end(principalOf(request)?.userId);
 * });
 * ```
 */
export function protect(server: ResourceServer): NodeGuard {
  assertResourceServer(server);
  const warnOfEarlyResponse = createWarning(RESPONSE_SENT);
  return async (...parameters: readonly [...Parameters<NodeGuard>, ...unknown[]]) => {
    const [request, response, third] = parameters;
    if (parameters.length < 2 || typeof response.setHeader !== "function")
      throw misplaced("node", ...parameters);
    try {
      if (typeof third === "function") throw misplaced("node", ...parameters);
      const setHeader = (name: string, value: string) => response.setHeader(name, value);
      const refusal = await guardNodeRequest(server, request, { setHeader });
      if (refusal && response.headersSent) warnOfEarlyResponse();
      if (refusal) send(response, refusal);
      return !refusal;
    } catch (fault) {
      warn("The check of a request failed; the response is 500.", fault);
      if (!response.headersSent) {
        response.statusCode = FAULT.status;
        response.end(FAULT.content);
      }
      return false;
    }
  };
}

/**
 * Serves the metadata of the option `resource` (RFC 9728) to OAuth clients, such as those of MCP: call the
 * function that it returns before the guard. It returns whether it has sent the response. The document is
 * public and has CORS headers for every origin.
 * @throws TypeError for a server without the option `resource`
 */
export function metadata(
  server: ResourceServer,
): (request: NodeServerRequest, response: NodeResponse) => boolean {
  const find = createMetadata(server);
  return ({ method = "", url = "" }, response) => {
    const document = find(method, url);
    if (document) send(response, document);
    return document !== undefined;
  };
}

/**
 * Requires scopes for one route, on top of its rule; `<name>` stands for a property of `params`, which your
 * router found. Call the guard of `protect` before it.
 *
 * @throws TypeError without a scope
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): ScopeGuard {
  const checkScopes = createScopeCheck(scopes);
  return (request, response, params) => {
    const refusal = checkScopes(request, params);
    if (refusal) send(response, refusal);
    return !refusal;
  };
}

/**
 * Returns the caller of a protected request; `undefined` if no token was read, or no `protect` ran.
 * @throws TypeError for an object of another framework
 */
export function principalOf(request: object): Principal | undefined {
  return findPrincipal("node", request, request);
}

const RESPONSE_SENT =
  "A response was sent before the check refused the request. Write `if (!(await guard(request, response))) return;`: without await, every request is allowed. Ignore this if a timeout sent it.";
