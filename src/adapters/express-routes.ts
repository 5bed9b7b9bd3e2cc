import { type ExpressApplication, type ExpressRoute, readApplication, toPatterns } from "./express-router.ts";

/**
 * Lists the routes of an Express application (4 and 5) for `server.audit`, those of its nested routers with the mounts above
 * them. A handler for every method is `*`; a route or mount whose path is an expression is listed as its text, which the
 * audit reports, and so is a mount that Express 5 does not keep before version 5.3.
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
 * for (const { method, pattern } of routesOf(app, admin)) console.log(method, pattern, server.ruleFor(method, pattern)?.key);
 * ```
 */
export function routesOf(
  app: ExpressApplication,
  ...mounted: readonly ExpressApplication[]
): readonly { readonly method: string; readonly pattern: string }[] {
  const applications = [app, ...mounted].map(readApplication);
  if (!applications.every((one) => one !== undefined))
    throw new TypeError("routesOf takes Express applications: write routesOf(app).");
  const missing = applications.flatMap(({ applicationsAt }) => applicationsAt);
  if (missing.length > mounted.length) {
    throw new TypeError(
      `routesOf cannot look into the applications that are mounted at ${missing.join(", ")}: name them as well, routesOf(app, mounted).`,
    );
  }
  return applications.flatMap(({ routes }) =>
    routes.flatMap(({ route, mounts }) =>
      methodsOf(route).flatMap((method) =>
        patternsOf(route, mounts).map((pattern) => Object.freeze({ method, pattern })),
      ),
    ),
  );
}

/** The methods that a handler for every method has, whatever else Node.js receives. */
const EVERY = ["get", "head", "post", "put", "patch", "delete", "options"];

const methodsOf = ({ methods }: ExpressRoute): readonly string[] =>
  methods["_all"] || EVERY.every((method) => methods[method])
    ? ["*"]
    : Object.keys(methods).map((method) => method.toUpperCase());

const patternsOf = (route: ExpressRoute, mounts: readonly string[] = ["unknown mount "]): readonly string[] =>
  mounts.flatMap((mount) =>
    (toPatterns(route.path) ?? [`RegExp ${String(route.path)}`]).map((own) => `${mount}${own}` || "/"),
  );
