import type { Express } from "express";
import type { Configuration } from "../configuration.ts";
import { addStandardRoutes, type ExpressSetup, forEachExpress } from "./express-application.ts";

interface Mount {
  readonly name: string;
  readonly prefix?: string;
  /** Default: the prefix. */
  readonly path?: string;
  readonly inner: "router" | "strict router" | "application";
  readonly isStrict?: true;
  readonly guardsInner?: true;
}

const mounts: readonly Mount[] = [
  { name: "strict router in a lenient application", inner: "strict router" },
  { name: "lenient router in a strict application", inner: "router", isStrict: true },
  { name: "mounted router", prefix: "/api/v1", inner: "router" },
  { name: "mounted in other letter case than the table", path: "/API", inner: "router" },
  { name: "guard on the router only", inner: "router", guardsInner: true },
  { name: "nested sub-app", inner: "application" },
  { name: "guard on a nested sub-app", inner: "application", guardsInner: true },
];

/** The standard routes below a path, with a guard in front of the outer or in the inner application. */
const createMount = ({ name, prefix = "/api", path = prefix, ...mount }: Mount): ExpressSetup => ({
  name,
  prefix,
  placesGuard: true,
  build: (app, kit) => {
    if (mount.isStrict) makeStrict(app);
    const isStrict = mount.inner === "strict router";
    const inner =
      mount.inner === "application"
        ? kit.express()
        : kit.express.Router({ caseSensitive: isStrict, strict: isStrict });
    (mount.guardsInner ? inner : app).use(kit.guard.express());
    addStandardRoutes(inner, kit);
    app.use(path, inner);
  },
});

const makeStrict = (app: Express): Express => app.enable("strict routing").enable("case sensitive routing");

const setups: readonly ExpressSetup[] = [
  {
    name: "default",
    build: addStandardRoutes,
  },
  {
    name: "strict and case-sensitive",
    placesGuard: true,
    build: (app, kit) => {
      makeStrict(app).use(kit.guard.express());
      addStandardRoutes(app, kit);
    },
  },
  ...mounts.map(createMount),
  {
    name: "strict sub-app in a lenient router",
    prefix: "/outer/inner",
    build: (app, kit) => {
      const inner = makeStrict(kit.express());
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
