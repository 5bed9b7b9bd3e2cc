import { bodyParser } from "@koa/bodyparser";
import Router from "@koa/router";
import Koa, { type Context } from "koa";
import type { ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import { principalOf, protect } from "scopegate/koa";
import { type Application, faultBody, fromListener, statusOf } from "./application.ts";
import type { Operation } from "./operations.ts";

export function createApplication(server: ResourceServer, operations: readonly Operation[]): Application {
  const router = new Router();
  for (const { method, pattern, run } of operations) {
    router.register(pattern, [method], (context) => {
      const { status, contentType, body } = run({
        caller: principalOf(context),
        params: context.params,
        query: context.URL.searchParams,
        body: context.request.body,
      });
      context.status = status;
      if (contentType) write(context, contentType, body);
    });
  }
  const app = new Koa();
  app.use(onError).use(protect(server)).use(bodyParser()).use(router.routes());
  const listener = app.callback();
  return fromListener((request, response) => void listener(request, response), routesOf(app));
}

async function onError(context: Context, next: () => Promise<unknown>): Promise<void> {
  try {
    await next();
  } catch (error) {
    context.status = statusOf(error);
    if (context.status === 500) console.error(error);
    write(context, "application/problem+json", faultBody(context.status));
  }
}

function write(context: Pick<Context, "type" | "body">, type: string, body: unknown): void {
  context.type = type;
  context.body = JSON.stringify(body);
}
