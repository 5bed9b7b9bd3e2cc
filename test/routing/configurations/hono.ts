import { Hono } from "hono";
import { mount } from "hono/mount";
import { Hono as QuickHono } from "hono/quick";
import { Hono as TinyHono } from "hono/tiny";
import { LinearRouter } from "hono/router/linear-router";
import { PatternRouter } from "hono/router/pattern-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { Hono as Hono48 } from "hono48";
import type { Configuration } from "../configuration.ts";
import type { StandardRoute } from "../routes.ts";
import { targets, VERSIONED } from "../targets.ts";
import { addStandardRoutes, type HonoKit, type HonoSetup, toConfiguration } from "./hono-application.ts";

const standard = (app: Pick<Hono, "on" | "use">, kit: HonoKit): void => {
  app.use(kit.guard.hono());
  addStandardRoutes(app, kit);
};

const standardIn = (kit: HonoKit): Hono => {
  const app = new Hono();
  addStandardRoutes(app, kit);
  return app;
};

/** Routes that RegExpRouter alone supports: it refuses some combinations of routes. */
const WITHOUT_OVERLAP: HonoSetup["build"] = (app, { handler }) => {
  app.get("/agents/:id", handler("GET /agents/:id"));
  app.post("/agents/:id/runs", handler("POST /agents/:id/runs"));
  app.get("/files/*", handler("GET /files/*path"));
  app.get("/optional/:id?", handler("GET /optional{/:id}"));
  app.get("/health", handler("GET /health"));
};

const ROUTERS: readonly (readonly [name: string, create: () => Hono])[] = [
  ["TrieRouter", () => new Hono({ router: new TrieRouter() })],
  ["LinearRouter", () => new Hono({ router: new LinearRouter() })],
  ["PatternRouter", () => new Hono({ router: new PatternRouter() })],
  ["LinearRouter, strict: false", () => new Hono({ router: new LinearRouter(), strict: false })],
  [
    "SmartRouter of LinearRouter and PatternRouter",
    () => new Hono({ router: new SmartRouter({ routers: [new LinearRouter(), new PatternRouter()] }) }),
  ],
  ["hono/tiny", () => Reflect.construct(TinyHono, []) as Hono],
  ["hono/quick", () => Reflect.construct(QuickHono, []) as Hono],
  // The oldest version that is accepted. It reads the path of some URLs in another way than its successors.
  ["4.8.0", () => new Hono48() as unknown as Hono],
];

const setups: readonly HonoSetup[] = [
  { name: "default", build: addStandardRoutes },
  { name: "strict: false", options: { strict: false }, build: addStandardRoutes },
  ...ROUTERS.map(([name, create]): HonoSetup => ({ name, create, build: addStandardRoutes })),
  {
    name: "RegExpRouter",
    create: () => new Hono({ router: new RegExpRouter() }),
    targets: targets(
      "/agents/me",
      "/agents/web",
      "/files/a/b",
      "/files/private/a",
      "/optional/web",
      "/health",
    ),
    build: WITHOUT_OVERLAP,
  },
  {
    name: "basePath",
    prefix: "/api",
    build: (app, kit) => {
      addStandardRoutes(app.basePath("/api"), kit);
    },
  },
  {
    name: "guard in a base path",
    prefix: "/api",
    placesGuard: true,
    build: (app, kit) => standard(app.basePath("/api"), kit),
  },
  {
    name: "nested applications",
    prefix: "/outer/inner",
    build: (app, kit) => {
      app.route("/outer", new Hono().route("/inner", standardIn(kit)));
    },
  },
  {
    name: "guard in a nested application with an error handler, strict: false",
    prefix: "/api",
    options: { strict: false },
    placesGuard: true,
    build: (app, kit) => {
      const inner = new Hono();
      inner.onError((_error, context) => context.text("inner fault", 500));
      standard(inner, kit);
      app.route("/api", inner);
    },
  },
  {
    name: "guard on the application and in a nested one",
    prefix: "/api",
    build: (app, kit) => {
      const inner = new Hono();
      standard(inner, kit);
      app.use("/api/agents/*", kit.guard.hono());
      app.route("/api", inner);
    },
  },
  {
    name: "mounted application that runs the first route",
    prefix: "/api",
    isOpen: true,
    build: (app, kit) => {
      app.all("/api/*", mount(standardIn(kit).fetch));
    },
  },
  ...[true, false].map((strict): HonoSetup => ({
    name: `mounted application that runs the narrowest route, strict: ${String(strict)}`,
    prefix: "/api",
    options: { strict },
    build: (app, kit) => {
      const inner = new Hono({ strict });
      addStandardRoutes(inner, kit, narrowestFirst);
      app.all("/api/*", mount(inner.fetch));
    },
  })),
  // It removes the prefix of a mounted application from the path before it is decoded (CVE-2026-47676).
  {
    name: "4.8.0, mounted application that runs the narrowest route",
    prefix: "/api",
    create: () => new Hono48() as unknown as Hono,
    build: (app, kit) => {
      const inner = new Hono48();
      addStandardRoutes(inner as unknown as Hono, kit, narrowestFirst);
      (app as unknown as Hono48).mount("/api", inner.fetch);
    },
  },
  {
    name: "getPath with the host",
    prefix: "/service.example",
    create: () => new Hono({ getPath: (request) => new URL(request.url).pathname }),
    build: addStandardRoutes,
  },
  {
    name: "getPath that decodes everything",
    create: () => new Hono({ getPath: ({ url }) => decoded(new URL(url).pathname) }),
    build: addStandardRoutes,
  },
  {
    name: "getPath that removes a prefix",
    targets: VERSIONED,
    create: () => new Hono({ getPath: ({ url }) => new URL(url).pathname.replace(/^\/v2\//, "/") }),
    build: addStandardRoutes,
  },
];

function narrowestFirst(routes: readonly StandardRoute[]): readonly StandardRoute[] {
  const widthOf = ({ path }: StandardRoute) =>
    (path.includes("*") ? 100 : path.includes(":") ? 200 : 300) + path.length;
  return [...routes].sort((a, b) => widthOf(b) - widthOf(a));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export const honoConfigurations: readonly Configuration[] = setups.map(toConfiguration);
