import { type AccessRequest } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { settle } from "../../runtime/pending.ts";
import { type Principal } from "../../token/principal.ts";
import { createScopeCheck, findPrincipal, guard } from "../guard.ts";
import {
  assertNoOptions,
  assertResourceServer,
  createBodyWarning,
  misplaced,
  type NoOptions,
} from "../misuse.ts";
import { readProperty, toAccessRequest } from "../node-request.ts";
import { send } from "../node-response.ts";
import { withRole } from "../roles.ts";
import { type ExpressMiddleware, readMethod, readTarget } from "./request.ts";
import { watchRoutes } from "./route-check.ts";

export { type ExpressApplication } from "./router.ts";
export { routesOf } from "./list-routes.ts";
export { type ExpressMiddleware, type ExpressRequest, type ExpressResponse } from "./request.ts";

/**
 * Protects everything behind it: write `app.use(protect(server))` before the routes, or use it in a mounted
 * router, whose rules are written with the whole path. Refusals are answered; a fault goes to `next(error)`.
 *
 * Each route behind the guard is checked again before it runs, because Express runs the first route that
 * matches, not the route of the narrowest rule. A handler given to `app.use(path, handler)` is not a route:
 * the rule of the path decides alone. A spread copy of a request (`{ ...request }`) loses its prototype, so
 * that routes that no other request has reached are not checked for it.
 *
 * @throws TypeError for anything but a resource server
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { principalOf, protect } from "scopegate/express";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = express();
 * app.use(protect(server));
 * app.get("/agents/:agent_id", (req, res) => res.json({ caller: principalOf(req)?.userId }));
 * ```
 */
export function protect(server: ResourceServer, options: NoOptions = {}): ExpressMiddleware {
  assertResourceServer(server);
  assertNoOptions(options);
  const warnOfBody = createBodyWarning();
  let isPlaced = false;
  return withRole("guard", (request, response, next) => {
    // Once: it takes as long as reading the credential.
    isPlaced ||= typeof response.setHeader === "function" && typeof next === "function";
    if (!isPlaced) throw misplaced("express", request, response, next);
    if (readProperty(request, "body") !== undefined) warnOfBody(request);
    watchRoutes(request);
    settle(
      () => {
        const seen = toAccessRequest(request, readMethod(request), readTarget(request));
        return guard(server, request, seen, true, readProperty(request, "app"));
      },
      (refusal) => send(response, refusal),
      next,
    );
  });
}

/**
 * Requires scopes for one route on top of its rule; `<name>` is a route parameter. Needs `protect` before it.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): ExpressMiddleware {
  const check = createScopeCheck(scopes);
  return withRole("scope check", (request, response, next) => {
    const refusal = check(request, (request as Pick<AccessRequest, "params">).params);
    if (refusal) send(response, refusal);
    else next();
  });
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(request: object): Principal | undefined {
  return findPrincipal(request);
}
