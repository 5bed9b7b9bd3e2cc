import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import type { ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import { principalOf, protect } from "scopegate/express";
import { type Application, faultBody, fromListener, statusOf } from "./application.ts";
import type { Operation } from "./operations.ts";

export function createApplication(server: ResourceServer, operations: readonly Operation[]): Application {
  const app = express();
  app.disable("x-powered-by");
  app.use(protect(server));
  app.use(express.json());
  for (const operation of operations) {
    const method = operation.method.toLowerCase() as "get" | "post" | "patch" | "delete";
    app[method](operation.pattern, toHandler(operation));
  }
  app.use(onError);
  return fromListener(app, routesOf(app));
}

function toHandler({ run }: Operation): RequestHandler<Record<string, string>> {
  return (request, response) => {
    const { status, contentType, body } = run({
      caller: principalOf(request),
      params: request.params,
      query: new URL(request.url, "http://service").searchParams,
      body: request.body as unknown,
    });
    response.status(status);
    if (contentType) response.type(contentType).send(JSON.stringify(body));
    else response.end();
  };
}

const onError: ErrorRequestHandler = (error, _request, response, _next) => {
  const status = statusOf(error);
  if (status === 500) console.error(error);
  response
    .status(status)
    .type("application/problem+json")
    .send(JSON.stringify(faultBody(status)));
};
