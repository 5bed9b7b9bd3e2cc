import { getRequestListener } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import type { ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import { principalOf, protect } from "scopegate/hono";
import { type Application, faultBody, fromListener, statusOf } from "./application.ts";
import type { Operation } from "./operations.ts";

export function createApplication(server: ResourceServer, operations: readonly Operation[]): Application {
  const app = new Hono();
  app.onError((error) => {
    const status = statusOf(error);
    if (status === 500) console.error(error);
    return respond(status, "application/problem+json", faultBody(status));
  });
  app.use(protect(server)).use(bodyLimit({ maxSize: 1_000_000 }));
  for (const { method, pattern, run } of operations) {
    app.on(method, pattern, async (context) => {
      const { status, contentType, body } = run({
        caller: principalOf(context),
        params: context.req.param(),
        query: new URL(context.req.url).searchParams,
        body: await readBody(context),
      });
      return contentType ? respond(status, contentType, body) : new Response(null, { status });
    });
  }
  const listener = getRequestListener(app.fetch);
  return fromListener((request, response) => void listener(request, response), routesOf(app));
}

async function readBody({ req }: Context): Promise<unknown> {
  if (!req.header("content-type")?.startsWith("application/json")) return undefined;
  return req.json().catch((cause: unknown) => {
    throw cause instanceof SyntaxError ? new HTTPException(400, { cause }) : cause;
  });
}

const respond = (status: number, type: string, body: unknown): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": type } });
