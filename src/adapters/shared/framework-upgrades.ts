/** Upgrades that a framework passes to its own guard, as `@fastify/websocket` and Socket.IO do. */
import type { ResourceServer } from "../../core/resource-server.ts";
import type { NodeRequest } from "./node-request.ts";

const decided = new WeakMap<object, readonly ResourceServer[]>();

/** Records that the guard of a framework decides a request, if it's an upgrade. Returns whether it is. */
export function rememberUpgrade(raw: NodeRequest, server: ResourceServer): boolean {
  if (raw.headers.upgrade === undefined) return false;
  decided.set(raw, [...(decided.get(raw) ?? []), server]);
  return true;
}

/** Returns whether a framework's own guard decides this upgrade with this server, and sends the response. */
export const isDecidedByFramework = (raw: object, server: ResourceServer): boolean =>
  decided.get(raw)?.includes(server) === true;
