/** Express applications with method-override before and after the guard. */
import methodOverride from "method-override";
import type { Configuration } from "../configuration.ts";
import { overridden, type Target } from "../targets.ts";
import { addStandardRoutes, type ExpressSetup, forEachExpress } from "./express-application.ts";

const TARGETS: readonly Target[] = [
  { method: "DELETE", path: "/agents/web" },
  { method: "POST", path: "/agents/web" },
  overridden("POST", "DELETE", "/agents/web"),
  overridden("POST", "GET", "/agents/me"),
  overridden("GET", "POST", "/inbox"),
  overridden("GET", "DELETE", "/agents/web"),
  overridden("GET", "POST", "/agents/web/runs"),
  overridden("HEAD", "POST", "/inbox"),
  overridden("HEAD", "GET", "/probe"),
  overridden("POST", "PUT", "/anything/web"),
];

/** Overrides every method, not only POST. The types of method-override only allow an array. */
const ANY_METHOD = { methods: null } as unknown as { readonly methods: string[] };

const setups: readonly ExpressSetup[] = [
  {
    name: "method-override before the guard",
    targets: TARGETS,
    placesGuard: true,
    build: (app, kit) => {
      app.use(methodOverride("X-HTTP-Method-Override", ANY_METHOD));
      app.use(kit.guard.express());
      addStandardRoutes(app, kit);
    },
  },
  {
    name: "method-override after the guard",
    targets: TARGETS,
    build: (app, kit) => {
      app.use(methodOverride("X-HTTP-Method-Override", ANY_METHOD));
      addStandardRoutes(app, kit);
    },
  },
];

export const expressMethodConfigurations: readonly Configuration[] = setups.flatMap(forEachExpress);
