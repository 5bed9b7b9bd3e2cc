/** Koa applications that run another handler than that of the narrowest rule. */
import Router from "@koa/router";
import type { Configuration } from "../configuration.ts";
import { ALIASES, CREWS_AND_TASK, overridden, STEPS, targets, VERSIONED } from "../targets.ts";
import { createStandardRouter, forEachKoa, type KoaSetup, routesOf } from "./koa-application.ts";

const setups: readonly KoaSetup[] = [
  {
    name: "parameter router before a static router",
    targets: CREWS_AND_TASK,
    build: (app, { handler }) => {
      const tasks = new Router();
      tasks.get("/:task", handler("GET /crews/:id/tasks/:task"));
      const anyCrew = new Router();
      anyCrew.get("/card", handler("GET /crews/:id/card"));
      anyCrew.get("/runs", handler("GET /crews/:id/runs"));
      anyCrew.use("/tasks", tasks.routes());
      const ownCrew = new Router({ prefix: "/crews/me" });
      ownCrew.get("/card", handler("GET /crews/me/card"));
      ownCrew.get("/runs", handler("GET /crews/me/runs"));
      const crews = new Router();
      crews.use("/crews/:id", anyCrew.routes());
      app.use(routesOf(crews)).use(routesOf(ownCrew));
    },
  },
  {
    name: "a public route that calls next before a parameter route",
    targets: STEPS,
    build: (app, { handler, passing }) => {
      const router = new Router();
      router.get("/steps/open", passing("GET /steps/open"));
      router.get("/steps/:id", passing("GET /steps/:id"));
      const second = new Router();
      second.get("/steps/final", handler("GET /steps/final"));
      app.use(routesOf(router)).use(routesOf(second));
    },
  },
  {
    name: "router.all before other routes",
    targets: targets("/walk/free", "/walk/web", "/walk/a/b"),
    build: (app, { handler, passing }) => {
      const router = new Router();
      router.get("/walk/free", passing("GET /walk/free"));
      router.all("/walk/*rest", passing("ALL /walk/*rest"));
      router.get("/walk/:id", handler("GET /walk/:id"));
      app.use(routesOf(router));
    },
  },
  {
    name: "array of paths",
    targets: targets("/list/all", "/list/web"),
    build: (app, { handler }) => {
      const router = new Router();
      router.get(["/list/:id", "/list/all"], async (context, next) => {
        const path = context.params["id"] === undefined ? "/list/all" : "/list/:id";
        await handler(`GET ${path}`)(context, next);
      });
      app.use(routesOf(router));
    },
  },
  {
    name: "regular expressions",
    targets: targets("/numbers/7", "/numbers/0"),
    build: (app, { handler }) => {
      const router = new Router();
      router.get(/^\/numbers\/(\d+)\/?$/, handler("GET /numbers/(\\d+)"));
      app.use(routesOf(router));
    },
  },
  {
    name: "extension",
    targets: targets("/images/web.png"),
    build: (app, { handler }) => {
      const router = new Router();
      router.get("/images/:name.:ext", handler("GET /images/:name.:ext"));
      app.use(routesOf(router));
    },
  },
  {
    name: "path rewritten before the guard",
    targets: VERSIONED,
    placesGuard: true,
    build: (app, kit) => {
      app.use((context, next) => {
        context.path = context.path.replace(/^\/v2\//, "/");
        return next();
      });
      app.use(kit.guard.koa()).use(routesOf(createStandardRouter(kit)));
    },
  },
  ...(["path", "url", "newRouterPath"] as const).map((member): KoaSetup => ({
    name: `${member} rewritten after the guard`,
    targets: ALIASES,
    build: (app, kit) => {
      app.use((context, next) => {
        const from = member === "url" ? context.url : context.path;
        if (from.startsWith("/alias/")) Object.assign(context, { [member]: from.slice("/alias".length) });
        return next();
      });
      app.use(routesOf(createStandardRouter(kit)));
    },
  })),
  {
    name: "method overridden after the guard",
    targets: [
      overridden("POST", "DELETE", "/agents/web"),
      overridden("GET", "POST", "/inbox"),
      overridden("HEAD", "GET", "/probe"),
      { method: "DELETE", path: "/agents/web" },
    ],
    build: (app, kit) => {
      app.use((context, next) => {
        context.method = context.get("x-http-method-override") || context.method;
        return next();
      });
      app.use(routesOf(createStandardRouter(kit)));
    },
  },
];

export const koaOrderConfigurations: readonly Configuration[] = setups.flatMap(forEachKoa);
