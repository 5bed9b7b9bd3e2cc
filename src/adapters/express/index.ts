import { type Principal } from "../../token/principal.ts";
import { type AccessRequest, type PathReading } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { createBodyWarning } from "../body-parser.ts";
import { type ExpressMiddleware, type ExpressRequest, readMethod, readTarget } from "./request.ts";
import { watchRoutes } from "./route-check.ts";
import { createScopeCheck, findPrincipal, guard } from "../guard.ts";
import { asGuard, asScopeCheck } from "../middleware-marks.ts";
import { assertOptions, assertResourceServer, misplaced } from "../misuse.ts";
import { readMember } from "../node-request.ts";
import { send } from "../node-response.ts";

export { type ExpressApplication } from "./router.ts";
export { routesOf } from "./list-routes.ts";
export { type ExpressMiddleware, type ExpressRequest, type ExpressResponse } from "./request.ts";

/** How the routers of the application read a path; say it where they are stricter than Express is by default. */
export interface ProtectOptions {
  /** `/Agents` is another route than `/agents`. Default: not so, unless the application has `case sensitive routing`. */
  readonly caseSensitive?: boolean;
  /** `/agents/` is another route than `/agents`. Default: not so, unless the application has `strict routing`. */
  readonly strict?: boolean;
}

/**
 * Protects everything behind it: `app.use(protect(server))` before the routes, or on a mounted router, whose rules are
 * written with the whole path. Refusals are answered; a fault goes to `next(error)`. Each route behind it asks again before it
 * runs, because Express runs the first route that matches; a handler given to `use` is decided by the path alone.
 *
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
export function protect(server: ResourceServer, options: ProtectOptions = {}): ExpressMiddleware {
  assertResourceServer(server);
  assertOptions(options, ["caseSensitive", "strict"]);
  const warnOfBody = createBodyWarning();
  return asGuard((request, response, next) => {
    if (typeof response.setHeader !== "function" || typeof next !== "function")
      throw misplaced("express", request, response, next);
    if (readMember(request, "body") !== undefined) warnOfBody(request);
    watchRoutes(request);
    guard(server, request, {
      method: readMethod(request),
      target: readTarget(request),
      reading: readReading(request, options),
    })
      .then((refusal) => (refusal ? send(response, refusal) : next()))
      // Express 4 does not look at promises: what is not handed over would end the process.
      .catch(next);
  });
}

/**
 * Asks one route for scopes on top of its rule; `<name>` stands for a parameter of the route. Needs `protect` in front.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): ExpressMiddleware {
  const check = createScopeCheck(scopes);
  return asScopeCheck((request, response, next) => {
    const refusal = check(request, (request as Pick<AccessRequest, "params">).params);
    if (refusal) send(response, refusal);
    else next();
  });
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(request: object): Principal | undefined {
  return findPrincipal(request);
}

/**
 * Lenient, as Express is. The settings of an application do not reach its routers: where one is strict, nothing is known of
 * the others unless the options say it.
 */
function readReading(request: ExpressRequest, { caseSensitive, strict }: ProtectOptions): PathReading {
  const app = readMember(request, "app");
  const isLenient = (setting: string): true | undefined => (app?.enabled(setting) ? undefined : true);
  return {
    ignoreCase: caseSensitive === undefined ? isLenient("case sensitive routing") : !caseSensitive,
    ignoreTrailingSlash: strict === undefined ? isLenient("strict routing") : !strict,
  };
}
