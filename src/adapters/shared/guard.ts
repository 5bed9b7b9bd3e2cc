/** The part that every adapter uses: it stores the verdict on a request for the routes and handlers. */
import type { Refused } from "../../core/policy/decision.ts";
import type { PendingVerdict, Pipeline, RunningRoute, Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import type { AccessRequest } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { isPending, type Pending } from "../../core/runtime/pending.ts";
import type { Principal } from "../../core/token/principal.ts";
import { assertRequestOf, type Framework, warnOfPreflight } from "./misuse.ts";
import { withCredentialHeaders } from "./credential-headers.ts";

/** The result of one guard for a request; without a verdict until it's decided. */
export interface Guarded {
  readonly server: ResourceServer;
  /** The request as the client sent it: later code may change its credentials, its method and its path. */
  readonly sent: AccessRequest;
  verdict: Verdict | undefined;
}

/**
 * The property of the platform's request (Node.js, or the Fetch standard) that stores the verdicts. A
 * framework's request isn't used, because it changes when an application is mounted.
 */
const KEPT = Symbol("scopegate");

/** Has only private properties, so that logging a request doesn't print its caller or credential. */
class Kept {
  readonly #guarded: Guarded[] = [];

  /** Finds the verdicts of a request. A copy of a request, or a proxy of it, shares those of the original. */
  static find(raw: object): Kept | undefined {
    const kept: unknown = (raw as { readonly [KEPT]?: unknown })[KEPT];
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

/** The response to a refused request; `undefined` for an allowed one. A promise if the verdict is one. */
export type PendingRefusal = Pending<Refusal | undefined>;

/** Stores a verdict as if a guard had reached it. Only the test kit uses it. */
export function assumeVerdict(raw: object, server: ResourceServer, verdict: Verdict): void {
  const guards = Kept.of(raw) ?? Kept.add(raw);
  guards.splice(0, guards.length, { server, sent: verdict.request, verdict });
}

/** Decides a request, and stores the verdict in `raw`. `withHeaders` is the request of the platform. */
export function decideRequest(
  server: ResourceServer,
  raw: object,
  seen: AccessRequest,
  isRouteChecked: boolean,
  withHeaders = raw,
): PendingVerdict {
  const request = withCredentialHeaders(server, withHeaders, seen);
  const guards = Kept.of(raw) ?? Kept.add(raw);
  let guarded = guards.find((candidate) => candidate.server === server);
  if (!guarded) guards.push((guarded = { server, sent: asSent(request, withHeaders), verdict: undefined }));
  // Cleared first, so that continuing after an error doesn't bypass the guard.
  guarded.verdict = undefined;
  // Later code may have changed the credential, or replaced the request, as `bodyLimit` of Hono does.
  const { sent } = guarded;
  const { authorization, cookie, headers } = sent;
  const withCredentials = sent === request ? request : { ...request, authorization, cookie, headers };
  return storeVerdict(guarded, pipelineOf(server).decide(withCredentials, isRouteChecked, sent));
}

/** `method-override` keeps the method on the wire, which a DPoP proof names (RFC 9449 section 4.2). */
function asSent(request: AccessRequest, raw: object): AccessRequest {
  const method: unknown = Object.hasOwn(raw, "originalMethod") && Reflect.get(raw, "originalMethod");
  return typeof method === "string" ? { ...request, method } : request;
}

/** Sets a header field of the response of an allowed request. */
export type SetHeader = (name: string, value: string) => unknown;

/** Decides a request, stores the verdict in `raw`, and returns the response if it's refused. */
export function guardRequest(
  server: ResourceServer,
  raw: object,
  request: AccessRequest,
  isRouteChecked: boolean,
  setHeader?: SetHeader,
  withHeaders = raw,
): PendingRefusal {
  const verdict = decideRequest(server, raw, request, isRouteChecked, withHeaders);
  return toRefusal(verdict, server, setHeader);
}

/** Returns the result of the guard of a server for a request; `undefined` until it has decided. */
export const verdictOf = (raw: object, server: ResourceServer): Verdict | undefined =>
  Kept.of(raw)?.find((guarded) => guarded.server === server)?.verdict;

/** Shares the verdicts of a request with another object of the same request, unless that has its own. */
export function shareVerdicts(from: object, to: object): void {
  const kept = Kept.find(from);
  if (kept && !Kept.find(to)) (to as { [KEPT]?: Kept })[KEPT] = kept;
}

/** Returns the object in which adapters keep notes on a guarded request; `undefined` before a guard ran. */
export const notesOf = (raw: object): object | undefined => Kept.find(raw);

/**
 * Decides a request again at a route that is about to run, for each guard that it passed: the rule for the
 * route may not be the rule for the path, and middleware may have changed the request.
 */
export function guardRoute(raw: object, find: (pipeline: Pipeline) => RunningRoute): PendingRefusal {
  const guards = Kept.of(raw) ?? [];
  const [first] = guards;
  return first && decideForEach(guards, find(pipelineOf(first.server)));
}

/** Decides for the guards one after the other, until one of them refuses the request. */
function decideForEach([guarded, ...others]: readonly Guarded[], route: RunningRoute): PendingRefusal {
  if (!guarded) return undefined;
  const refusal = decideAtRoute(guarded, route);
  const goOn = (awaited: Refusal | undefined) => awaited ?? decideForEach(others, route);
  return isPending(refusal) ? refusal.then(goOn) : goOn(refusal);
}

function decideAtRoute(guarded: Guarded, route: RunningRoute): PendingRefusal {
  const { server, sent, verdict } = guarded;
  if (!verdict)
    throw new Error(
      "The guard hasn't decided this request: its check failed or is still running, and other code continued.",
    );
  if (!verdict.isAllowed) return refusalOf(verdict, server);
  const decided = pipelineOf(server).decideRoute(verdict, route, sent);
  return toRefusal(storeVerdict(guarded, decided), server);
}

/** Stores a verdict, so that it counts from now on. */
export function storeVerdict(guarded: Guarded, verdict: PendingVerdict): PendingVerdict {
  if (isPending(verdict)) return verdict.then((awaited) => storeVerdict(guarded, awaited));
  const { isAllowed, governing, request } = verdict;
  if (request.method === "OPTIONS" && !isAllowed && governing.kind === "unmapped") warnOfPreflight(request);
  guarded.verdict = verdict;
  return verdict;
}

/**
 * Returns the response to a refused request; `undefined` for an allowed one. `refuse` throws for a decision
 * that allows, so that a mistake here can't let a request pass.
 */
export const refusalOf = ({ isAllowed, decision }: Verdict, server: ResourceServer): Refusal | undefined =>
  isAllowed ? undefined : server.refuse(decision() as Refused);

/** Does the same for a verdict that may be a promise, and sets the header fields of the verdict. */
export function toRefusal(
  verdict: PendingVerdict,
  server: ResourceServer,
  setHeader?: SetHeader,
): PendingRefusal {
  if (isPending(verdict)) return verdict.then((awaited) => toRefusal(awaited, server, setHeader));
  if (verdict.headers && setHeader)
    for (const [name, value] of Object.entries(verdict.headers)) setHeader(name, value);
  return refusalOf(verdict, server);
}

/**
 * Finds the caller of a guarded request; `undefined` if no guard ran, or if one guard refuses the request or
 * hasn't decided. `subject` is what the adapter received, and `raw` is the object in it with the verdicts.
 * @throws TypeError for an object of another framework
 */
export function findPrincipal(adapter: Framework, subject: unknown, raw: unknown): Principal | undefined {
  const guards = Object(raw) === raw ? Kept.of(raw as object) : undefined;
  if (!guards) {
    assertRequestOf(adapter, subject, raw);
    assertNoOtherCopy(raw);
    return undefined;
  }
  const verdicts = guards.map(({ verdict }) => verdict);
  return verdicts.every((verdict) => verdict?.isAllowed) ? verdicts.at(-1)?.principal : undefined;
}

/** Returns the results of the guards that received a request, in their order. */
export function guardsOf(raw: object): readonly Guarded[] {
  const guards = Kept.of(raw);
  if (!guards) assertNoOtherCopy(raw);
  return guards ?? [];
}

/** Each copy of the package stores its verdicts under its own symbol, which no other code can create. */
function assertNoOtherCopy(raw: object): void {
  if (Object.getOwnPropertySymbols(raw).some(({ description }) => description === KEPT.description))
    throw new Error(
      "Another copy of scopegate guards this request, so this copy doesn't know its caller. Run `npm ls scopegate`, and install one version for the guard and the handlers.",
    );
}
