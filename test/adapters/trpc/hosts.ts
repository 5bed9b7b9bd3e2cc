/** One tRPC router behind the guard of each HTTP host. */
import { createServer, type RequestListener } from "node:http";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
import { fastifyTRPCPlugin } from "@trpc/server/adapters/fastify";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { createHTTPHandler } from "@trpc/server/adapters/standalone";
import { initTRPC } from "@trpc/server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import type { ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forNode from "scopegate/node";
import type { TrpcContext, TrpcContextOptions } from "scopegate/trpc";
import { listenerOf } from "../../support/hosts.ts";
import { listen } from "../../support/http.ts";

const t = initTRPC.context<Partial<TrpcContext>>().create();

/** The names of the procedures that have run. */
export const ran: string[] = [];

const procedure = t.procedure.use(({ path, next }) => {
  ran.push(path);
  return next();
});
const nameCaller = procedure.query(({ ctx }) => ctx.principal?.userId ?? "nobody");
const change = procedure.mutation(({ path }) => `${path} done`);

export const router = t.router({
  list: nameCaller,
  open: nameCaller,
  adminSecret: procedure.query(() => "SECRET"),
  save: change,
  adminDelete: procedure.mutation(() => "DELETED"),
  user: t.router({ list: nameCaller, remove: change }),
  ticks: procedure.subscription(async function* () {
    await Promise.resolve();
    yield 1;
    yield 2;
  }),
});

export type Router = typeof router;

type CreateContext = (options: TrpcContextOptions) => Partial<TrpcContext> | Promise<Partial<TrpcContext>>;

export interface Host {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export interface Served {
  readonly server: ResourceServer;
  readonly createContext: CreateContext;
}

const shared = { router, allowMethodOverride: true };

interface NextContext {
  readonly params: Promise<{ readonly trpc: string }>;
}

/** Serves a handler behind the guard for Node.js. */
export function listenBehindNode(server: ResourceServer, handle: RequestListener): Promise<Host> {
  const guard = forNode.protect(server);
  return listen(
    createServer((request, response) => {
      void guard(request, response).then((isAllowed) => isAllowed && handle(request, response));
    }),
  );
}

export const HOSTS = ["express", "node", "fastify", "fetch", "next", "hono"] as const;

const hosts: Readonly<Record<(typeof HOSTS)[number], (served: Served) => Promise<Host>>> = {
  express({ server, createContext }) {
    const app = express();
    app.use(forExpress.protect(server));
    app.use("/trpc", createExpressMiddleware({ ...shared, createContext }));
    return listen(createServer(app));
  },
  node({ server, createContext }) {
    return listenBehindNode(server, createHTTPHandler({ ...shared, createContext, basePath: "/trpc/" }));
  },
  async fastify({ server, createContext }) {
    const app = fastify({ routerOptions: { maxParamLength: 8_192 } });
    await app.register(forFastify.protect(server));
    await app.register(fastifyTRPCPlugin, { prefix: "/trpc", trpcOptions: { ...shared, createContext } });
    const address = await app.listen({ port: 0, host: "127.0.0.1" });
    return { port: Number(new URL(address).port), close: () => app.close() };
  },
  fetch({ server, createContext }) {
    const handler = (req: Request) =>
      fetchRequestHandler({ endpoint: "/trpc", req, ...shared, createContext });
    return listen(createServer(listenerOf(forFetch.withScopes(server, handler))));
  },
  /** The route `app/trpc/[trpc]/route.ts`, as create-t3-app has it. */
  next({ server, createContext }) {
    const handler = (req: Request, _access: unknown, _context: NextContext) =>
      fetchRequestHandler({ endpoint: "/trpc", req, ...shared, createContext });
    const handlers = forFetch.withScopes(
      server,
      { route: "/trpc/:trpc" },
      { GET: handler, POST: handler, PUT: handler },
    );
    const run = (request: Request): Response | Promise<Response> => {
      const [segment] = /(?<=^\/trpc\/)[^/]+$/.exec(new URL(request.url).pathname) ?? [];
      const method = request.method as keyof typeof handlers;
      if (segment === undefined || !Object.hasOwn(handlers, method))
        return new Response(null, { status: 404 });
      return handlers[method](request, { params: Promise.resolve({ trpc: decodeURIComponent(segment) }) });
    };
    return listen(createServer(listenerOf(run)));
  },
  hono({ server, createContext }) {
    const app = new Hono();
    app.use(forHono.protect(server));
    // As packages for tRPC are used: as a middleware.
    app.use("/trpc/*", (c, _next) =>
      fetchRequestHandler({ endpoint: "/trpc", req: c.req.raw, ...shared, createContext }),
    );
    return listen(createServer(listenerOf(app.fetch)));
  },
};

export const startHost = (name: (typeof HOSTS)[number], served: Served): Promise<Host> => hosts[name](served);

/** The path of each attack on `name` as the second procedure of a batch, behind `first`. */
const spellings = (first: string, name: string): readonly string[] => {
  const encoded = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
  const twice = `%25${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
  return [
    `/trpc/${first},${name}?batch=1`,
    `/trpc/${name},${first}?batch=1`,
    `/trpc/${first}%2C${name}?batch=1`,
    `/trpc/${first}%2c${name}?batch=1`,
    `/trpc/${first}%252C${name}?batch=1`,
    `/trpc/${first},${encoded}?batch=1`,
    `/trpc/${first},${twice}?batch=1`,
    `/trpc/${first},${name.replace(".", "%2E")}?batch=1&x=%2E`,
    `/trpc/${first},${name}?%62atch=%31`,
    `/trpc/${first},${name}?x=1&batch=1&batch=0`,
    `/trpc/${first},${name}?batch=0&batch=1`,
    `/trpc/${first},${name}/?batch=1`,
    `/TRPC/${first},${name}?batch=1`,
    `/trpc/${first},,${name}?batch=1`,
    `/trpc/,${name}?batch=1`,
    `/trpc/${name},?batch=1`,
    `/trpc/${name}?batch=1`,
    `/trpc/${twice}`,
    `/trpc/${twice}?batch=1`,
    `/trpc/${name},${name}?batch=1`,
    `/trpc/${first},${"list,".repeat(300)}${name}?batch=1`,
    `/trpc/x/${first},${name}?batch=1`,
    `/trpc/x/y/${first},${name}?batch=1`,
    `/trpc/${name},x/${first}?batch=1`,
    `http://127.0.0.1/trpc/${first},${name}?batch=1`,
  ];
};

/** Each attack on `name`, behind `first`, as a request of each method. */
const attacksOf = (methods: readonly string[], first: string, name: string) =>
  methods.flatMap((method) => spellings(first, name).map((path) => [method, path] as const));

/** Requests for procedures that need an administrator. */
export const ADMIN_ATTACKS = [
  ...attacksOf(["POST"], "save", "adminDelete"),
  ...attacksOf(["GET", "POST"], "list", "adminSecret"),
];

/** Requests for procedures of `user`. */
export const USER_ATTACKS = [
  ...attacksOf(["POST"], "save", "user.remove"),
  ...attacksOf(["GET"], "open", "user.list"),
];
