/**
 * Fastify applications that run Express or Node handlers in a hook. Fastify does not know which of them ran.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import express4 from "express4";
import type { Configuration } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { specialTargets, type Target, targets } from "../targets.ts";
import {
  type FastifyKit,
  type FastifySetup,
  forEachFastify,
  LENIENT,
  type RouterOptions,
} from "./fastify-application.ts";

const TARGETS: readonly Target[] = [
  ...targets("/agents/me", "/health", "/agents/web", "/files/private/a", "/internal"),
  // @fastify/express or @fastify/middie decodes, trims or shortens these, and then reads `/agents/me`.
  ...specialTargets(
    "rewritten by @fastify/express",
    "/agents/me%20",
    "/agents/me%EF%BB%BF",
    "http://agents/me",
    "/agents/ME",
    "/agents/%4de",
  ),
];

const ROUTES = ["/health", "/agents/me", "/agents/:id", "/internal"];

interface WithUse {
  use(path: string, handler: unknown): unknown;
}

function addExpressRouter(app: object, { recorder }: FastifyKit): void {
  const router = express4.Router();
  for (const path of ROUTES) {
    router.get(path, (request, response) => {
      recorder.record(request.headers[PROBE_HEADER], `GET ${path}`, request.method, request.params);
      response.end("{}");
    });
  }
  (app as WithUse).use("/", router);
}

/** A Node middleware, which serves every path below its own. */
const createListener =
  ({ recorder }: FastifyKit, name: string) =>
  (request: IncomingMessage, response: ServerResponse) => {
    recorder.record(request.headers[PROBE_HEADER], name, request.method ?? "", {});
    response.end("{}");
  };

function addListeners(app: object, kit: FastifyKit): void {
  for (const path of ["/health", "/agents/me", "/internal"])
    (app as WithUse).use(path, createListener(kit, `GET ${path}`));
}

const addFastifyRoutes = (app: Parameters<FastifySetup["build"]>[0], { handler }: FastifyKit): void => {
  app.get("/files/*", handler("GET /files/*path"));
  app.get("/pages/:page", handler("GET /pages/:page"));
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
    addExpressRouter(app, kit);
    addFastifyRoutes(app, kit);
  },
};

const plugins = [
  ["@fastify/express", "express", addExpressRouter],
  ["@fastify/express, handlers of use", "express", addListeners],
  ["@fastify/middie", "middie", addListeners],
] as const;

const setups: readonly FastifySetup[] = routers.flatMap(([suffix, router]) =>
  plugins.map(([name, plugin, addHandlers]): FastifySetup => ({
    name: name + suffix,
    targets: TARGETS,
    router,
    build: async (app, kit) => {
      await app.register(kit[plugin]);
      addHandlers(app, kit);
      addFastifyRoutes(app, kit);
    },
  })),
);

export const fastifyExpressConfigurations: readonly Configuration[] = [...setups, inTheOtherOrder].flatMap(
  forEachFastify,
);
