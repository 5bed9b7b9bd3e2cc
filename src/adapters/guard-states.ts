/** What the guards of a request found, kept for its routes and handlers. */
import { type Decision } from "../policy/decision.ts";
import { type Rule } from "../policy/rule.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type BareRequest, readMember } from "./node-request.ts";

/** What one guard found of a request. */
export interface Guarded {
  readonly server: ResourceServer;
  readonly request: BareRequest;
  readonly decision: Decision;
  /** The rules of the request that its caller has met. */
  readonly met: readonly Rule[];
}

/** All that is kept of a request. */
interface Kept {
  states: readonly Guarded[];
  /** The route that Express has picked. */
  route?: unknown;
}

/**
 * Where Node's request keeps it: a framework's own object may be another one in a mounted application. Not in a WeakMap,
 * whose values outlive their keys until a major garbage collection: each minor one copies them.
 */
const BOX = Symbol("scopegate");

interface WithBox {
  [BOX]?: unknown;
}

/** Shut: whoever logs a request writes down no caller with it. */
class Box {
  readonly #request: object;
  readonly #kept: Kept;

  constructor(request: object, kept: Kept) {
    this.#request = request;
    this.#kept = kept;
  }

  /** What is in the box of a request, or in that of the one it is derived from; a copy is a request that nobody has checked. */
  static open(request: object): Kept | undefined {
    const box = readMember(request as WithBox, BOX);
    if (typeof box !== "object" || box === null || !(#kept in box)) return undefined;
    const isOwn = box.#request === request || Object.prototype.isPrototypeOf.call(box.#request, request);
    return isOwn ? box.#kept : undefined;
  }

  /** What is in the box of this very request. */
  static openOwn(request: WithBox): Kept {
    const box = readMember(request, BOX);
    if (typeof box === "object" && box !== null && #kept in box && box.#request === request) return box.#kept;
    const kept: Kept = { states: NONE, ...Box.open(request) };
    request[BOX] = new Box(request, kept);
    return kept;
  }
}

const NONE: readonly Guarded[] = [];

/** What the guards of a request have found; a request that is derived from it is the same to handlers. */
export const statesOf = (raw: object): readonly Guarded[] => Box.open(raw)?.states ?? NONE;

export function rememberStates(raw: object, states: readonly Guarded[]): void {
  Box.openOwn(raw).states = states;
}

/** What Express has assigned to `request.route`. */
export const assignedRouteOf = (raw: object): unknown => Box.open(raw)?.route;

export function rememberRoute(raw: object, route: unknown): void {
  Box.openOwn(raw).route = route;
}
