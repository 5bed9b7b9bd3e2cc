/** The handler of one route, behind the guard of each host on a real port. */
import Router from "@koa/router";
import express4 from "express4";
import express5 from "express";
import fastify4 from "fastify4";
import fastify5 from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { type RequestListener } from "node:http";
import { type ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { type RouteHandler } from "../../src/tools/page/handler.ts";
import { closeAll, listenerOf, start, startFastify } from "./hosts.ts";

export { closeAll, start };

type Open = (handler: RouteHandler<Response>, guard?: ResourceServer) => Promise<number>;

/** Starts an application of each host with one route. */
export const hostsOf = (path: string): Readonly<Record<string, Open>> => ({
  "Express 5": (handler, guard) => {
    const app = express5();
    if (guard) app.use(forExpress.protect(guard));
    return start(app.get(path, handler));
  },
  "Express 4": (handler, guard) => {
    const app = express4();
    if (guard) app.use(forExpress.protect(guard));
    return start(app.get(path, handler));
  },
  Koa: (handler, guard) => {
    const app = new Koa().on("error", () => undefined);
    if (guard) app.use(forKoa.protect(guard));
    const listener = app.use(new Router().get(path, handler).routes()).callback();
    return start((request, response) => void listener(request, response));
  },
  async "Fastify 5"(handler, guard) {
    const app = fastify5();
    if (guard) await app.register(forFastify.protect(guard));
    return startFastify(app.get(path, handler));
  },
  async "Fastify 4"(handler, guard) {
    const app = fastify4();
    if (guard) await app.register(forFastify.protect(guard));
    return startFastify(app.get(path, handler));
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
