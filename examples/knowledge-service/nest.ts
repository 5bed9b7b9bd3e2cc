import "reflect-metadata";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type ArgumentsHost,
  Controller,
  type INestApplication,
  Module,
  Req,
  RequestMapping,
  RequestMethod,
  Res,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Request, Response } from "express";
import type { ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import { protect } from "scopegate/express";
import { principalOf, ScopegateModule } from "scopegate/nest";
import { type Application, endConnections, faultBody, statusOf } from "./application.ts";
import type { Operation } from "./operations.ts";

/** Decorators are functions, so an array of operations can become a controller with a handler for each. */
function createController(operations: readonly Operation[]): new () => object {
  class Operations extends Object {}
  const prototype: object = Operations.prototype;
  Controller()(Operations);
  for (const [index, { method, pattern, run }] of operations.entries()) {
    const name = `operation${index}`;
    const value = (request: Request, response: Response) => {
      const { status, contentType, body } = run({
        caller: principalOf(request),
        params: request.params as Record<string, string>,
        query: new URL(request.originalUrl, "http://service").searchParams,
        body: request.body as unknown,
      });
      response.status(status);
      if (contentType) write(response, contentType, body);
      else response.end();
    };
    const descriptor = { value, configurable: true, writable: true };
    Object.defineProperty(prototype, name, descriptor);
    Req()(prototype, name, 0);
    Res()(prototype, name, 1);
    RequestMapping({ path: pattern, method: RequestMethod[method] })(prototype, name, descriptor);
  }
  return Operations;
}

function onError(error: unknown, host: ArgumentsHost): void {
  const status = statusOf(error);
  if (status === 500) console.error(error);
  write(
    host.switchToHttp().getResponse<Response>().status(status),
    "application/problem+json",
    faultBody(status),
  );
}

export async function createApplication(
  server: ResourceServer,
  operations: readonly Operation[],
): Promise<Application> {
  class AppModule extends Object {}
  Module({ imports: [ScopegateModule.forRoot(server)], controllers: [createController(operations)] })(
    AppModule,
  );
  const app: INestApplication = await NestFactory.create(AppModule, { logger: ["error", "warn"] } as object);
  // NestJS runs no guard for a path without a handler.
  app.use(protect(server));
  app.useGlobalFilters({ catch: onError });
  await app.init();
  return {
    routes: () => Promise.resolve(routesOf(app)),
    listen: async (port) => {
      await app.listen(port, "127.0.0.1");
      return (app.getHttpServer() as { address(): AddressInfo }).address().port;
    },
    close: () => {
      endConnections(app.getHttpServer() as Server);
      return app.close();
    },
  };
}

const write = (response: Response, type: string, body: unknown): unknown =>
  response.set("content-type", type).end(JSON.stringify(body));
