/** What the adapters share: the decision of a request, remembered for its handlers. */
import { type Decision, refuse } from "../policy/decision.ts";
import { compileScopeList } from "../scopes/required-scope.ts";
import { type Principal } from "../token/principal.ts";
import { type Rule } from "../policy/rule.ts";
import { type AccessRequest, originForm, pathOf } from "../request.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type Refusal } from "../response/refusal.ts";
import { type Guarded, rememberStates, statesOf } from "./guard-states.ts";
import { type BareRequest, type NodeRequest, withCredential } from "./node-request.ts";

/** A request as it is at a route. */
export interface RoutedRequest {
  readonly method: string;
  readonly target: string;
}

/** A route that a router has picked, right before its own handlers run. */
export interface PickedRoute extends RoutedRequest {
  /** The patterns of the route that the path is one of; `"others"` where it is not one of the route's any more. */
  readonly patterns: readonly string[] | "others";
}

/** Decides a request and remembers the decision; answers with the response of a refusal. */
export async function guard(
  server: ResourceServer,
  raw: NodeRequest,
  request: BareRequest,
): Promise<Refusal | undefined> {
  const asked = withCredential(raw, request);
  const found = statesOf(raw);
  // Whoever goes on in spite of a fault is still behind this guard.
  const state = { server, request, decision: UNDECIDED as Decision, met: NO_RULES };
  rememberStates(
    raw,
    found.length === 0 ? [state] : [...found.filter((one) => one.server !== server), state],
  );
  try {
    state.decision = await server.check(asked);
  } catch (cause) {
    throw asFault(cause);
  }
  state.met = rulesMetBy(state.decision);
  return refusalOf(state);
}

const UNDECIDED = refuse("request_ambiguous");
const NO_RULES: readonly Rule[] = [];

const rulesMetBy = ({ rule }: Decision): readonly Rule[] => (rule ? [rule] : NO_RULES);

export const isGuarded = (raw: object): boolean => statesOf(raw).length > 0;

/** Whether all guards of a request have nothing left to ask at a route. Where there was no guard, none asks. */
export const isSettled = (raw: object, route: PickedRoute): boolean =>
  statesOf(raw).every(
    (state) =>
      route.patterns !== "others" &&
      holds(state, route) &&
      route.patterns.every((pattern) => isMet(state, route, pattern)),
  );

/**
 * The same, told by the rules of all that a route is written as: sooner than by those patterns of it that the path is one of.
 * Not where nothing is known of them, or one has no rule of its own.
 */
export const isSettledByRules = (raw: object, request: RoutedRequest, written: readonly string[]): boolean =>
  written.length > 0 &&
  statesOf(raw).every(
    (state) =>
      holds(state, request) &&
      written.every((pattern) => {
        const rule = ruleOf(state, request, pattern);
        return rule !== undefined && state.met.includes(rule);
      }),
  );

/**
 * Decides again at a route, for each guard of the request: a middleware may have made it another request since, and the
 * rule for the whole of the route may be another one than the rule of the path.
 */
export async function guardRoute(raw: NodeRequest, route: PickedRoute): Promise<Refusal | undefined> {
  const settled = await settleAll(raw, route);
  rememberStates(raw, settled);
  return firstRefusal(settled);
}

/** What `guardRoute` will answer at a route that may never run. */
export const foresee = async (raw: NodeRequest, route: PickedRoute): Promise<Refusal | undefined> =>
  firstRefusal(await settleAll(raw, route));

async function settleAll(raw: NodeRequest, route: PickedRoute): Promise<readonly Guarded[]> {
  const settled: Guarded[] = [];
  for (const state of statesOf(raw)) settled.push(await settle(raw, state, route));
  return settled;
}

const firstRefusal = (states: readonly Guarded[]): Refusal | undefined =>
  states.map(refusalOf).find((refusal) => refusal !== undefined);

async function settle(raw: NodeRequest, state: Guarded, route: PickedRoute): Promise<Guarded> {
  const { method, target, patterns } = route;
  if (patterns === "others") return { ...state, decision: refuse("request_ambiguous") };
  const { matchedPattern, params, ...request } = { ...state.request, method, target };
  let settled = holds(state, route) ? state : await decide(state.server, raw, request);
  for (const pattern of patterns) {
    if (!settled.decision.allowed) return settled;
    if (isMet(settled, route, pattern)) continue;
    const { decision, met } = await decide(state.server, raw, { ...request, matchedPattern: pattern });
    // A rule that looks at no token knows no caller; who was let in before stays known.
    const isKnown = !decision.allowed || decision.principal !== undefined;
    settled = {
      ...settled,
      decision: isKnown ? decision : settled.decision,
      met: [...settled.met, ...met],
    };
  }
  return settled;
}

/** Whether a decision was taken for the request that is at the route now. */
const holds = ({ decision, request }: Guarded, { method, target }: RoutedRequest): boolean =>
  decision.allowed && request.method === method && isSamePath(request.target, target);

const isSamePath = (a: string, b: string): boolean => a === b || wholePath(a) === wholePath(b);

const wholePath = (target: string): string => pathOf(originForm(target) ?? target);

/** Whether the rule that covers a whole pattern, if one does, was asked already. */
function isMet(state: Guarded, request: RoutedRequest, pattern: string): boolean {
  const rule = ruleOf(state, request, pattern);
  return rule === undefined || state.met.includes(rule);
}

const ruleOf = ({ server, request: { reading } }: Guarded, { method }: RoutedRequest, pattern: string) =>
  server.ruleFor(method, pattern, reading);

const refusalOf = ({ server, decision }: Guarded): Refusal | undefined =>
  decision.allowed ? undefined : server.refuse(decision);

async function decide(server: ResourceServer, raw: NodeRequest, request: BareRequest): Promise<Guarded> {
  try {
    const decision = await server.check(withCredential(raw, request));
    return { server, request, decision, met: rulesMetBy(decision) };
  } catch (cause) {
    throw asFault(cause);
  }
}

/** Frameworks take a fault that is no error for no fault, and go on. */
const asFault = (cause: unknown): Error =>
  cause instanceof Error ? cause : new Error("The request could not be decided.", { cause });

/** The caller of a guarded request; of a refused one nobody. */
export function findPrincipal(raw: object): Principal | undefined {
  const decisions = statesOf(raw).map(({ decision }) => decision);
  return decisions.every(({ allowed }) => allowed) ? decisions.at(-1)?.principal : undefined;
}

/** The check of one route for scopes of its own. */
export function createScopeCheck(
  scopes: readonly string[],
): (raw: object, params: AccessRequest["params"]) => Refusal | undefined {
  if (scopes.length === 0 || scopes.some((scope: unknown) => typeof scope !== "string"))
    throw new TypeError(
      'requireScopes takes scopes one by one: write requireScopes("agents:read", "agents:run").',
    );
  compileScopeList(scopes, "any");
  const own = Object.freeze([...scopes]);
  return (raw, params) => {
    const state = statesOf(raw).at(-1);
    if (!state)
      throw new Error(
        "requireScopes needs protect(server) in front of it, of the same adapter: nobody has read the token. Register protect(server) before this route.",
      );
    const { server, request } = state;
    const decision = server.checkScopes(state.decision, own, { ...request, params });
    return decision.allowed ? undefined : server.refuse(decision);
  };
}
