import { createServer } from "node:http";
import { createRequire } from "node:module";
import Router, { type RouterMiddleware } from "@koa/router";
import Koa3, { type Middleware } from "koa";
import Koa2 from "koa2";
import { koaListener } from "../../support/hosts.ts";
import { listen } from "../../support/http.ts";
import type { Configuration, Kit, Setup } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { nameOf, STANDARD_ROUTES } from "../routes.ts";

type Framework = typeof Koa3;

/** What `build` of a configuration receives. */
export interface KoaKit extends Kit {
  readonly Koa: Framework;
  /** A handler that records its call and responds. */
  readonly handler: (name: string) => RouterMiddleware;
  /** A handler that records its call and calls `next`. */
  readonly passing: (name: string) => RouterMiddleware;
}

export interface KoaSetup extends Setup {
  readonly build: (app: Koa3, kit: KoaKit) => void;
}

/** Returns one configuration per major version. */
export const forEachKoa = (setup: KoaSetup): readonly Configuration[] => [
  toConfiguration("Koa 2", Koa2 as unknown as Framework, setup),
  toConfiguration("Koa 3", Koa3, setup),
];

/** Creates a router with the standard routes. */
export function createStandardRouter(
  { handler }: KoaKit,
  options: ConstructorParameters<typeof Router>[0] = {},
  Version = Router,
): Router {
  const router = new Version(options);
  for (const route of STANDARD_ROUTES) {
    const method = route.method.toLowerCase() as "get" | "post" | "delete" | "all";
    router[method](route.path, handler(nameOf(route)));
  }
  return router;
}

/** Version 14.0.0, whose routers lose middleware if their prefix has a parameter (CVE-2026-9495). */
export const Router14 = createRequire(import.meta.url)("@koa/router14") as typeof Router;

export const routesOf = (router: Router): Middleware => router.routes() as Middleware;

function toConfiguration(
  version: string,
  Koa: Framework,
  { name, placesGuard, build, ...rest }: KoaSetup,
): Configuration {
  return {
    ...rest,
    name: `${version}, ${name}`,
    start: (kit) => {
      const app = new Koa();
      if (!placesGuard) app.use(kit.guard.koa());
      build(app, { ...kit, Koa, ...createHandlers(kit) });
      return listen(createServer(koaListener(app)));
    },
  };
}

function createHandlers({ recorder }: Kit): Pick<KoaKit, "handler" | "passing"> {
  type Context = Parameters<RouterMiddleware>[0];
  const record = (name: string, context: Context) => {
    // A regular expression has captures instead of parameters.
    const params = name.includes("(") ? (context.captures ?? []) : context.params;
    recorder.record(context.req.headers[PROBE_HEADER], name, context.method, params);
  };
  return {
    handler: (name) => (context) => {
      record(name, context);
      context.body = "{}";
    },
    passing: (name) => (context, next) => {
      record(name, context);
      return next();
    },
  };
}
