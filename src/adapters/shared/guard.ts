/** The part that every adapter uses: it stores the verdict on a request for the routes and handlers. */
import { type Decision, type Refused } from "../../core/policy/decision.ts";
import { compileScopeList } from "../../core/scopes/required-scope.ts";
import { type PendingVerdict, type Pipeline, type Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import { type RoutePattern } from "../../core/policy/table.ts";
import { type AccessRequest } from "../../core/request.ts";
import { type ResourceServer } from "../../core/server.ts";
import { type Refusal } from "../../core/response/refusal.ts";
import { chain, type Pending } from "../../core/runtime/pending.ts";
import { type Principal } from "../../core/token/principal.ts";
import { assertRequestOf, type Framework, warnOfPreflight } from "./misuse.ts";
import { readProperty } from "./node-request.ts";

/** The result of one guard for a request; without a verdict until it is decided. */
interface Guarded {
  readonly server: ResourceServer;
  /** The credentials that the guard received first: later code may replace them in the request. */
  readonly credentials: Pick<AccessRequest, "authorization" | "cookie">;
  verdict: Verdict | undefined;
}

/**
 * The property of the platform's request (Node.js, or the Fetch standard) that stores the verdicts. A
 * framework's request is not used, because it changes when an application is mounted.
 */
const KEPT = Symbol("scopegate");

/** Has only private properties, so that logging a request does not print its caller or credential. */
class Kept {
  readonly #guarded: Guarded[] = [];

  /** Finds the verdicts of a request. A copy of a request, or a proxy of it, shares those of the original. */
  static find(raw: object): Kept | undefined {
    const kept: unknown = readProperty(raw as { readonly [KEPT]?: unknown }, KEPT);
    return typeof kept === "object" && kept !== null && #guarded in kept ? kept : undefined;
  }

  static of(raw: object): Guarded[] | undefined {
    const kept = Kept.find(raw);
    return kept && kept.#guarded;
  }

  static add(raw: object): Guarded[] {
    const kept = new Kept();
    (raw as { [KEPT]?: Kept })[KEPT] = kept;
    return kept.#guarded;
  }
}

/** The response of a refusal, or `undefined` for an allowed request. */
export type PendingRefusal = Pending<Refusal | undefined>;

/** Stores a verdict as if a guard had reached it. Only the test kit uses it. */
export function assumeVerdict(raw: object, server: ResourceServer, verdict: Verdict): void {
  const all = Kept.of(raw) ?? Kept.add(raw);
  all.splice(0, all.length, { server, credentials: {}, verdict });
}

/** Decides a request, and stores the verdict in `raw`. */
export function judge(
  server: ResourceServer,
  raw: object,
  request: AccessRequest,
  isRouteChecked: boolean,
): PendingVerdict {
  const all = Kept.of(raw) ?? Kept.add(raw);
  let guarded = all.find((one) => one.server === server);
  if (!guarded) all.push((guarded = { server, credentials: request, verdict: undefined }));
  // Without a verdict, so that continuing after an error does not bypass the guard.
  guarded.verdict = undefined;
  // Later code may have changed the credential since the first guard read it.
  const { authorization, cookie } = guarded.credentials;
  const first = guarded.credentials === request ? request : { ...request, authorization, cookie };
  return chain(pipelineOf(server).decide(first, isRouteChecked), keepVerdict, guarded);
}

/** Decides a request, stores the verdict in `raw`, and returns the response of a refusal. */
export const guard = (...given: Parameters<typeof judge>): PendingRefusal =>
  chain(judge(...given), refusalOf, given[0]);

/** Returns the result of the guard of a server for a request; `undefined` until it has decided. */
export const verdictOf = (raw: object, server: ResourceServer): Verdict | undefined =>
  Kept.of(raw)?.find((one) => one.server === server)?.verdict;

/** Lets another object of the same request show its verdicts, unless it has its own. */
export function shareVerdicts(from: object, to: object): void {
  const kept = Kept.find(from);
  if (kept && !Kept.find(to)) (to as { [KEPT]?: Kept })[KEPT] = kept;
}

/** Returns an object for adapters' notes: each new property of Express's request costs V8 a hidden class. */
export const notesOf = (raw: object): object | undefined => Kept.find(raw);

/** A route that is about to run, and the request as it is now. */
export interface RunningRoute extends Pick<AccessRequest, "method" | "target"> {
  /** How the route is written; `undefined` if it no longer matches the request, which is then refused. */
  readonly patterns: readonly RoutePattern[] | undefined;
}

/**
 * Decides a request again at a route that is about to run, for each guard that it passed: the route may have
 * another rule than the path, and middleware may have changed the request.
 */
export function guardRoute(raw: object, find: () => RunningRoute): PendingRefusal {
  const all = Kept.of(raw);
  return all && decideFrom(0, all, find());
}

function decideFrom(index: number, all: readonly Guarded[], route: RunningRoute): PendingRefusal {
  const guarded = all[index];
  if (!guarded) return undefined;
  const { server, verdict } = guarded;
  if (!verdict)
    throw new Error(
      "The guard has not decided this request: its check failed or is still running, and other code continued.",
    );
  if (!verdict.isAllowed) return refusalOf(verdict, server);
  const decided = pipelineOf(server).decideRoute(verdict, route, route.patterns);
  const refusal = chain(chain(decided, keepVerdict, guarded), refusalOf, server);
  return chain(refusal, (known, after) => known ?? decideFrom(after, all, route), index + 1);
}

/**
 * Decides a guarded request again for the operations that it calls, each by its own rule: all may run, or
 * none. Needs the guard of the same server in front of it.
 */
export function guardOperations(
  server: ResourceServer,
  raw: object,
  decide: (pipeline: Pipeline, verdict: Verdict) => PendingVerdict,
): PendingRefusal {
  const all = Kept.of(raw);
  if (!all) assertNoOtherCopy(raw);
  const guarded = all?.find((one) => one.server === server);
  if (!guarded?.verdict)
    throw new Error(
      "No guard of this resource server has decided the request. Put protect(server) of your HTTP framework in front of it, and pass the same server here.",
    );
  if (!guarded.verdict.isAllowed) return refusalOf(guarded.verdict, server);
  const decided = decide(pipelineOf(server), guarded.verdict);
  return chain(chain(decided, keepVerdict, guarded), refusalOf, server);
}

function keepVerdict(verdict: Verdict, guarded: Guarded): Verdict {
  const { isAllowed, governing, request } = verdict;
  if (request.method === "OPTIONS" && !isAllowed && governing.kind === "unmapped") warnOfPreflight(request);
  guarded.verdict = verdict;
  return verdict;
}

/**
 * Returns the response of a refusal; `undefined` if the request is allowed. `refuse` throws if the decision
 * is not a refusal, so that a mistake here allows no request.
 */
export const refusalOf = ({ isAllowed, decision }: Verdict, server: ResourceServer): Refusal | undefined =>
  isAllowed ? undefined : server.refuse(decision() as Refused);

/**
 * Finds the caller of a guarded request; `undefined` if no guard ran, or if one guard refuses the request or
 * has not decided. `given` is the object that the application passed to the adapter; `raw` is the request of
 * the platform in it.
 * @throws TypeError for an object of another framework
 */
export function findPrincipal(adapter: Framework, given: unknown, raw: unknown): Principal | undefined {
  const guarded = Object(raw) === raw ? Kept.of(raw as object) : undefined;
  if (!guarded) {
    assertRequestOf(adapter, given, raw);
    assertNoOtherCopy(raw);
    return undefined;
  }
  const verdicts = guarded.map(({ verdict }) => verdict);
  return verdicts.every((verdict) => verdict?.isAllowed) ? verdicts.at(-1)?.principal : undefined;
}

/** Each copy of the package stores its verdicts under its own symbol, which no other code can create. */
function assertNoOtherCopy(raw: object): void {
  if (Object.getOwnPropertySymbols(raw).some(({ description }) => description === KEPT.description))
    throw new Error(
      "Another copy of scopegate guards this request, so this copy does not know its caller. Run `npm ls scopegate`, and install one version for the guard and the handlers.",
    );
}

/** Creates the check for the scopes that one route adds. `fix` is for an application without the guard. */
export function createScopeCheck(
  scopes: readonly string[],
  fix = "Register protect(server) before this route.",
) {
  if (scopes.length === 0 || scopes.some((scope: unknown) => typeof scope !== "string"))
    throw new TypeError(
      'requireScopes takes each scope as a separate argument: write requireScopes("agents:read", "agents:run").',
    );
  compileScopeList(scopes, "any");
  const own = Object.freeze([...scopes]);
  return (raw: object, params: AccessRequest["params"]): Refusal | undefined => {
    const guarded = Kept.of(raw)?.at(-1);
    if (!guarded) assertNoOtherCopy(raw);
    if (!guarded?.verdict)
      throw new Error(
        `requireScopes needs protect(server) of the same adapter in front of it: the token was not read. ${fix}`,
      );
    const { server, verdict } = guarded;
    const decision: Decision = server.checkScopes(verdict.decision(), own, { ...verdict.request, params });
    return decision.allowed ? undefined : server.refuse(decision);
  };
}
