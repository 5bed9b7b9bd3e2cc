/** The service as a handler of the Fetch standard, on Node.js. Bun and Deno serve the same handler themselves. */
import { getRequestListener } from "@hono/node-server";
import { match } from "path-to-regexp";
import type { ResourceServer } from "scopegate";
import { withScopes } from "scopegate/fetch";
import { type Application, faultBody, fromListener } from "./application.ts";
import type { Operation } from "./operations.ts";

export function createApplication(server: ResourceServer, operations: readonly Operation[]): Application {
  const routes = operations.map((operation) => ({
    ...operation,
    find: match<Record<string, string>>(operation.pattern),
  }));

  const handler = withScopes(server, async (request: Request, { principal: caller }) => {
    const { pathname, searchParams: query } = new URL(request.url);
    for (const { method, find, run } of routes) {
      const found = method === request.method && find(pathname);
      if (!found) continue;
      const body = await readBody(request);
      if (body === UNREADABLE) return respond(400, "application/problem+json", faultBody(400));
      const output = run({ caller, params: found.params, query, body });
      return respond(output.status, output.contentType, output.body);
    }
    return respond(404);
  });

  const answer = async (request: Request): Promise<Response> => {
    try {
      return await handler(request);
    } catch (error) {
      console.error(error);
      return respond(500, "application/problem+json", faultBody(500));
    }
  };
  const listener = getRequestListener(answer);
  return fromListener((request, response) => void listener(request, response), operations);
}

const UNREADABLE = Symbol("a body that is not JSON");

async function readBody(request: Request): Promise<unknown> {
  if (!request.headers.get("content-type")?.startsWith("application/json")) return undefined;
  return request.json().catch(() => UNREADABLE);
}

const respond = (status: number, contentType?: string, body?: unknown): Response =>
  new Response(
    contentType ? JSON.stringify(body) : null,
    contentType ? { status, headers: { "Content-Type": contentType } } : { status },
  );
