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

/**
 * Where Node's request keeps it: a framework's own object may be another one in a mounted application. Not in a WeakMap,
 * whose values outlive their keys until a major garbage collection: each minor one copies them.
 */
const STATES = Symbol("scopegate");

/** Not to be seen from outside: whoever logs a request writes down no caller with it. */
class Kept {
  readonly #request: object;
  readonly #states: readonly Guarded[];

  constructor(request: object, states: readonly Guarded[]) {
    this.#request = request;
    this.#states = states;
  }

  /** What is kept of a request or of one that is derived from it; a copy is another one, which nobody has checked. */
  static of(request: object, value: unknown): readonly Guarded[] {
    if (typeof value !== "object" || value === null || !(#states in value)) return NONE;
    const isOwn = value.#request === request || Object.prototype.isPrototypeOf.call(value.#request, request);
    return isOwn ? value.#states : NONE;
  }
}

const NONE: readonly Guarded[] = [];

export function remember(raw: object, states: readonly Guarded[]): void {
  (raw as { [STATES]?: Kept })[STATES] = new Kept(raw, states);
}

/** What the guards of a request have found; a request that is derived from it is the same to handlers. */
export const statesOf = (raw: object): readonly Guarded[] =>
  Kept.of(raw, readMember(raw as { readonly [STATES]?: Kept }, STATES));
