import { compileScopeList } from "../../core/scopes/required-scope.ts";
import type { AccessRequest } from "../../core/request.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { guardsOf } from "./guard.ts";

/** Creates the check for the scopes that one route adds. `fix` is shown if the guard is missing. */
export function createScopeCheck(
  scopes: readonly string[],
  fix = "Register protect(server) before this route.",
) {
  if (scopes.length === 0 || scopes.some((scope: unknown) => typeof scope !== "string"))
    throw new TypeError(
      'requireScopes takes each scope as a separate argument: write requireScopes("agents:read", "agents:run").',
    );
  compileScopeList(scopes, "any");
  const ownScopes = Object.freeze([...scopes]);
  return (raw: object, params: AccessRequest["params"]): Refusal | undefined => {
    const guarded = guardsOf(raw).at(-1);
    if (!guarded?.verdict)
      throw new Error(
        `requireScopes needs protect(server) of the same adapter before it: the token wasn't read. ${fix}`,
      );
    const { server, verdict } = guarded;
    const decision = server.checkScopes(verdict.decision(), ownScopes, { ...verdict.request, params });
    return decision.allowed ? undefined : server.refuse(decision);
  };
}
