/** The conformance application of Fetch-standard handlers, whose routes are found by path-to-regexp. */
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { match } from "path-to-regexp";
import { requireScopes, withScopes } from "scopegate/fetch";
import { listen } from "../support/http.ts";
import { type Application, type Route } from "./applications.ts";

export const fetchApplication: Application = {
  name: "Fetch",
  parsesUrl: true,
  start: async ({ server, routes, mounted = [], cors }) => {
    const ran: string[] = [];
    const below = mounted.map((route) => ({ ...route, path: `/mounted${route.path}`.replace(/\/$/, "") }));
    const table = [...routes, ...below].map((route) => ({
      ...route,
      find: match<Record<string, string>>(route.path),
      check: route.requires ? requireScopes(...route.requires) : () => undefined,
    }));

    const handle = withScopes(server, async (request, { principal }) => {
      const path = new URL(request.url).pathname;
      for (const route of table) {
        const found = serves(route, request.method) && route.find(path);
        if (!found) continue;
        const refusal = route.check(request, found.params);
        if (refusal) return refusal;
        ran.push(`${route.method} ${route.path}`);
        return Response.json((await route.handle({ principal, params: found.params })) ?? null);
      }
      return new Response(null, { status: 404 });
    });
    const answer = async (request: Request): Promise<Response> => {
      try {
        return await handle(request);
      } catch (error) {
        return Response.json({ fault: (error as Error).message }, { status: 500 });
      }
    };
    const listener = getRequestListener(cors ? withCors(answer) : answer);
    return { ...(await listen(createServer((...given) => void listener(...given)))), ran };
  },
};

const serves = ({ method }: Route, asked: string): boolean =>
  method === "ALL" || method === asked || (method === "GET" && asked === "HEAD");

/** CORS in front of the guard: it answers preflights itself, and puts its header on refusals too. */
const withCors =
  (handler: (request: Request) => Promise<Response>) =>
  async (request: Request): Promise<Response> => {
    const isPreflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
    const response = isPreflight ? new Response(null, { status: 204 }) : await handler(request);
    response.headers.set("access-control-allow-origin", "*");
    if (isPreflight) response.headers.set("access-control-allow-headers", "authorization");
    return response;
  };
