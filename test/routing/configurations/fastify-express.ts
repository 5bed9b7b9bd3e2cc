/**
 * Fastify applications that run Express or Node handlers in a hook. Fastify does not know which of them ran.
 */
import { type IncomingMessage, type ServerResponse } from "node:http";
import express4 from "express4";
import { type Configuration } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { type Target } from "../targets.ts";
import {
  type FastifyKit,
  type FastifySetup,
  forEachFastify,
  type RouterOptions,
} from "./fastify-application.ts";

const TARGETS: readonly Target[] = [
  ...["/agents/me", "/health", "/agents/web", "/files/private/a", "/internal"].map((path) => ({
    method: "GET",
    path,
  })),
  // @fastify/express or @fastify/middie decodes, trims or shortens these, and then reads `/agents/me`.
  ...["/agents/me%20", "/agents/me%EF%BB%BF", "http://agents/me", "/agents/ME", "/agents/%4de"].map(
    (path) => ({
      method: "GET",
      path,
      special: "rewritten by @fastify/express",
    }),
  ),
];

const ROUTES = ["/health", "/agents/me", "/agents/:id", "/internal"];

type Use = (path: string, handler: unknown) => unknown;

interface WithUse {
  readonly use: Use;
}

function createExpressRouter({ recorder }: FastifyKit): express4.Router {
  const router = express4.Router();
  for (const path of ROUTES) {
    router.get(path, (request, response) => {
      recorder.record(request.headers[PROBE_HEADER], `GET ${path}`, request.method, request.params);
      response.end("{}");
    });
  }
  return router;
}

/** A Node middleware, which serves every path below its own. */
const createListener =
  ({ recorder }: FastifyKit, name: string) =>
  (request: IncomingMessage, response: ServerResponse) => {
    recorder.record(request.headers[PROBE_HEADER], name, request.method ?? "", {});
    response.end("{}");
  };

function addListeners(app: object, kit: FastifyKit): void {
  const { use } = app as WithUse;
  for (const path of ["/health", "/agents/me", "/internal"])
    use.call(app, path, createListener(kit, `GET ${path}`));
}

const addFastifyRoutes = (app: Parameters<FastifySetup["build"]>[0], { handler }: FastifyKit): void => {
  app.get("/files/*", handler("GET /files/*path"));
  app.get("/pages/:page", handler("GET /pages/:page"));
};

const LENIENT: RouterOptions = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  useSemicolonDelimiter: true,
};

const routers: readonly (readonly [string, RouterOptions])[] = [
  ["", {}],
  [", everything lenient", LENIENT],
];

/**
 * The hook of @fastify/express runs first. Handlers that are added after the guard must still be protected.
 */
const inTheOtherOrder: FastifySetup = {
  name: "@fastify/express registered before the guard",
  targets: TARGETS,
  placesGuard: true,
  build: async (app, kit) => {
    await app.register(kit.express);
    await app.register(kit.guard.fastify());
    (app as unknown as WithUse).use("/", createExpressRouter(kit));
    addFastifyRoutes(app, kit);
  },
};

const setups: readonly FastifySetup[] = routers.flatMap(([suffix, router]): FastifySetup[] => [
  {
    name: `@fastify/express${suffix}`,
    targets: TARGETS,
    router,
    build: async (app, kit) => {
      await app.register(kit.express);
      (app as unknown as WithUse).use("/", createExpressRouter(kit));
      addFastifyRoutes(app, kit);
    },
  },
  {
    name: `@fastify/express, handlers of use${suffix}`,
    targets: TARGETS,
    router,
    build: async (app, kit) => {
      await app.register(kit.express);
      addListeners(app, kit);
      addFastifyRoutes(app, kit);
    },
  },
  {
    name: `@fastify/middie${suffix}`,
    targets: TARGETS,
    router,
    build: async (app, kit) => {
      await app.register(kit.middie);
      addListeners(app, kit);
      addFastifyRoutes(app, kit);
    },
  },
]);

export const fastifyExpressConfigurations: readonly Configuration[] = [...setups, inTheOtherOrder].flatMap(
  forEachFastify,
);
