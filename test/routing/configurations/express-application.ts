import { createServer } from "node:http";
import express5, { type ErrorRequestHandler, type Express, type IRouter, type RequestHandler } from "express";
import express4 from "express4";
import { listen } from "../../support/http.ts";
import type { Configuration, Kit, Setup } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { nameOf, STANDARD_ROUTES, withoutNames } from "../routes.ts";

type Framework = typeof express5;

/** What `build` of a configuration receives. */
export interface ExpressKit extends Kit {
  readonly express: Framework;
  /** Converts a pattern to the syntax of this version of Express. */
  readonly pattern: (path: string) => string;
  /** A handler that records its call and responds. */
  readonly handler: (name: string) => RequestHandler;
  /** A handler that records its call and calls `next`. */
  readonly passing: (name: string, to?: "route") => RequestHandler;
  /** Keeps the parameters of a mount path, because the routers below it may not receive them. */
  readonly trace: RequestHandler;
}

export interface ExpressSetup extends Setup {
  readonly build: (app: Express, kit: ExpressKit) => void;
}

/** Returns one configuration per major version. */
export const forEachExpress = (setup: ExpressSetup): readonly Configuration[] => [
  toConfiguration("Express 4", express4 as unknown as Framework, withoutNames, setup),
  toConfiguration("Express 5", express5, (path) => path, setup),
];

/** Adds the standard routes to an application or a router. */
export function addStandardRoutes(router: IRouter, { pattern, handler }: ExpressKit): void {
  for (const route of STANDARD_ROUTES) {
    const method = route.method.toLowerCase() as "get" | "post" | "delete" | "all";
    router[method](pattern(route.path), handler(nameOf(route)));
  }
}

function toConfiguration(
  version: string,
  express: Framework,
  pattern: ExpressKit["pattern"],
  { name, placesGuard, build, ...rest }: ExpressSetup,
): Configuration {
  return {
    ...rest,
    name: `${version}, ${name}`,
    start: (kit) => {
      const app = express();
      if (!placesGuard) app.use(kit.guard.express());
      build(app, { ...kit, express, pattern, ...createHandlers(kit) });
      app.use(onError);
      return listen(createServer(app));
    },
  };
}

function createHandlers({ recorder }: Kit): Pick<ExpressKit, "handler" | "passing" | "trace"> {
  const mounted = new WeakMap<object, object>();
  const record = (name: string, request: Parameters<RequestHandler>[0]) => {
    const params = { ...mounted.get(request), ...request.params };
    recorder.record(request.headers[PROBE_HEADER], name, request.method, params);
  };
  return {
    handler: (name) => (request, response) => {
      record(name, request);
      response.json({});
    },
    passing: (name, to) => (request, _response, next) => {
      record(name, request);
      if (to) next(to);
      else next();
    },
    trace: (request, _response, next) => {
      mounted.set(request, { ...mounted.get(request), ...request.params });
      next();
    },
  };
}

/** Without an error handler, Express logs errors of clients to the console. */
const onError: ErrorRequestHandler = (error: { readonly status?: number }, _request, response, next) => {
  if (response.headersSent) next(error);
  else response.status(error.status ?? 500).json({});
};
