/** The same route and options in each framework, each with its own resource server. */
import { createServer } from "node:http";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import type { ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import { koaListener, listenFastify } from "../support/hosts.ts";
import { listen } from "../support/http.ts";
import { RESOURCE } from "../support/openid-provider.ts";
import { createResourceServer } from "../support/server.ts";
import { TIMES } from "./times.ts";
import { SCOPE } from "./tokens.ts";

export const PATH = "/soak";

export interface Service {
  readonly name: string;
  readonly port: number;
  readonly close: () => Promise<unknown>;
}

type Start = (server: ResourceServer) => Promise<Pick<Service, "port" | "close">>;

const FRAMEWORKS: Readonly<Record<string, Start>> = {
  "Express 5": (server) => {
    const app = express();
    app.use(forExpress.protect(server));
    app.get(PATH, (request, response) => {
      response.json({ caller: forExpress.principalOf(request)?.userId });
    });
    return listen(createServer(app));
  },
  "Koa 3": (server) => {
    const app = new Koa();
    app.use(forKoa.protect(server));
    app.use((context) => {
      context.body = { caller: forKoa.principalOf(context)?.userId };
    });
    return listen(createServer(koaListener(app)));
  },
  "Fastify 5": async (server) => {
    const app = fastify({ forceCloseConnections: true });
    await app.register(forFastify.protect(server));
    app.get(PATH, (request) => ({ caller: forFastify.principalOf(request)?.userId }));
    return listenFastify(app);
  },
};

/** Starts all three services after they have fetched the keys of the issuer. */
export function openServices(issuer: string): Promise<readonly Service[]> {
  const open = async ([name, start]: [string, Start]): Promise<Service> => {
    const server = createResourceServer({
      issuer,
      audience: RESOURCE,
      keys: { discovery: true, ...TIMES },
      scopesClaim: "scope",
      scopeMappings: { [`GET ${PATH}`]: [SCOPE] },
      // Without it, every outage prints warnings.
      onKeyEvent: () => undefined,
    });
    await server.ready();
    const { port, close } = await start(server);
    return {
      name,
      port,
      close: async () => {
        await server.close();
        await close();
      },
    };
  };
  return Promise.all(Object.entries(FRAMEWORKS).map(open));
}
