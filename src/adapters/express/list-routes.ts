import { type ListedRoute } from "../../audit/coverage.ts";
import { toPatterns } from "./mounts.ts";
import { type ExpressApplication, type ExpressRoute, readApplication } from "./router.ts";
import { groupByGuard, walkAll } from "./unguarded.ts";
import { listRoutes, toWrittenPatterns } from "../listed-routes.ts";

/**
 * Lists the routes of an Express application (4 and 5) for `server.audit`, those of its nested routers with the mounts above
 * them. Optional groups are written out, a handler for every method is `*`, and HEAD beside GET is part of it; a route or mount whose path is an expression is listed as its text, which the
 * audit reports, and so is a mount that Express 5 does not keep before version 5.3.
 *
 * A route that `protect` does not run in front of is told as such, where an application holds `protect` and not only a router.
 *
 * An application that is mounted in another one is not to be found there: name it behind the one that it is mounted in. Handlers
 * given to `app.use(path, handler)` are no routes.
 *
 * @throws TypeError for anything but applications and routers, and when a mounted application is not named
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { protect, routesOf } from "scopegate/express";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = express();
 * const admin = express();
 * app.use(protect(server));
 * app.get("/agents/:agent_id", (req, res) => res.json(req.params.agent_id));
 * app.use("/admin", admin);
 * server.audit(routesOf(app, admin)).orThrow();
 * ```
 */
export function routesOf(
  app: ExpressApplication,
  ...mounted: readonly ExpressApplication[]
): readonly ListedRoute[] {
  const named = [...new Set([app, ...mounted])];
  const walks = walkAll(named);
  const applications = named.map((one) => readApplication(one, walks.get(one)));
  if (!applications.every((one) => one !== undefined))
    throw new TypeError("routesOf takes Express applications: write routesOf(app).");
  for (const [index, { applicationsAt }] of applications.entries()) {
    const inside = applications.filter(({ parent }) => parent === named[index]);
    if (inside.length === applicationsAt.length) continue;
    throw new TypeError(
      `routesOf cannot look into the applications that are mounted at ${applicationsAt.join(", ")}: name each of them once as well, routesOf(app, mounted). One that is mounted twice must be a router.`,
    );
  }
  return listRoutes(
    applications.flatMap(({ routes }, index) =>
      routes.flatMap((route) =>
        patternsOf(route.route, route.mounts).flatMap((pattern) =>
          groupByGuard(route, pattern, walks.get(named[index])).map((group) => ({ ...group, pattern })),
        ),
      ),
    ),
  );
}

const patternsOf = (route: ExpressRoute, mounts: readonly string[] = ["unknown mount "]): readonly string[] =>
  mounts.flatMap((mount) =>
    (toPatterns(route.path) ?? [`RegExp ${String(route.path)}`]).flatMap((own) =>
      toWrittenPatterns(`${mount}${own}` || "/"),
    ),
  );
