/**
 * Express applications that mount routers and applications below parameters, below several paths and below
 * each other.
 */
import type { Express, IRouter } from "express";
import type { Configuration } from "../configuration.ts";
import { CREWS, CREWS_AND_TASK, targets } from "../targets.ts";
import { type ExpressKit, type ExpressSetup, forEachExpress } from "./express-application.ts";

function addCrewRoutes(router: IRouter, { handler }: ExpressKit): void {
  router.get("/card", handler("GET /crews/:id/card"));
  router.get("/runs", handler("GET /crews/:id/runs"));
}

function mountOwnCrew(app: Express, { express, handler }: ExpressKit): void {
  const router = express.Router();
  router.get("/card", handler("GET /crews/me/card"));
  router.get("/runs", handler("GET /crews/me/runs"));
  app.use("/crews/me", router);
}

/** A router that is mounted at two paths with different rules. */
function createSharedRouter({ express, handler }: ExpressKit): IRouter {
  const router = express.Router();
  router.get("/:id", (request, response, next) => {
    const { id } = request.params;
    const isPage = request.baseUrl.toLowerCase() === "/pages";
    Object.assign(request.params, { page: id });
    handler(isPage ? "GET /pages/:page" : "GET /tools/:id")(request, response, next);
  });
  return router;
}

const setups: readonly ExpressSetup[] = [
  ...[true, false].map((mergeParams): ExpressSetup => ({
    name: `parameter mount before a static mount, mergeParams ${mergeParams}`,
    targets: CREWS_AND_TASK,
    build: (app, kit) => {
      const anyCrew = kit.express.Router({ mergeParams });
      addCrewRoutes(anyCrew, kit);
      const tasks = kit.express.Router({ mergeParams });
      tasks.get("/:task", kit.handler("GET /crews/:id/tasks/:task"));
      anyCrew.use("/tasks", tasks);
      app.use("/crews/:id", kit.trace, anyCrew);
      mountOwnCrew(app, kit);
    },
  })),
  {
    name: "guard on a router behind a parameter mount",
    targets: CREWS_AND_TASK,
    placesGuard: true,
    build: (app, kit) => {
      const anyCrew = kit.express.Router({ mergeParams: true });
      anyCrew.use(kit.guard.express());
      addCrewRoutes(anyCrew, kit);
      anyCrew.get("/tasks/:task", kit.handler("GET /crews/:id/tasks/:task"));
      app.use("/crews/:id", kit.trace, anyCrew);
    },
  },
  {
    name: "application below a parameter",
    targets: CREWS,
    build: (app, kit) => {
      const anyCrew = kit.express();
      addCrewRoutes(anyCrew, kit);
      app.use("/crews/:id", kit.trace, anyCrew);
      mountOwnCrew(app, kit);
    },
  },
  ...[true, false].map((guardsInner): ExpressSetup => ({
    name: guardsInner
      ? "guard in an application below a parameter, within a router"
      : "application below a parameter, within a router, guard around it",
    targets: CREWS,
    placesGuard: true,
    build: (app, kit) => {
      const anyCrew = kit.express();
      (guardsInner ? anyCrew : app).use(kit.guard.express());
      addCrewRoutes(anyCrew, kit);
      app.use("/crews", kit.express.Router().use("/:id", kit.trace, anyCrew));
    },
  })),
  {
    name: "two guards",
    targets: CREWS,
    placesGuard: true,
    build: (app, { express, guard, handler }) => {
      const crews = express.Router();
      crews.use(guard.express());
      crews.get("/:id/card", handler("GET /crews/:id/card"));
      crews.get("/:id/runs", handler("GET /crews/:id/runs"));
      app.use("/crews", guard.express(), crews);
    },
  },
  ...[["/tools"], ["/tools", "/pages"], [/^\/(?:tools|pages)/i]].map((first): ExpressSetup => ({
    name: `one router mounted at ${first.join(" and ")}, then at /pages`,
    targets: targets("/pages/index", "/pages/web", "/tools/kit", "/tools/web"),
    build: (app, kit) => {
      const router = createSharedRouter(kit);
      app.use(first, router);
      app.use("/pages", router);
    },
  })),
];

export const expressMountConfigurations: readonly Configuration[] = setups.flatMap(forEachExpress);
