import { createServer } from "node:http";
import { type DynamicModule, type INestApplication, Injectable, Scope, VersioningType } from "@nestjs/common";
import { RouterModule } from "@nestjs/core";
import express, { type Express } from "express";
import type { FastifyInstance } from "fastify";
import { compact } from "../../../src/core/runtime/compact.ts";
import { listen } from "../../support/http.ts";
import {
  createApplication,
  createController,
  createModule,
  listenOn,
  type NestRoute,
  type Platform,
  PLATFORMS,
} from "../../support/nest.ts";
import type { Configuration, Kit } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { nameOf, STANDARD_ROUTES } from "../routes.ts";
import { type Target, targets, VERSIONED } from "../targets.ts";

interface NestKit extends Kit {
  readonly platform: Platform;
  /** The standard routes, each with a handler that records its call. */
  readonly routes: readonly NestRoute[];
  readonly route: (name: string, decorators?: readonly MethodDecorator[]) => NestRoute;
}

type Part = (new () => object) | DynamicModule;

interface NestSetup extends Omit<Configuration, "start"> {
  readonly on?: Platform;
  readonly fastifyOptions?: object;
  /** The controllers. Default: one with the standard routes. */
  readonly controllers?: (kit: NestKit) => readonly (new () => object)[];
  /** Modules in front of the controllers' module, which is the last parameter. */
  readonly imports?: (kit: NestKit, inside: new () => object) => readonly Part[];
  readonly prepare?: (app: INestApplication, kit: NestKit) => unknown;
  readonly serve?: (app: INestApplication) => ReturnType<typeof listenOn>;
}

const standardController = ({ platform, routes }: NestKit) => createController(platform, routes);

const LENIENT = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };

const instanceOf = (app: INestApplication): unknown => app.getHttpAdapter().getInstance();

class Logger {
  use(_request: unknown, _response: unknown, next: () => void): void {
    next();
  }
}
Injectable()(Logger);

const setups: readonly NestSetup[] = [
  { name: "default" },
  { name: "global prefix", prefix: "/api", prepare: (app) => app.setGlobalPrefix("api") },
  {
    name: "global prefix with exceptions",
    targets: targets("/agents/me", "/agents/web", "/health", "/pages/index", "/files/public/a"),
    prepare: (app) =>
      app.setGlobalPrefix("api", { exclude: ["agents/:id", "agents/me", "health", "pages/:page"] }),
  },
  {
    name: "version in the path",
    prefix: "/v1",
    prepare: (app) => app.enableVersioning({ type: VersioningType.URI, defaultVersion: "1" }),
  },
  {
    name: "version in a header",
    targets: ["1", "2"].flatMap((version) =>
      targets("/agents/me", "/agents/web", "/pages/index").map((target): Target => ({
        ...target,
        headers: [["x-version", version]],
      })),
    ),
    controllers: ({ platform, route }) => [
      createController(platform, [route("GET /agents/:id"), route("GET /pages/index")], {
        path: "",
        version: "1",
      }),
      createController(platform, [route("GET /pages/:page"), route("GET /agents/me")], {
        path: "",
        version: "2",
      }),
      createController(platform, [route("GET /pages/:page")], {
        path: "",
        version: "1",
      }),
    ],
    prepare: (app) => app.enableVersioning({ type: VersioningType.HEADER, header: "x-version" }),
  },
  {
    name: "version in the media type",
    targets: targets("/agents/me", "/agents/web").map((target) => ({
      ...target,
      headers: [["accept", "application/json;v=2"]],
    })),
    controllers: ({ platform, route }) => [
      createController(platform, [route("GET /agents/:id")], { path: "", version: ["1", "2"] }),
      createController(platform, [route("GET /agents/me")], { path: "", version: "3" }),
    ],
    prepare: (app) => app.enableVersioning({ type: VersioningType.MEDIA_TYPE, key: "v=" }),
  },
  {
    name: "RouterModule",
    prefix: "/outer/inner",
    imports: (_, inside) => [
      RouterModule.register([{ path: "outer", children: [{ path: "inner", module: inside }] }]),
    ],
  },
  {
    name: "several controllers of one path, the wide one first",
    controllers: ({ platform, route }) => [
      createController(
        platform,
        ["GET /:id", "POST /:id"].map((routeKey) => at(route, "/agents", routeKey)),
        "agents",
      ),
      createController(platform, [at(route, "/agents", "GET /me"), at(route, "/agents", "GET /")], "agents"),
    ],
    targets: targets("/agents", "/agents/me", "/agents/web"),
  },
  {
    name: "request-scoped controllers",
    controllers: ({ platform, routes }) => [
      createController(platform, routes, { path: "", scope: Scope.REQUEST }),
    ],
  },
  {
    name: "middleware of a module",
    imports: () => {
      const logging = class {
        configure(consumer: { apply(middleware: unknown): { forRoutes(...paths: string[]): void } }): void {
          consumer.apply(Logger).forRoutes("{*path}", "agents/:id");
        }
      };
      return [{ module: logging }];
    },
  },
  {
    name: "Express options",
    on: "Express",
    prepare: (app) => {
      const instance = instanceOf(app) as Express;
      instance.enable("case sensitive routing").enable("strict routing");
    },
  },
  {
    name: "mounted in an application of Express",
    on: "Express",
    prefix: "/api",
    serve: async (app) => {
      await app.init();
      return listen(createServer(express().use("/api", instanceOf(app) as Express)));
    },
  },
  {
    name: "protect of Express in front",
    on: "Express",
    prepare: (app, { guard }) => app.use(guard.express()),
  },
  {
    name: "URL rewritten by a middleware",
    on: "Express",
    targets: VERSIONED,
    prepare: (app) =>
      app.use((request: { url: string }, _response: unknown, next: () => void) => {
        request.url = request.url.replace(/^\/v2\//, "/");
        next();
      }),
  },
  { name: "everything lenient", on: "Fastify", fastifyOptions: { routerOptions: LENIENT } },
  {
    name: "protect of Fastify in front",
    on: "Fastify",
    prepare: async (app, { guard }) => {
      await (instanceOf(app) as FastifyInstance).register(guard.fastify());
    },
  },
];

/** A route of a controller whose path is in front of its own. */
function at(route: NestKit["route"], path: string, routeKey: string): NestRoute {
  const [method = "", rest = ""] = routeKey.split(" ");
  return { ...route(`${method} ${path}${rest === "/" ? "" : rest}`), path: rest };
}

const toConfiguration = (platform: Platform, setup: NestSetup): Configuration => ({
  name: `NestJS on ${platform}, ${setup.name}`,
  ...compact({ prefix: setup.prefix, targets: setup.targets }),
  start: async ({ guard, recorder }) => {
    const route: NestKit["route"] = (name, decorators = []) => {
      const [method = "", path = ""] = name.split(" ");
      return {
        method,
        path,
        decorators,
        handle: (request, response) => {
          recorder.record(request.headers[PROBE_HEADER], name, request.method, request.params);
          response.send("{}");
        },
      };
    };
    const routes = STANDARD_ROUTES.map((standardRoute) => route(nameOf(standardRoute)));
    const kit: NestKit = { guard, recorder, platform, route, routes };
    const controllers = setup.controllers?.(kit) ?? [standardController(kit)];
    const inside = createModule({ controllers: [...controllers] });
    const imports = [guard.nest(), inside, ...(setup.imports?.(kit, inside) ?? [])];
    const app = await createApplication(platform, createModule({ imports }), {}, setup.fastifyOptions);
    await setup.prepare?.(app, kit);
    return (setup.serve ?? listenOn)(app);
  },
});

export const nestConfigurations: readonly Configuration[] = setups.flatMap((setup) =>
  PLATFORMS.filter((platform) => !setup.on || setup.on === platform).map((platform) =>
    toConfiguration(platform, setup),
  ),
);
