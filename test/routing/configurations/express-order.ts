/** Express applications that run another handler than that of the narrowest rule. */
import type { RequestHandler } from "express";
import type { Configuration } from "../configuration.ts";
import { ALIASES, REWRITTEN_AFTER, specialTargets, STEPS, targets } from "../targets.ts";
import { addStandardRoutes, type ExpressSetup, forEachExpress } from "./express-application.ts";

const withoutPrefix =
  (prefix: string): RequestHandler =>
  (request, _response, next) => {
    if (request.url.startsWith(`${prefix}/`)) request.url = request.url.slice(prefix.length);
    next();
  };

const setups: readonly ExpressSetup[] = [
  {
    name: "a public route that calls next before a parameter route",
    targets: STEPS,
    build: (app, { handler, passing }) => {
      app.get("/steps/open", passing("GET /steps/open"));
      app.get("/steps/:id", passing("GET /steps/:id"));
      app.get("/steps/final", handler("GET /steps/final"));
    },
  },
  {
    name: 'next("route")',
    targets: STEPS,
    build: (app, { handler, passing }) => {
      app.get("/steps/open", passing("GET /steps/open", "route"), handler("GET /steps/final"));
      app.get("/steps/final", passing("GET /steps/final", "route"), handler("GET /steps/open"));
      app.get("/steps/:id", handler("GET /steps/:id"));
    },
  },
  {
    name: "app.all before other routes",
    targets: targets("/walk/free", "/walk/web", "/walk/a/b"),
    build: (app, { handler, pattern, passing }) => {
      app.get("/walk/free", passing("GET /walk/free"));
      app.all(pattern("/walk/*rest"), passing("ALL /walk/*rest"));
      app.get("/walk/:id", handler("GET /walk/:id"));
    },
  },
  ...[
    ["/list/:id", "/list/all"],
    ["/list/all", "/list/:id"],
  ].map((paths): ExpressSetup => ({
    name: `array of paths, ${paths.join(" before ")}`,
    targets: targets("/list/all", "/list/web"),
    build: (app, { handler }) => {
      app.get(paths, (request, response, next) => {
        const path = request.params["id"] === undefined ? "/list/all" : "/list/:id";
        handler(`GET ${path}`)(request, response, next);
      });
    },
  })),
  {
    name: "handlers of app.use",
    targets: specialTargets("app.use", "/wide/two", "/wide/one", "/wide/three"),
    build: (app, { handler }) => {
      app.use("/wide", (request, response, next) => {
        request.params = { path: request.path.slice(1) };
        handler("GET /wide/*path")(request, response, next);
      });
    },
  },
  {
    name: "regular expressions",
    targets: targets("/numbers/7", "/numbers/0"),
    build: (app, { handler }) => {
      app.get(/^\/numbers\/(\d+)\/?$/, handler("GET /numbers/(\\d+)"));
    },
  },
  {
    name: "extension",
    targets: targets("/images/web.png"),
    build: (app, { handler }) => {
      app.get("/images/:name.:ext", handler("GET /images/:name.:ext"));
    },
  },
  {
    name: "URL rewritten before the guard",
    targets: targets("/v2/agents/web", "/v2/agents/me", "/v2/health", "/v2/alias/agents/web", "/agents/web"),
    placesGuard: true,
    build: (app, kit) => {
      app.use(withoutPrefix("/v2"));
      app.use(kit.guard.express());
      addStandardRoutes(app, kit);
    },
  },
  {
    name: "URL rewritten within a mounted router",
    prefix: "/api",
    targets: specialTargets(
      REWRITTEN_AFTER,
      "/alias/agents/web",
      "/alias/internal",
      "/alias/files/private/a",
    ),
    build: (app, kit) => {
      const router = kit.express.Router().use(withoutPrefix("/alias"));
      addStandardRoutes(router, kit);
      app.use("/api", router);
    },
  },
  {
    name: "URL rewritten after the guard",
    targets: ALIASES,
    build: (app, kit) => {
      app.use(withoutPrefix("/alias"));
      addStandardRoutes(app, kit);
    },
  },
];

export const expressOrderConfigurations: readonly Configuration[] = setups.flatMap(forEachExpress);
