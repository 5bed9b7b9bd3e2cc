import type { EventEmitter } from "node:events";
import type { ResourceServer } from "../../core/resource-server.ts";
import { FAULT, toRawResponse } from "../../core/response/raw-response.ts";
import { isDecidedByFramework } from "../shared/framework-upgrades.ts";
import { assertResourceServer } from "../shared/misuse.ts";
import type { NodeServerRequest } from "../shared/node-request.ts";
import { guardNodeRequest } from "./guard-request.ts";
import { close, type UpgradeSocket } from "./upgrade-socket.ts";
import { warn } from "./warn.ts";

/** Returns whether a connection may be upgraded; if not, it was closed. Takes the arguments of `upgrade`. */
export type UpgradeGuard = (
  request: NodeServerRequest,
  socket: UpgradeSocket,
  head?: Uint8Array,
) => Promise<boolean>;

/** The part of a server of `node:http` or `node:https` that is used. */
export interface UpgradingServer extends Pick<EventEmitter, "emit"> {
  /** Whether the server listens. */
  readonly listening: boolean;
}

/**
 * Protects upgrades such as WebSockets, which don't pass through middleware: await the guard in the `upgrade`
 * listener, and use the socket only if it returns `true`. A WebSocket needs the rule for `GET`. A refusal is
 * written to the socket, which is closed when the client has read it or after two seconds. After an error,
 * the guard sends an empty 500 and emits a process warning. If another listener uses the socket before the
 * check is done, the socket is closed and a process warning is emitted. If `@fastify/websocket` passes the
 * upgrade to `protect` of Fastify, this guard returns `false` and does nothing.
 *
 * It doesn't check `Origin`, the requested protocol or later messages: a connection outlives its token, and
 * for h2c only the first request is checked. A public rule is public for upgrades too, unless its path has a
 * wildcard: then the upgrade counts as a request without a rule.
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
    // Runs after the other listeners for upgrades: one of them may be a framework whose own guard decides.
    await Promise.resolve();
    if (isDecidedByFramework(request, server)) return leave(socket);
    const response = await guardNodeRequest(server, request, { upgrade: true }).then(
      (refusal) => refusal && toRawResponse(refusal),
      (fault: unknown) => {
        warn("The check of an upgrade failed; the response is 500.", fault);
        return FAULT;
      },
    );
    if (isDecidedByFramework(request, server)) return leave(socket);
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
 * Protects every upgrade of a server, for libraries that listen for upgrades themselves: call it once with
 * the server of `node:http` or `node:https`. All listeners for upgrades, including those added later, run
 * only for requests that `protectUpgrade` allows. It replaces `emit` of the server, for this event only.
 *
 * @throws TypeError for anything but a server of `node:http` or `node:https`, and a resource server
 */
export function guardUpgrades(http: UpgradingServer, server: ResourceServer): void {
  assertResourceServer(server, "guardUpgrades");
  const mayUpgrade = protectUpgrade(server);
  // Applications of Express and Koa emit events too, but never an upgrade, so nothing would be guarded.
  if (typeof (http as Partial<UpgradingServer> | undefined)?.listening !== "boolean")
    throw new TypeError(
      "guardUpgrades takes a server of node:http or node:https, not an application: write guardUpgrades(http, server), with `http` from createServer or app.listen.",
    );
  const emit = http.emit.bind(http);
  http.emit = (name, ...values: unknown[]) => {
    if (name !== "upgrade") return emit(name, ...values);
    const [request, socket, head] = values as Parameters<UpgradeGuard>;
    void mayUpgrade(request, socket, head).then((isAllowed) => isAllowed && emit(name, ...values));
    return true;
  };
}

const ignore = (): void => undefined;

function leave(socket: UpgradeSocket): false {
  socket.off("error", ignore);
  return false;
}

const TAKEN = "Create the server with `noServer: true`, and await protectUpgrade before handleUpgrade.";
