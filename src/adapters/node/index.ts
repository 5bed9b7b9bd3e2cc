import { type Principal } from "../../token/principal.ts";
import { type AccessRequest } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { type Refusal } from "../../response/refusal.ts";
import { createScopeCheck, findPrincipal, guard } from "../guard.ts";
import { assertResourceServer, misplaced } from "../misuse.ts";
import { type NodeRequest, toAccessRequest } from "../node-request.ts";
import { type NodeResponse, send } from "../node-response.ts";
import { close, FAULT, toRawResponse, type UpgradeSocket } from "./upgrade-socket.ts";

export { type NodeResponse, type UpgradeSocket };

/** The part of a request of `node:http`, `node:https` or the compatibility layer of `node:http2` that is read. */
export interface NodeServerRequest extends NodeRequest {
  /** Absent in the types of Node only. */
  readonly method?: string | undefined;
  /** The target; absent in the types of Node only. */
  readonly url?: string | undefined;
}

/** Whether a request may go on; `false`: it has been answered. */
export type NodeGuard = (request: NodeServerRequest, response: NodeResponse) => Promise<boolean>;

/** Whether a connection may be upgraded; `false`: it has been answered and is closed. Takes what `upgrade` hands over. */
export type UpgradeGuard = (
  request: NodeServerRequest,
  socket: UpgradeSocket,
  head?: Uint8Array,
) => Promise<boolean>;

/** Whether the caller of a guarded request holds the scopes; `false`: the refusal has been answered. */
export type ScopeGuard = (
  request: NodeServerRequest,
  response: NodeResponse,
  params?: AccessRequest["params"],
) => boolean;

/**
 * Protects a request listener of Node's own servers: await the guard and go on only where it answers `true`. A fault, the
 * injected clock's for one, is answered by an empty 500 and told in a process warning; so is, once, a refusal that came too late,
 * because the guard was not awaited or a timeout had answered.
 *
 * It does not route: a path that some router would read as another rule's is refused.
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
  return async (request, response, ...others: readonly unknown[]) => {
    if (typeof response.setHeader !== "function") throw misplaced("node", request, response, ...others);
    try {
      if (typeof others[0] === "function") throw misplaced("node", request, response, ...others);
      const refusal = await check(server, request);
      if (refusal && response.headersSent && !hasWarned) {
        hasWarned = true;
        warn("A request was answered before its check refused it.", ANSWERED);
      }
      if (refusal) send(response, refusal);
      return !refusal;
    } catch (fault) {
      warn("The check of a request failed; it is answered by 500.", fault);
      if (!response.headersSent) {
        response.statusCode = FAULT.status;
        response.end(FAULT.content);
      }
      return false;
    }
  };
}

/**
 * Protects upgrades, WebSockets among them, which no middleware of a framework sees: await the guard in the `upgrade`
 * listener and hand the socket over only where it answers `true`; nothing was read or written then. The rule is that of the
 * request's method and target, so that a WebSocket is checked as `GET`. Refused, the client is answered over the raw socket,
 * which is closed as soon as it has read the answer, or after two seconds. A fault is answered by an empty 500 and told in a
 * process warning; where the client went away during the check the answer is `false` as well.
 *
 * It does not look at `Origin`, at the protocol that is asked for or at what is sent later on: a connection outlives its
 * token, and of h2c only the first request is checked. A rule that is public is public for upgrades too, so choose by the
 * path what to upgrade. It cannot hold back another `upgrade` listener: where one has taken the socket before the check is done the
 * connection is cut and a process warning tells so.
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
    // Node has taken its own listener away: a client that breaks off during the check would end the process.
    socket.on("error", ignore);
    const response = await check(server, request).then(
      (refusal) => refusal && toRawResponse(refusal),
      (fault: unknown) => {
        warn("The check of an upgrade failed; it is answered by 500.", fault);
        return FAULT;
      },
    );
    if (socket.readableFlowing === true) {
      warn("An upgrade was taken before its check was done; it is cut off.", TAKEN);
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
 * Asks one route for scopes on top of its rule; `<name>` stands for a member of `params`, which your router found. The guard
 * answers a refusal and returns `false`. Needs the guard of `protect` in front.
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
  "Write `if (!(await guard(request, response))) return;`: without await everybody is let in. Nothing is wrong where a timeout of yours had answered.";

const TAKEN =
  "Give the WebSocket library no server of its own (`noServer: true`), and await protectUpgrade before the socket is handed over.";

/** There is nobody to hand a fault to: rejected, the listener's promise would end the process. */
function warn(message: string, cause: unknown): void {
  const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  process.emitWarning(message, { type: "ScopegateWarning", detail });
}
