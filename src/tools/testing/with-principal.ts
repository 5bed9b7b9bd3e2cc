import { mcpOperations } from "../../capabilities/mcp-operations/index.ts";
import { optionError } from "../../core/options/option-checks.ts";
import { assumeVerdict } from "../../adapters/shared/guard.ts";
import { rememberPrincipal } from "../../adapters/socketio/principals.ts";
import { CallerInfo } from "../../adapters/mcp/caller.ts";
import { remoteKeys } from "../../capabilities/keys/index.ts";
import type { Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { createResourceServer } from "../../core/server.ts";
import type { Principal } from "../../core/token/principal.ts";
import { principalOf, requireCaller, type ScopedCaller } from "./caller.ts";

let knownServer: ResourceServer | undefined;

/** A server that only decides scopes. No token is valid for it. */
const serverOfCallers = (): ResourceServer =>
  (knownServer ??= createResourceServer({
    keys: remoteKeys({ jwksUri: "https://keys.invalid/" }),
    verifyAudience: false,
    scopeMappings: { "GET /": "optional" },
    // For `mayCall`.
    mcp: mcpOperations(),
  }));

/**
 * Returns the same request or context, with a caller as if `protect` had allowed the request: `principalOf`
 * of its adapter returns this caller, and `requireScopes` decides by its scopes. For unit tests that call a
 * handler without an application.
 *
 * It takes the request of Express, Fastify, NestJS, Node.js and the Fetch standard, the context of Koa, Hono
 * and tRPC (an object with `principal`), a socket of Socket.IO, and the last argument of a handler of MCP;
 * also a plain object with the properties that the handler reads. The table of your server isn't used: test
 * it with `check`. `has` and `requireScopes` know no `adminScope` and no `impliedScopes`.
 *
 * @throws ConfigurationError for anything but an object, an unknown option, and scopes that grant nothing
 * @example
 * ```ts
 * import { principalOf } from "scopegate/express";
 * import { withPrincipal } from "scopegate/testing";
 *
 * const handler = (request: object) => ({ caller: principalOf(request)?.userId });
 * const request = withPrincipal({ params: { id: "web" } }, { userId: "user-7", scopes: ["agents:read"] });
 * console.log(handler(request)); // { caller: 'user-7' }
 * ```
 */
export function withPrincipal<Target extends object>(target: Target, caller: Partial<ScopedCaller>): Target {
  if (Object(target) !== target) {
    const hint = "Pass the request or context that the handler receives.";
    throw optionError(["withPrincipal", "request"], "isn't an object.", hint);
  }
  const whole = { scopes: [], ...caller };
  requireCaller("withPrincipal", whole);
  const server = serverOfCallers();
  const verdict = verdictFor(server, whole);
  const { principal } = verdict;
  const properties = target as Readonly<Record<"req" | "raw" | "http", unknown>>;
  // Koa and Fastify store the caller with Node's request, which is inside their own.
  for (const place of [target, properties.req, properties.raw])
    if (typeof place === "object" && place !== null) assumeVerdict(place, server, verdict);
  if ("principal" in target) target.principal = principal;
  if ("nsp" in target) rememberPrincipal(target, principal);
  const authInfo = new CallerInfo(server, principal, verdict.request, target);
  if ("mcpReq" in target || "http" in target)
    Object.assign(target, { http: { ...(properties.http as object | undefined), authInfo } });
  else if ("requestId" in target || "authInfo" in target) Object.assign(target, { authInfo });
  return target;
}

function verdictFor(
  server: ResourceServer,
  caller: ScopedCaller,
): Verdict & { readonly principal: Principal } {
  const request = { method: "GET", target: "/" };
  // Only the claims that the test has set, because a handler may list them.
  const claims = Object.freeze({ ...caller.claims });
  const principal = Object.freeze({ ...principalOf(server, caller), claims });
  // Without a credential, the decision needs no promise.
  const verdict = pipelineOf(server).decide(request, true) as Verdict;
  return { ...verdict, principal, decision: () => Object.freeze({ ...verdict.decision(), principal }) };
}
