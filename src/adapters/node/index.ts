import { type Principal } from "../../token/principal.ts";
import { type AccessRequest } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { FAULT, toRawResponse } from "../../response/raw-response.ts";
import { type Refusal } from "../../response/refusal.ts";
import { createScopeCheck, findPrincipal, guard } from "../guard.ts";
import { assertResourceServer, misplaced } from "../misuse.ts";
import { type NodeServerRequest, toAccessRequest } from "../node-request.ts";
import { type NodeResponse, send } from "../node-response.ts";
import { close, type UpgradeSocket } from "./upgrade-socket.ts";

export { type NodeResponse, type NodeServerRequest, type UpgradeSocket };

/** Returns whether a request may go on; if not, it has been answered. */
export type NodeGuard = (request: NodeServerRequest, response: NodeResponse) => Promise<boolean>;

/** Whether a connection may be upgraded; if not, it was answered and closed. Takes `upgrade`'s arguments. */
export type UpgradeGuard = (
  request: NodeServerRequest,
  socket: UpgradeSocket,
  head?: Uint8Array,
) => Promise<boolean>;

/** Whether the caller of a guarded request holds the scopes; if not, the request has been answered. */
export type ScopeGuard = (request: NodeServerRequest, response: NodeResponse, params?: Params) => boolean;

type Params = AccessRequest["params"];

/**
 * Protects a request listener of Node's servers: await the guard, and go on only if it returns `true`. It
 * does not route: a path not spelled as in the table is refused. A fault becomes an empty 500 and a process
 * warning. A refusal after the response, for example because the guard was not awaited, is a warning, once.
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
  let hasWarned = false;
  return async (...given: readonly [...Parameters<NodeGuard>, ...unknown[]]) => {
    const [request, response, third] = given;
    if (typeof response.setHeader !== "function") throw misplaced("node", ...given);
    try {
      if (typeof third === "function") throw misplaced("node", ...given);
      const refusal = await check(server, request);
      if (refusal && response.headersSent && !hasWarned) {
        hasWarned = true;
        warn("A request was answered before its check refused it.", ANSWERED);
      }
      if (refusal) send(response, refusal);
      return !refusal;
    } catch (fault) {
      warn("The check of a request failed; it is answered with 500.", fault);
      if (!response.headersSent) {
        response.statusCode = FAULT.status;
        response.end(FAULT.content);
      }
      return false;
    }
  };
}

/**
 * Protects upgrades such as WebSockets, which no middleware sees: await the guard in the `upgrade` listener,
 * and use the socket only if it returns `true`. A WebSocket has the rule of `GET`. A refusal is written to
 * the socket, which closes once it is read or after two seconds. A fault becomes an empty 500 and a process
 * warning. A socket used by another listener before the check is done is closed, with a process warning.
 *
 * It does not check `Origin`, the requested protocol or what is sent later: a connection outlives its token,
 * and of h2c only the first request is checked. A public rule is public for upgrades too.
 *
 * @throws TypeError for anything but a resource server
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createResourceServer } from "scopegate";
 * import { protectUpgrade } from "scopegate/node";
 * import { WebSocketServer } from "ws";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "GET /events": ["events:read"] },
 * });
 * const sockets = new WebSocketServer({ noServer: true, path: "/events" });
 * const mayUpgrade = protectUpgrade(server);
 * createServer().on("upgrade", async (request, socket, head) => {
 *   if (!(await mayUpgrade(request, socket, head))) return;
 *   sockets.handleUpgrade(request, socket, head, (client) => client.send("welcome"));
 * });
 * ```
 */
export function protectUpgrade(server: ResourceServer): UpgradeGuard {
  assertResourceServer(server, "protectUpgrade");
  return async (request, socket) => {
    // Node has removed its own listener: without one, a client that disconnects now would end the process.
    socket.on("error", ignore);
    const response = await check(server, request).then(
      (refusal) => refusal && toRawResponse(refusal),
      (fault: unknown) => {
        warn("The check of an upgrade failed; it is answered with 500.", fault);
        return FAULT;
      },
    );
    if (socket.readableFlowing === true) {
      warn("An upgrade was used before its check was done; the connection is closed.", TAKEN);
      socket.destroy();
      return false;
    }
    if (response || !socket.readable || !socket.writable) {
      close(socket, response, request.method ?? "");
      return false;
    }
    socket.off("error", ignore);
    return true;
  };
}

/**
 * Requires scopes for one route, on top of its rule; `<name>` stands for a property of `params`, which your
 * router found. Needs the guard of `protect` in front of it.
 *
 * @throws TypeError without a scope
 * @throws ConfigurationError for a scope that no token can be granted
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createResourceServer } from "scopegate";
 * import { protect, requireScopes } from "scopegate/node";
 *
 * const guard = protect(createResourceServer({ serviceId: "logs", verificationKeys: [process.env.JWT_PUBLIC_KEY!] }));
 * const mayReadLogs = requireScopes("logs:<agent_id>:read");
 * createServer(async (request, response) => {
 *   if (!(await guard(request, response))) return;
 *   if (mayReadLogs(request, response, { agent_id: "web" })) response.end("[]");
 * });
 * ```
 */
export function requireScopes(...scopes: readonly string[]): ScopeGuard {
  const checkScopes = createScopeCheck(scopes);
  return (request, response, params) => {
    const refusal = checkScopes(request, params);
    if (refusal) send(response, refusal);
    return !refusal;
  };
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(request: object): Principal | undefined {
  return findPrincipal(request);
}

const check = async (server: ResourceServer, request: NodeServerRequest): Promise<Refusal | undefined> =>
  guard(server, request, toAccessRequest(request, request.method ?? "", request.url ?? ""), false);

const ignore = (): void => undefined;

const ANSWERED =
  "Write `if (!(await guard(request, response))) return;`: without await, every request goes on. Ignore this if a timeout has answered.";

const TAKEN =
  "Create the WebSocket server with `noServer: true`, and await protectUpgrade before handleUpgrade.";

/** A warning and not a rejection: the rejected promise of a listener would end the process. */
function warn(message: string, cause: unknown): void {
  const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  process.emitWarning(message, { type: "ScopegateWarning", detail });
}
