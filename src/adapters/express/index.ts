import type { AccessRequest } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Principal } from "../../core/token/principal.ts";
import { checkFirst } from "../shared/check-first.ts";
import { findPrincipal, guardRequest, notesOf } from "../shared/guard.ts";
import { createBodyWarning } from "../shared/body-warning.ts";
import { assertResourceServer, misplaced } from "../shared/misuse.ts";
import { assertNoOptions, type NoOptions } from "../shared/no-options.ts";
import { createMetadata } from "../shared/metadata.ts";
import { toAccessRequest } from "../shared/access-request.ts";
import { send } from "../shared/node-response.ts";
import { withRole } from "../shared/roles.ts";
import { createScopeCheck } from "../shared/scope-check.ts";
import { type ExpressMiddleware, readMethod, readTarget } from "./request.ts";
import { shareHiddenClasses } from "./hidden-classes.ts";
import { watchRoutes } from "./route-check.ts";

export type { ExpressMiddleware, ExpressRequest, ExpressResponse } from "./request.ts";

/**
 * Protects everything after it: write `app.use(protect(server))` before the routes, or use it in a mounted
 * router. Rules always contain the whole path. It sends refusals itself, and passes errors to `next(error)`.
 *
 * Each route after the guard is checked again before it runs, because Express runs the first route that
 * matches, and a narrower rule may belong to a later one. A handler of `app.use(path, handler)` isn't a
 * route: only the path's rule decides. A copy of a request (`{ ...request }`) loses its prototype, so routes
 * that no other request has reached aren't checked for it.
 *
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError for any option
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
  const protecting: ExpressMiddleware = (request, response, next) => {
    // Read only once: it takes as long as reading the credential.
    isPlaced ||= typeof next === "function" && typeof response.setHeader === "function";
    if (!isPlaced) throw misplaced("express", request, response, next);
    if (!notesOf(request)) {
      shareHiddenClasses(request, response);
      // No warning after another guard: it refuses requests before a parser in between reads their bodies.
      if (request.body !== undefined) warnOfBody(request);
    }
    watchRoutes(request);
    checkFirst(
      () => {
        const seen = toAccessRequest(request, request, readMethod(request), readTarget(request));
        return guardRequest(server, request, seen, true, (name, value) => response.setHeader(name, value));
      },
      { refuse: (refusal) => send(response, refusal), next },
    );
  };
  return withRole("guard", protecting, server);
}

/**
 * Serves the metadata of the option `resource` (RFC 9728) to OAuth clients, such as those of MCP: write
 * `app.use(metadata(server))` before `protect`. The document is public and has CORS headers for every origin.
 * @throws TypeError for a server without the option `resource`
 */
export function metadata(server: ResourceServer): ExpressMiddleware {
  const find = createMetadata(server);
  return (request, response, next) => {
    const document = find(readMethod(request), readTarget(request));
    if (document) send(response, document);
    else next();
  };
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

/**
 * Returns the caller of a protected request; `undefined` if no token was read, or no `protect` ran.
 * @throws TypeError for an object of another framework
 */
export function principalOf(request: object): Principal | undefined {
  return findPrincipal("express", request, request);
}
