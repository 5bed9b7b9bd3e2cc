import { type Configuration } from "../configuration.ts";
import { addStandardRoutes, type ExpressSetup, forEachExpress } from "./express-application.ts";

const STRICT = { caseSensitive: true, strict: true };

const setups: readonly ExpressSetup[] = [
  {
    name: "default",
    build: addStandardRoutes,
  },
  {
    name: "strict and case-sensitive",
    placesGuard: true,
    build: (app, kit) => {
      app.enable("strict routing").enable("case sensitive routing");
      app.use(kit.guard.express());
      addStandardRoutes(app, kit);
    },
  },
  {
    name: "strict router in a lenient application",
    prefix: "/api",
    build: (app, kit) => {
      const router = kit.express.Router(STRICT);
      addStandardRoutes(router, kit);
      app.use("/api", router);
    },
  },
  {
    name: "lenient router in a strict application",
    prefix: "/api",
    placesGuard: true,
    build: (app, kit) => {
      app.enable("strict routing").enable("case sensitive routing");
      app.use(kit.guard.express());
      const router = kit.express.Router();
      addStandardRoutes(router, kit);
      app.use("/api", router);
    },
  },
  {
    name: "mounted router",
    prefix: "/api/v1",
    build: (app, kit) => {
      const router = kit.express.Router();
      addStandardRoutes(router, kit);
      app.use("/api/v1", router);
    },
  },
  {
    name: "mounted in other letter case than the table",
    prefix: "/api",
    build: (app, kit) => {
      const router = kit.express.Router();
      addStandardRoutes(router, kit);
      app.use("/API", router);
    },
  },
  {
    name: "guard on the router only",
    prefix: "/api",
    placesGuard: true,
    build: (app, kit) => {
      const router = kit.express.Router();
      router.use(kit.guard.express());
      addStandardRoutes(router, kit);
      app.use("/api", router);
    },
  },
  {
    name: "nested sub-app",
    prefix: "/api",
    build: (app, kit) => {
      const inner = kit.express();
      addStandardRoutes(inner, kit);
      app.use("/api", inner);
    },
  },
  {
    name: "guard on a nested sub-app",
    prefix: "/api",
    placesGuard: true,
    build: (app, kit) => {
      const inner = kit.express();
      inner.use(kit.guard.express());
      addStandardRoutes(inner, kit);
      app.use("/api", inner);
    },
  },
  {
    name: "strict sub-app in a lenient router",
    prefix: "/outer/inner",
    build: (app, kit) => {
      const inner = kit.express();
      inner.enable("strict routing").enable("case sensitive routing");
      addStandardRoutes(inner, kit);
      const router = kit.express.Router();
      router.use("/inner", inner);
      app.use("/outer", router);
    },
  },
  {
    name: "router.route() and several handlers",
    build: (app, kit) => {
      const { handler, passing } = kit;
      app
        .route("/agents/:id")
        .get(passing("GET /agents/:id"), handler("GET /agents/:id"))
        .post(passing("POST /agents/:id"), handler("POST /agents/:id"))
        .delete(handler("DELETE /agents/:id"));
      app.route("/inbox").all(passing("ALL /inbox"), handler("ALL /inbox"));
      addStandardRoutes(app, kit);
    },
  },
];

export const expressConfigurations: readonly Configuration[] = setups.flatMap(forEachExpress);
