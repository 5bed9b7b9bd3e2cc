/**
 * One application in every framework and major version, with the same routes. The suite talks to it on a real port, and
 * asks it which handlers ran.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import koaCors from "@koa/cors";
import Router from "@koa/router";
import fastifyCors from "@fastify/cors";
import fastifyCors9 from "@fastify/cors9";
import cors from "cors";
import type express5 from "express";
import type fastify5 from "fastify";
import type Koa3 from "koa";
import mount from "koa-mount";
import { RouterModule } from "@nestjs/core";
import type { Principal, ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNest from "scopegate/nest";
import { EXPRESS_VERSIONS, FASTIFY_VERSIONS, KOA_VERSIONS, koaListener } from "../support/frameworks.ts";
import { listen } from "../support/http.ts";
import { fetchApplication, fetchApplicationWithRoutes } from "./fetch-application.ts";
import { honoApplication } from "./hono-application.ts";
import { nodeApplication } from "./node-application.ts";
import {
  createApplication,
  createController,
  createModule,
  listenOn,
  type NestResponse,
  type NestRoute,
  type Platform,
} from "../support/nest.ts";

/** What a handler is given, whatever the framework. */
export interface Called {
  readonly principal: Principal | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** The object that the framework passes to its handlers for the request. */
  readonly source: object;
}

/** A request in middleware. */
export interface Passing {
  readonly response: ServerResponse;
  readonly setHeader: (name: string, value: string | string[]) => void;
  readonly principal: () => Principal | undefined;
}

/** Middleware, which calls `proceed` before it returns. */
export type Middleware = (passing: Passing, proceed: () => void) => void;

export interface Route {
  readonly method: "GET" | "POST" | "ALL";
  readonly path: string;
  readonly requires?: readonly string[];
  readonly handle: (called: Called) => unknown;
}

export interface Setup {
  /** `undefined` for an application without a guard. */
  readonly server: ResourceServer | undefined;
  readonly routes: readonly Route[];
  /** Routes below `/mounted`, in a router or plugin of their own. */
  readonly mounted?: readonly Route[];
  /** CORS middleware in front of `protect`. */
  readonly cors?: boolean;
  /** Middleware in front of `protect`, if the application takes any. */
  readonly before?: Middleware;
  /** The metadata of the server in front of `protect`, if the adapter has a function for it. */
  readonly metadata?: boolean;
}

export interface Running {
  readonly port: number;
  /** `METHOD /pattern` of each handler that ran, in order. */
  readonly ran: string[];
  readonly close: () => Promise<void>;
}

export interface Application {
  readonly name: string;
  /**
   * Whether handlers get a parsed URL, as in the Fetch standard: dot segments are removed, a backslash is a slash, and the
   * host answers an unreadable `Host` itself.
   */
  readonly parsesUrl?: boolean;
  /** Whether `before` runs. */
  readonly hasMiddleware?: boolean;
  readonly start: (setup: Setup) => Promise<Running>;
}

type Ran = (route: Route, called: Called) => unknown;

function createLog(): { readonly ran: string[]; readonly run: Ran } {
  const ran: string[] = [];
  return {
    ran,
    run: (route, called) => {
      ran.push(`${route.method} ${route.path}`);
      return route.handle(called);
    },
  };
}

const expressApplication = (name: string, express: typeof express5): Application => ({
  name,
  hasMiddleware: true,
  start: async ({ server, routes, mounted = [], cors: hasCors, before, metadata }) => {
    const { ran, run } = createLog();
    const app = express();
    if (hasCors) app.use(cors());
    if (before) {
      app.use((request, response, next) => {
        const setHeader: Passing["setHeader"] = (...header) => void response.setHeader(...header);
        before({ response, setHeader, principal: () => forExpress.principalOf(request) }, next);
      });
    }
    if (server && metadata) app.use(forExpress.metadata(server));
    if (server) app.use(forExpress.protect(server));
    const add = (router: express5.IRouter, route: Route) => {
      const handler: express5.RequestHandler = (request, response, next) => {
        const params = request.params as Record<string, string>;
        const principal = forExpress.principalOf(request);
        const respond = async () =>
          response.json((await run(route, { principal, params, source: request })) ?? null);
        respond().catch(next);
      };
      const at = router.route(route.path);
      if (route.requires) at.all(forExpress.requireScopes(...route.requires));
      if (route.method === "ALL") at.all(handler);
      else if (route.method === "POST") at.post(handler);
      else at.get(handler);
    };
    for (const route of routes) add(app, route);
    const router = express.Router();
    for (const route of mounted) add(router, route);
    app.use("/mounted", router);
    const onError: express5.ErrorRequestHandler = (error: Error, _request, response, _next) => {
      response.status(500).json({ fault: error.message });
    };
    app.use(onError);
    return { ...(await listen(createServer(app))), ran };
  },
});

const koaApplication = (name: string, Koa: typeof Koa3): Application => ({
  name,
  hasMiddleware: true,
  start: async ({ server, routes, mounted = [], cors: hasCors, before, metadata }) => {
    const { ran, run } = createLog();
    const app = new Koa();
    if (hasCors) app.use(koaCors());
    app.use(async (context, next) => {
      try {
        await next();
      } catch (error) {
        context.status = 500;
        context.body = { fault: (error as Error).message };
      }
    });
    if (before) {
      app.use((context, next) => {
        const setHeader: Passing["setHeader"] = (...header) => context.set(...header);
        let passed: Promise<unknown> | undefined;
        before({ response: context.res, setHeader, principal: () => forKoa.principalOf(context) }, () => {
          passed = next();
        });
        return passed;
      });
    }
    if (server && metadata) app.use(forKoa.metadata(server));
    if (server) app.use(forKoa.protect(server));
    const toRouter = (list: readonly Route[]) => {
      const router = new Router();
      for (const route of list) {
        const checks = route.requires ? [forKoa.requireScopes(...route.requires)] : [];
        router[route.method === "ALL" ? "all" : (route.method.toLowerCase() as "get" | "post")](
          route.path,
          ...checks,
          async (context) => {
            const { params } = context;
            const principal = forKoa.principalOf(context);
            const body = await run(route, { principal, params, source: context });
            context.body = JSON.stringify(body ?? null);
            context.type = "application/json";
          },
        );
      }
      return router.routes();
    };
    app.use(toRouter(routes));
    app.use(mount("/mounted", new Koa().use(toRouter(mounted))));
    return { ...(await listen(createServer(koaListener(app)))), ran };
  },
});

const fastifyApplication = (
  name: string,
  fastify: typeof fastify5,
  corsPlugin: typeof fastifyCors,
): Application => ({
  name,
  hasMiddleware: true,
  start: async ({ server, routes, mounted = [], cors: hasCors, before, metadata }) => {
    const { ran, run } = createLog();
    const app = fastify();
    app.setErrorHandler((error: Error, _request, reply) => reply.code(500).send({ fault: error.message }));
    if (hasCors) await app.register(corsPlugin);
    if (before) {
      app.addHook("onRequest", (request, reply, done) => {
        const setHeader: Passing["setHeader"] = (...header) => void reply.header(...header);
        before({ response: reply.raw, setHeader, principal: () => forFastify.principalOf(request) }, done);
      });
    }
    if (server && metadata) await app.register(forFastify.metadata(server));
    if (server) await app.register(forFastify.protect(server));
    const add = (instance: Pick<typeof app, "route" | "all">, route: Route) => {
      const options = route.requires ? { onRequest: forFastify.requireScopes(...route.requires) } : {};
      const handler = async (request: fastify5.FastifyRequest) => {
        const params = request.params as Record<string, string>;
        const principal = forFastify.principalOf(request);
        return (await run(route, { principal, params, source: request })) ?? null;
      };
      if (route.method === "ALL") instance.all(route.path, options, handler);
      else instance.route({ method: route.method, url: route.path, ...options, handler });
    };
    for (const route of routes) add(app, route);
    await app.register(
      (instance, _options, done) => {
        for (const route of mounted) add(instance, route);
        done();
      },
      { prefix: "/mounted" },
    );
    await app.listen({ port: 0, host: "127.0.0.1" });
    const [address] = app.addresses() as AddressInfo[];
    return { port: address?.port ?? 0, ran, close: () => app.close() };
  },
});

/** Guards of NestJS run behind the body parser, and Fastify's answers a body without a type by itself. */
function acceptBodies(instance: fastify5.FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser("*", (_request, payload, done) => {
    payload.resume().once("end", () => done(null));
  });
}

/** The last route takes every other path, because NestJS runs no guard where it finds no handler. */
const nestApplication = (platform: Platform): Application => ({
  name: `NestJS on ${platform}`,
  start: async ({ server, routes, mounted = [], cors: hasCors }) => {
    const { ran, run } = createLog();
    const toNest = (route: Route): NestRoute => ({
      ...route,
      decorators: route.requires ? [forNest.RequireScopes(...route.requires)] : [],
      handle: async (request, response) => {
        const principal = forNest.principalOf(request);
        const body = await run(route, { principal, params: request.params, source: request });
        response.header("content-type", "application/json").send(JSON.stringify(body ?? null));
      },
    });
    // The CORS plugin of Fastify has a handler of its own for OPTIONS.
    const everything: Route = { method: hasCors ? "GET" : "ALL", path: "/*path", handle: () => "any path" };
    const inside = createModule({ controllers: [createController(platform, mounted.map(toNest))] });
    const outside = createModule({ controllers: [createController(platform, [everything].map(toNest))] });
    const root = createModule({
      imports: [
        ...(server ? [forNest.ScopegateModule.forRoot(server)] : []),
        inside,
        RouterModule.register([{ path: "mounted", module: inside }]),
        createModule({ controllers: [createController(platform, routes.map(toNest))] }),
        outside,
      ],
    });
    const app = await createApplication(platform, root, { bodyParser: false });
    if (platform === "Fastify") acceptBodies(app.getHttpAdapter().getInstance() as fastify5.FastifyInstance);
    if (hasCors) app.enableCors();
    app.useGlobalFilters({
      catch(error: Error & { readonly status?: number }, host) {
        const response = host.switchToHttp().getResponse<NestResponse>();
        response.status(error.status ?? 500).send(JSON.stringify({ fault: error.message }));
      },
    });
    return { ...(await listenOn(app)), ran };
  },
});

export const applications: readonly Application[] = [
  ...EXPRESS_VERSIONS.map(([name, express]) => expressApplication(name, express)),
  ...KOA_VERSIONS.map(([name, Koa]) => koaApplication(name, Koa)),
  ...FASTIFY_VERSIONS.map(([name, fastify]) =>
    fastifyApplication(name, fastify, name === "Fastify 4" ? fastifyCors9 : fastifyCors),
  ),
  fetchApplication,
  fetchApplicationWithRoutes,
  honoApplication,
  nodeApplication,
  nestApplication("Express"),
  nestApplication("Fastify"),
];
