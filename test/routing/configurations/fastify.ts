import type { Configuration } from "../configuration.ts";
import { targets, VERSIONED } from "../targets.ts";
import {
  addStandardRoutes,
  type FastifyKit,
  type FastifySetup,
  forEachFastify,
  LENIENT,
} from "./fastify-application.ts";

const prefixed: FastifySetup["build"] = async (app, kit) => {
  await app.register(
    (instance, _options, done) => {
      addStandardRoutes(instance, kit);
      done();
    },
    { prefix: "/api" },
  );
};

/** Routes in syntax that only find-my-way supports. */
function addFindMyWayRoutes(app: Parameters<FastifySetup["build"]>[0], { handler }: FastifyKit): void {
  app.get("/agents/:id(^\\d+$)", handler("GET /agents/:id"));
  app.get("/agents/me", handler("GET /agents/me"));
  app.get("/spans/:from-:to", handler("GET /spans/:from-:to"));
  app.get("/images/:name.:ext", handler("GET /images/:name.:ext"));
  app.get("/optional/:id?", handler("GET /optional{/:id}"));
  app.get("/pages/:page", { constraints: { host: "service.example" } }, handler("GET /pages/:page"));
  app.get("/pages/index", { constraints: { version: "1.0.0" } }, handler("GET /pages/index"));
}

const setups: readonly FastifySetup[] = [
  { name: "default", build: addStandardRoutes },
  { name: "ignoreTrailingSlash", router: { ignoreTrailingSlash: true }, build: addStandardRoutes },
  { name: "ignoreDuplicateSlashes", router: { ignoreDuplicateSlashes: true }, build: addStandardRoutes },
  { name: "case-insensitive", router: { caseSensitive: false }, build: addStandardRoutes },
  { name: "useSemicolonDelimiter", router: { useSemicolonDelimiter: true }, build: addStandardRoutes },
  { name: "everything lenient", router: { ...LENIENT, maxParamLength: 10_000 }, build: addStandardRoutes },
  { name: "prefix", prefix: "/api", build: prefixed },
  { name: "prefix, everything lenient", prefix: "/api", router: LENIENT, build: prefixed },
  {
    name: "guard in a plugin, after its routes",
    prefix: "/api",
    placesGuard: true,
    build: async (app, kit) => {
      await app.register(
        (instance, _options, done) => {
          addStandardRoutes(instance, kit);
          instance.register(kit.guard.fastify());
          done();
        },
        { prefix: "/api" },
      );
    },
  },
  {
    name: "regular expressions and constraints",
    targets: [
      ...targets("/agents/7", "/agents/me", "/agents/web", "/spans/a-b", "/images/web.png", "/optional/web"),
      ...targets("/pages/web", "/pages/index"),
      { method: "GET", path: "/pages/index", headers: [["accept-version", "1.0.0"]] },
      { method: "GET", path: "/optional", special: "optional parameter left out" },
    ],
    build: addFindMyWayRoutes,
  },
  {
    name: "URL rewritten",
    targets: VERSIONED,
    rewriteUrl: ({ url = "" }) => url.replace(/^\/v2\//, "/"),
    build: addStandardRoutes,
  },
];

export const fastifyConfigurations: readonly Configuration[] = setups.flatMap(forEachFastify);
