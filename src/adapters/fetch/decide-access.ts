import { andThen } from "../../core/runtime/and-then.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { decideRequest, guardRoute, refusalOf, verdictOf } from "../shared/guard.ts";
import { misplaced } from "../shared/misuse.ts";
import { readWebRequest, targetOf, toResponse, type WebRequest } from "../shared/web-request.ts";
import { type Access, GrantedAccess } from "./access.ts";
import type { FindRoute } from "./route.ts";

/** Decides a request, and the route that runs if the host reports one. */
export function decideAccess(
  server: ResourceServer,
  request: WebRequest,
  isAtHandler: boolean,
  findRoute?: FindRoute,
  basePath = "",
): Pending<Access | Response> {
  if (typeof (request.headers as Partial<Headers> | undefined)?.get !== "function")
    throw misplaced("fetch", request);
  const target = targetOf(request.url);
  // Below a base path, the home page has no slash.
  const sentTarget = basePath && target ? basePath + target.replace(/^\/(?=[?#]|$)/, "") : target;
  const sent = readWebRequest(request, request, sentTarget, isAtHandler);
  const route = findRoute?.(sent);
  return andThen(decideRequest(server, request, sent, route !== undefined), (verdict) => {
    const refusal = route ? guardRoute(request, () => route) : refusalOf(verdict, server);
    return andThen(refusal, (refused) =>
      refused
        ? toResponse(refused)
        : new GrantedAccess(verdictOf(request, server) ?? verdict, verdict.headers),
    );
  });
}
