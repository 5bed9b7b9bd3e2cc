/** The handler of one route, behind the guard of each host on a real port. */
import Router from "@koa/router";
import { Hono } from "hono";
import Koa from "koa";
import type { RequestListener } from "node:http";
import type { ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { EXPRESS_VERSIONS, FASTIFY_VERSIONS, koaListener } from "./frameworks.ts";
import type { PageHandler } from "../../src/tools/page/handler.ts";
import { closeAll, listenerOf, start, startFastify } from "./hosts.ts";

export { closeAll, start };

type Open = (handler: PageHandler, guard?: ResourceServer) => Promise<number>;

const versionsOf = <Framework>(
  versions: readonly (readonly [name: string, framework: Framework])[],
  openWith: (framework: Framework) => Open,
): Readonly<Record<string, Open>> =>
  Object.fromEntries(versions.map(([name, framework]) => [name, openWith(framework)]));

/** Starts an application of each host with one route. */
export const hostsOf = (path: string): Readonly<Record<string, Open>> => ({
  ...versionsOf(EXPRESS_VERSIONS, (express) => (handler, guard) => {
    const app = express();
    if (guard) app.use(forExpress.protect(guard));
    return start(app.get(path, handler));
  }),
  ...versionsOf(FASTIFY_VERSIONS, (fastify) => async (handler, guard) => {
    const app = fastify();
    if (guard) await app.register(forFastify.protect(guard));
    return startFastify(app.get(path, handler));
  }),
  Koa: (handler, guard) => {
    const app = new Koa();
    if (guard) app.use(forKoa.protect(guard));
    return start(koaListener(app.use(new Router().get(path, handler).routes())));
  },
  Hono: (handler, guard) => {
    const app = new Hono().onError((_, c) => c.body(null, 500));
    if (guard) app.use(forHono.protect(guard));
    return start(listenerOf(app.get(path, handler).fetch));
  },
  Fetch: (handler, guard) => {
    const fail = (): Response => new Response(null, { status: 500 });
    const unguarded = (request: Request): Promise<Response> =>
      Promise.resolve(request)
        .then((one) => handler(one))
        .catch(fail);
    return start(listenerOf(guard ? forFetch.withScopes(guard, handler) : unguarded));
  },
  Node: (handler, one) => {
    const guard = one && forNode.protect(one);
    const serve = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
      try {
        if (!guard || (await guard(request, response))) {
          const answered: unknown = Reflect.apply(handler, undefined, [request, response]);
          await answered;
        }
      } catch {
        response.writeHead(500).end();
      }
    };
    return start((request, response) => void serve(request, response));
  },
});
