import fastify, { type FastifyReply } from "fastify";
import type { ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import { principalOf, protect } from "scopegate/fastify";
import { type Application, endConnections, faultBody, statusOf } from "./application.ts";
import type { Operation } from "./operations.ts";

export function createApplication(server: ResourceServer, operations: readonly Operation[]): Application {
  const app = fastify({ forceCloseConnections: "idle" });
  const routes = routesOf(app);
  app.register(protect(server));
  for (const { method, pattern, run } of operations) {
    app.route({
      method,
      url: pattern,
      handler: (request, reply) => {
        const { status, contentType, body } = run({
          caller: principalOf(request),
          params: request.params as Record<string, string>,
          query: new URL(request.url, "http://service").searchParams,
          body: request.body,
        });
        reply.code(status);
        return contentType ? write(reply, contentType, body) : reply.send();
      },
    });
  }
  app.setErrorHandler((error, _request, reply) => {
    const status = statusOf(error);
    if (status === 500) console.error(error);
    return write(reply.code(status), "application/problem+json", faultBody(status));
  });
  return {
    routes: async () => {
      await app.ready();
      return routes;
    },
    listen: async (port) => Number(new URL(await app.listen({ port, host: "127.0.0.1" })).port),
    close: () => {
      endConnections(app.server);
      return app.close();
    },
  };
}

const write = (reply: FastifyReply, type: string, body: unknown): FastifyReply =>
  reply.header("content-type", type).send(JSON.stringify(body));
