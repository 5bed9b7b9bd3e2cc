/** Servers of Node.js that end TLS and ask for a client certificate, with the same guarded route in every framework. */
import Router from "@koa/router";
import { Hono } from "hono";
import { createSecureServer, type Http2SecureServer, type SecureServerOptions } from "node:http2";
import { createServer } from "node:https";
import type { RequestListener } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { once } from "node:events";
import type Koa3 from "koa";
import type fastify5 from "fastify";
import type express5 from "express";
import type { Principal, ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNest from "scopegate/nest";
import * as forNode from "scopegate/node";
import { EXPRESS_VERSIONS, FASTIFY_VERSIONS, KOA_VERSIONS, koaListener } from "./frameworks.ts";
import { listenerOf } from "./hosts.ts";
import { createApplication, createController, createModule, PLATFORMS, type Platform } from "./nest.ts";
import type { Certificates } from "./x509.ts";

export type TlsOptions = Pick<
  SecureServerOptions,
  "key" | "cert" | "ca" | "requestCert" | "rejectUnauthorized" | "minVersion" | "maxVersion"
>;

/** The options of a server that asks for a certificate, and accepts connections without one. */
export const tlsOptionsOf = ({ server, authority }: Certificates): TlsOptions => ({
  key: server.keyPem,
  cert: server.pem,
  ca: authority.pem,
  requestCert: true,
  rejectUnauthorized: false,
});

export interface Listening {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export type Protocol = "http/1.1" | "h2";

export interface TlsHost {
  readonly name: string;
  readonly protocols: readonly Protocol[];
  /** Serves `GET /stores/:store_id`, which answers with the binding of the caller. */
  readonly start: (guard: ResourceServer, tls: TlsOptions) => Promise<Listening>;
}

const PATH = "/stores/:store_id";

const bodyOf = (principal: Principal | undefined): { readonly binding: string } => ({
  binding: String((principal as { readonly binding?: string } | undefined)?.binding),
});

/** Listens on a port that the system chooses; `host` is an address of this machine. */
export async function listenTls(server: Server, host = "127.0.0.1"): Promise<Listening> {
  const connections = trackConnections(server);
  server.listen(0, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

/** Sessions of HTTP/2 keep a server open, and Node.js 20 has no method that ends them all. */
function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  return connections;
}

type Create = (tls: TlsOptions, listener: RequestListener) => Server;

export const createHttpsServer: Create = (tls, listener) => createServer(tls, listener);

/** Serves both HTTP/2 and HTTP/1.1. */
const createHttp2Server: Create = (tls, listener): Http2SecureServer =>
  createSecureServer(
    { ...tls, allowHTTP1: true },
    // Both kinds of requests have what a listener of HTTP/1.1 reads.
    listener as unknown as Parameters<typeof createSecureServer>[1],
  );

const BOTH = ["http/1.1", "h2"] as const;

type ListenerOf = (guard: ResourceServer) => RequestListener;

const withListener = (
  name: string,
  create: Create,
  protocols: readonly Protocol[],
  listenerFor: ListenerOf,
): TlsHost => ({
  name,
  protocols,
  start: (guard, tls) => listenTls(create(tls, listenerFor(guard))),
});

const expressListener =
  (express: typeof express5): ListenerOf =>
  (guard) => {
    const app = express().use(forExpress.protect(guard));
    app.get(PATH, (request, response) => {
      response.json(bodyOf(forExpress.principalOf(request)));
    });
    return app;
  };

const koaListenerFor =
  (Koa: typeof Koa3): ListenerOf =>
  (guard) => {
    const router = new Router().get(PATH, (context) => {
      context.body = bodyOf(forKoa.principalOf(context));
    });
    return koaListener(new Koa().use(forKoa.protect(guard)).use(router.routes()));
  };

const honoListener: ListenerOf = (guard) => {
  const app = new Hono().use(forHono.protect(guard));
  app.get(PATH, (context) => context.json(bodyOf(forHono.principalOf(context))));
  return listenerOf(app.fetch);
};

const nodeListener: ListenerOf = (guard) => {
  const isAllowed = forNode.protect(guard);
  return (request, response) => {
    void isAllowed(request, response).then((allowed) => {
      if (allowed) response.end(JSON.stringify(bodyOf(forNode.principalOf(request))));
    });
  };
};

const fastifyHost = (name: string, fastify: typeof fastify5, isHttp2: boolean): TlsHost => ({
  name: `${name} on node:${isHttp2 ? "http2" : "https"}`,
  protocols: isHttp2 ? BOTH : ["http/1.1"],
  start: async (guard, tls) => {
    const options = isHttp2 ? { http2: true, https: { ...tls, allowHTTP1: true } } : { https: tls };
    const app = (fastify as (options: object) => fastify5.FastifyInstance)(options);
    await app.register(forFastify.protect(guard));
    app.get(PATH, (request) => bodyOf(forFastify.principalOf(request)));
    const connections = trackConnections(app.server);
    await app.listen({ port: 0, host: "127.0.0.1" });
    return {
      port: (app.server.address() as AddressInfo).port,
      close: async () => {
        const closed = app.close();
        for (const socket of connections) socket.destroy();
        await closed;
      },
    };
  },
});

const nestHost = (platform: Platform): TlsHost => ({
  name: `NestJS on ${platform}`,
  protocols: ["http/1.1"],
  start: async (guard, tls) => {
    const route = {
      method: "GET",
      path: PATH,
      handle: (request: object, response: { send(body: string): unknown }) =>
        response.send(JSON.stringify(bodyOf(forNest.principalOf(request)))),
    };
    const root = createModule({
      imports: [forNest.ScopegateModule.forRoot(guard)],
      controllers: [createController(platform, [route])],
    });
    const options: object = platform === "Express" ? { httpsOptions: tls } : {};
    const app = await createApplication(platform, root, options, { https: tls });
    const connections = trackConnections(app.getHttpServer() as Server);
    await app.listen(0, "127.0.0.1");
    return {
      port: ((app.getHttpServer() as Server).address() as AddressInfo).port,
      close: async () => {
        const closed = app.close();
        for (const socket of connections) socket.destroy();
        await closed;
      },
    };
  },
});

/** A request of HTTP/2 lacks what Express needs, so Express runs on it with HTTP/1.1 only. */
export const TLS_HOSTS: readonly TlsHost[] = [
  withListener("Node on node:https", createHttpsServer, ["http/1.1"], nodeListener),
  withListener("Node on node:http2", createHttp2Server, BOTH, nodeListener),
  ...EXPRESS_VERSIONS.flatMap(([name, express]) => [
    withListener(`${name} on node:https`, createHttpsServer, ["http/1.1"], expressListener(express)),
    withListener(`${name} on node:http2`, createHttp2Server, ["http/1.1"], expressListener(express)),
  ]),
  ...KOA_VERSIONS.flatMap(([name, Koa]) => [
    withListener(`${name} on node:https`, createHttpsServer, ["http/1.1"], koaListenerFor(Koa)),
    withListener(`${name} on node:http2`, createHttp2Server, BOTH, koaListenerFor(Koa)),
  ]),
  ...FASTIFY_VERSIONS.flatMap(([name, fastify]) => [
    fastifyHost(name, fastify, false),
    fastifyHost(name, fastify, true),
  ]),
  withListener("Hono on node:https", createHttpsServer, ["http/1.1"], honoListener),
  withListener("Hono on node:http2", createHttp2Server, BOTH, honoListener),
  ...PLATFORMS.map(nestHost),
];
