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
  /** Which one. */
  request: object;
  states: readonly Guarded[];
  /** The route that Express has picked. */
  route?: unknown;
}

/**
 * Where Node's request keeps it: a framework's own object may be another one in a mounted application. Not in a WeakMap,
 * whose values outlive their keys until a major garbage collection: each minor one copies them.
 */
const BOX = Symbol("scopegate");

/** Shut: whoever logs a request writes down no caller with it. A property that is not enumerable takes longer to make. */
class Box {
  readonly #kept: Kept;

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  /** What is kept of a request; one that was made of it, in whatever way, is the same to its routes and handlers. */
  static open(request: object): Kept | undefined {
    const box: unknown = readMember(request as { readonly [BOX]?: unknown }, BOX);
    return typeof box === "object" && box !== null && #kept in box ? box.#kept : undefined;
  }
}

/** What is kept of this very request. */
function ownKeptOf(request: { [BOX]?: Box }): Kept {
  const found = Box.open(request);
  if (found?.request === request) return found;
  // What is found later of the one that it was made of is true of this one as well.
  const kept: Kept = found
    ? Object.assign(Object.create(found) as Kept, { request })
    : { request, states: NONE };
  request[BOX] = new Box(kept);
  return kept;
}

const NONE: readonly Guarded[] = [];

/** What the guards of a request have found. */
export const statesOf = (raw: object): readonly Guarded[] => Box.open(raw)?.states ?? NONE;

export function rememberStates(raw: object, states: readonly Guarded[]): void {
  ownKeptOf(raw).states = states;
}

/** What Express has assigned to `request.route`. */
export const assignedRouteOf = (raw: object): unknown => Box.open(raw)?.route;

export function rememberRoute(raw: object, route: unknown): void {
  ownKeptOf(raw).route = route;
}
