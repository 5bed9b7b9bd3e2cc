/** The conformance application of Fetch-standard handlers, whose routes are found by path-to-regexp. */
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { match as matchPattern } from "path-to-regexp";
import type { Principal } from "scopegate";
import { metadata, requireScopes, withScopes } from "scopegate/fetch";
import { listen } from "../support/http.ts";
import type { Application, Route } from "./applications.ts";

export const fetchApplication: Application = {
  name: "Fetch",
  parsesUrl: true,
  start: async ({ server, routes, mounted = [], metadata: hasMetadata }) => {
    const ran: string[] = [];
    const table = withFinders(routes, mounted).map((route) => ({
      ...route,
      check: route.requires ? requireScopes(...route.requires) : () => undefined,
    }));

    const respond = async (request: Request, principal: Principal | undefined): Promise<Response> => {
      const path = new URL(request.url).pathname;
      for (const route of table) {
        const match = serves(route, request.method) && route.find(path);
        if (!match) continue;
        const refusal = route.check(request, match.params);
        if (refusal) return refusal;
        ran.push(`${route.method} ${route.path}`);
        const called = { principal, params: match.params, source: request };
        return Response.json((await route.handle(called)) ?? null);
      }
      return new Response(null, { status: 404 });
    };
    const handle = server
      ? withScopes(server, (request, { principal }) => respond(request, principal))
      : (request: Request) => respond(request, undefined);
    const findMetadata = server && hasMetadata ? metadata(server) : () => undefined;
    const answer = async (request: Request): Promise<Response> => {
      try {
        return findMetadata(request) ?? (await handle(request));
      } catch (error) {
        return Response.json({ fault: (error as Error).message }, { status: 500 });
      }
    };
    const listener = getRequestListener(answer);
    return { ...(await listen(createServer((request, response) => void listener(request, response)))), ran };
  },
};

/** Both kinds of routes by their whole path, each with a function that finds its parameters in a path. */
export const withFinders = (routes: readonly Route[], mounted: readonly Route[]) => {
  const below = mounted.map((route) => ({ ...route, path: `/mounted${route.path}`.replace(/\/$/, "") }));
  return [...routes, ...below].map((route) => ({
    ...route,
    find: matchPattern<Record<string, string>>(route.path),
  }));
};

export const serves = ({ method }: Route, asked: string): boolean =>
  method === "ALL" || method === asked || (method === "GET" && asked === "HEAD");
