/** Hono applications that run another handler than that of the narrowest rule. */
import { Hono } from "hono";
import { mount } from "hono/mount";
import { LinearRouter } from "hono/router/linear-router";
import { PatternRouter } from "hono/router/pattern-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { methodOverride } from "hono/method-override";
import type { Configuration } from "../configuration.ts";
import {
  CREWS_AND_TASK,
  overridden,
  REWRITTEN_AFTER,
  specialTargets,
  STEPS,
  type Target,
  targets,
} from "../targets.ts";
import { addStandardRoutes, type HonoSetup, toConfiguration } from "./hono-application.ts";

const OVERRIDDEN: readonly Target[] = [
  overridden("POST", "DELETE", "/agents/web"),
  overridden("POST", "GET", "/inbox"),
  { method: "DELETE", path: "/agents/web" },
];

const setups: readonly HonoSetup[] = [
  {
    name: "parameter application before a static one",
    targets: CREWS_AND_TASK,
    build: (app, { handler }) => {
      const tasks = new Hono().get("/:task", handler("GET /crews/:id/tasks/:task"));
      const anyCrew = new Hono().get("/card", handler("GET /crews/:id/card"));
      anyCrew.get("/runs", handler("GET /crews/:id/runs")).route("/tasks", tasks);
      const ownCrew = new Hono().basePath("/crews/me").get("/card", handler("GET /crews/me/card"));
      ownCrew.get("/runs", handler("GET /crews/me/runs"));
      app.route("/crews/:id", anyCrew).route("/", ownCrew);
    },
  },
  {
    name: "a public route that calls next before a parameter route",
    targets: STEPS,
    build: (app, { handler, passing }) => {
      app.get("/steps/open", passing("GET /steps/open"));
      app.get("/steps/:id", passing("GET /steps/:id"));
      app.get("/steps/final", handler("GET /steps/final"));
    },
  },
  ...[RegExpRouter, TrieRouter, LinearRouter, PatternRouter].map((Router): HonoSetup => ({
    name: `app.all before other routes, ${Router.name}`,
    targets: targets("/walk/free", "/walk/a/b"),
    create: () => new Hono({ router: new SmartRouter({ routers: [new Router(), new TrieRouter()] }) }),
    build: (app, { handler, passing }) => {
      app.get("/walk/free", passing("GET /walk/free"));
      app.all("/walk/*", handler("ALL /walk/*rest"));
      app.get("/walk/:id", handler("GET /walk/:id"));
    },
  })),
  {
    name: "app.use with a handler that answers",
    targets: targets("/walk/free", "/walk/a/b"),
    build: (app, { handler }) => {
      app.use("/walk/*", handler("ALL /walk/*rest"));
      app.get("/walk/free", handler("GET /walk/free"));
    },
  },
  {
    name: "app.all of a parameter that calls next",
    targets: [
      ...targets("/anything/web", "/inbox"),
      { method: "POST", path: "/anything/web" },
      { method: "PUT", path: "/inbox" },
    ],
    build: (app, { handler, passing }) => {
      app.all("/anything/:id", passing("ALL /anything/:id"));
      app.use("/inbox", passing("ALL /inbox"));
      app.all("/anything/:id", handler("ALL /anything/:id"));
      app.all("/inbox", handler("ALL /inbox"));
    },
  },
  {
    name: "middleware below paths, which are wider than the rules",
    build: (app, kit) => {
      for (const path of ["*", "/agents/*", "/files/*", "/anything/*", "/walk/*"])
        app.use(path, async (_context, next) => next());
      addStandardRoutes(app, kit);
    },
  },
  {
    name: "array of paths",
    targets: targets("/list/all", "/list/web"),
    build: (app, { handler }) => {
      app.on(
        "GET",
        ["/list/:id", "/list/all"],
        (context, next) =>
          handler(`GET ${"id" in context.req.param() ? "/list/:id" : "/list/all"}`)(
            context,
            next,
          ) as Response,
      );
    },
  },
  {
    name: "regular expressions",
    targets: targets(
      "/numbers/7",
      "/numbers/0",
      "/files/a/b",
      "/files/private/a",
      "/agents/me",
      "/agents/web",
    ),
    build: (app, { handler }) => {
      app.get("/numbers/:0{[0-9]+}", handler("GET /numbers/(\\d+)"));
      app.get("/files/:path{.+}", handler("GET /files/*path"));
      app.get("/agents/:id{[a-z]+}", handler("GET /agents/:id"));
    },
  },
  {
    name: "URL replaced after the guard",
    targets: [
      ...specialTargets(REWRITTEN_AFTER, "/alias/agents/web", "/alias/files/private/a"),
      ...targets("/agents/web", "/health"),
    ],
    build: (app, kit) => {
      app.use(async (context, next) => {
        context.req.raw = new Request(context.req.url.replace("/alias/", "/"), context.req.raw);
        await next();
      });
      addStandardRoutes(app, kit);
      app.all(
        "/alias/*",
        mount((request: Request) => app.fetch(request)),
      );
    },
  },
  ...(["before", "after"] as const).map((place): HonoSetup => ({
    name: `methodOverride ${place} the guard`,
    targets: OVERRIDDEN,
    placesGuard: true,
    build: (app, kit) => {
      const override = methodOverride({ app, header: "x-http-method-override" });
      if (place === "before") app.use(override);
      app.use(kit.guard.hono());
      if (place === "after") app.use(override);
      addStandardRoutes(app, kit);
    },
  })),
  {
    name: "method replaced after the guard",
    targets: OVERRIDDEN,
    build: (app, kit) => {
      app.use(async (context, next) => {
        const method = context.req.header("x-http-method-override") ?? context.req.method;
        context.req.raw = new Request(context.req.url, { method, headers: context.req.raw.headers });
        await next();
      });
      addStandardRoutes(app, kit);
    },
  },
];

export const honoOrderConfigurations: readonly Configuration[] = setups.map(toConfiguration);
