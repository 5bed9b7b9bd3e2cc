/** The conformance application of Fetch-standard handlers, whose routes are found by path-to-regexp. */
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { match as matchPattern } from "path-to-regexp";
import type { Principal } from "scopegate";
import { metadata, protect, requireScopes, withScopes } from "scopegate/fetch";
import { listen } from "../support/http.ts";
import type { Application, Route } from "./applications.ts";

/** The host finds the route, and passes its parameters to a handler that is wrapped with it. */
export const fetchApplicationWithRoutes: Application = {
  name: "Fetch with routes",
  parsesUrl: true,
  start: async ({ server, routes, mounted = [], metadata: hasMetadata }) => {
    const ran: string[] = [];
    const table = withFinders(routes, mounted).map((route) => {
      const check = route.requires ? requireScopes(...route.requires) : () => undefined;
      const respond = async (
        request: Request,
        principal: Principal | undefined,
        params: Readonly<Record<string, string>>,
      ): Promise<Response> => {
        const refusal = check(request, params);
        if (refusal) return refusal;
        ran.push(`${route.method} ${route.path}`);
        return Response.json((await route.handle({ principal, params, source: request })) ?? null);
      };
      const written = route.method === "ALL" ? route.path : `${route.method} ${route.path}`;
      interface Context {
        readonly params: Promise<Readonly<Record<string, string>>>;
      }
      const handle = server
        ? withScopes(server, { route: written }, async (request: Request, { principal }, context: Context) =>
            respond(request, principal, await context.params),
          )
        : async (request: Request, context: Context) => respond(request, undefined, await context.params);
      return { ...route, run: handle };
    });
    const guard = server && protect(server);
    const answer = async (request: Request): Promise<Response> => {
      const path = new URL(request.url).pathname;
      for (const route of table) {
        const match = serves(route, request.method) && findSafely(route, path);
        if (match) return route.run(request, { params: Promise.resolve({ ...match.params }) });
      }
      const access = await guard?.(request);
      return access && !("decision" in access) ? access : new Response(null, { status: 404 });
    };
    return { ...(await serve(answer, server && hasMetadata ? metadata(server) : undefined)), ran };
  },
};

/** The program finds the route by the URL, after one guard for all of them. */
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
    const guard = server && protect(server);
    const handle = async (request: Request): Promise<Response> => {
      if (!guard) return respond(request, undefined);
      const access = await guard(request);
      if (!("decision" in access)) return access;
      const response = await respond(request, access.principal);
      if (access.nextNonce !== undefined) response.headers.set("DPoP-Nonce", access.nextNonce);
      return response;
    };
    return { ...(await serve(handle, server && hasMetadata ? metadata(server) : undefined)), ran };
  },
};

/** Hosts run no route for a path that can't be decoded. */
function findSafely({ find }: ReturnType<typeof withFinders>[number], path: string) {
  try {
    return find(path);
  } catch {
    return false;
  }
}

async function serve(
  handle: (request: Request) => Response | Promise<Response>,
  findMetadata: (request: Request) => Response | undefined = () => undefined,
) {
  const listener = getRequestListener(async (request) => {
    try {
      return findMetadata(request) ?? (await handle(request));
    } catch (error) {
      return Response.json({ fault: (error as Error).message }, { status: 500 });
    }
  });
  return listen(createServer((request, response) => void listener(request, response)));
}

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
