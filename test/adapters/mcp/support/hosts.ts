/** An MCP server on every host that `protectMcp` supports, on a real port. */
import { createServer, type Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import type { ResourceServer } from "scopegate";
import { metadata as expressMetadata } from "scopegate/express";
import { metadata as fastifyMetadata } from "scopegate/fastify";
import { metadata as fetchMetadata } from "scopegate/fetch";
import { metadata as honoMetadata } from "scopegate/hono";
import { metadata as koaMetadata } from "scopegate/koa";
import { type McpOptions, protectMcp, withMcp } from "scopegate/mcp";
import { listen } from "../../../support/http.ts";
import { type Backend, createBackend, type CreateMcp } from "./backend.ts";
import { type Line, LINES } from "./sdk.ts";

export interface Host {
  readonly name: string;
  /** The line of the official SDK behind it, unless a test asks for another one. */
  readonly line: Line;
  readonly create: (server: ResourceServer, backend: Backend, options?: McpOptions) => Promise<Server>;
}

/** Where each host has its MCP server, for one tenant and for several. */
const PATHS = ["/mcp", "/t/:org/mcp"];
const isMcp = (path: string): boolean => /^(?:\/t\/[^/]+)?\/mcp$/i.test(path);

const createExpress =
  (create: typeof express): Host["create"] =>
  (server, backend, options) => {
    const app = create();
    app.use(expressMetadata(server));
    app.use(protectMcp(server, options));
    app.all(PATHS, (request, response, next) => {
      backend.node(request, response, request.body).catch(next);
    });
    return Promise.resolve(createServer(app));
  };

/** Leaves the global `Response` alone, which the official client compares with. */
const serve = (fetch: (request: Request) => Response | Promise<Response>): Server =>
  createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server;

export const EXPRESS: Host = { name: "Express 5", line: 1, create: createExpress(express) };

export const HOSTS: readonly Host[] = [
  EXPRESS,
  { name: "Express 4", line: 2, create: createExpress(express4 as unknown as typeof express) },
  {
    name: "Koa 3",
    line: 2,
    create: (server, backend, options) => {
      const app = new Koa();
      app.silent = true;
      app.use(koaMetadata(server));
      app.use(protectMcp(server, options));
      app.use(async (context) => {
        if (!isMcp(context.path)) return;
        context.respond = false;
        const { body } = context.request as { readonly body?: unknown };
        await backend.node(context.req, context.res, body);
      });
      const callback = app.callback();
      return Promise.resolve(createServer((request, response) => void callback(request, response)));
    },
  },
  {
    name: "Fastify 5",
    line: 1,
    create: async (server, backend, options) => {
      const app = fastify();
      await app.register(fastifyMetadata(server));
      await app.register(protectMcp(server, options));
      for (const path of PATHS)
        app.all(path, async (request, reply) => {
          reply.hijack();
          await backend.node(request.raw, reply.raw, request.body);
        });
      await app.ready();
      return app.server;
    },
  },
  {
    name: "Hono",
    line: 1,
    create: (server, backend, options) => {
      const app = new Hono<{ Variables: { auth: unknown; parsedBody: unknown } }>();
      app.use(honoMetadata(server));
      app.use(protectMcp(server, options));
      app.on("ALL", PATHS, (c) =>
        backend.web(c.req.raw, { authInfo: c.get("auth"), parsedBody: c.get("parsedBody") }),
      );
      return Promise.resolve(serve(app.fetch));
    },
  },
  {
    name: "the Fetch standard",
    line: 2,
    create: (server, backend, options) => {
      const describe = fetchMetadata(server);
      const handler = withMcp(
        server,
        (request, access) =>
          isMcp(new URL(request.url).pathname)
            ? backend.web(request, access)
            : new Response(null, { status: 404 }),
        options,
      );
      return Promise.resolve(serve((request) => describe(request) ?? handler(request)));
    },
  },
];

/** Every host with each line of the SDK, with responses in JSON and in streams of events. */
export const EVERY_HOST = HOSTS.flatMap((host) =>
  LINES.flatMap((line) => [true, false].map((isJson) => ({ ...host, line, isJson }))),
);

export interface OpenHost {
  readonly port: number;
  readonly backend: Backend;
  readonly close: () => Promise<void>;
}

export async function openHost(
  host: Host & { readonly isJson?: boolean },
  server: ResourceServer,
  { create, ...options }: McpOptions & { readonly create?: CreateMcp } = {},
): Promise<OpenHost> {
  const backend = createBackend(host.line, host.isJson, create);
  return { ...(await listen(await host.create(server, backend, options))), backend };
}
