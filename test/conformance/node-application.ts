/** The conformance application without a framework, whose routes are found by path-to-regexp. */
import { createServer } from "node:http";
import cors from "cors";
import { metadata, principalOf, protect, requireScopes } from "scopegate/node";
import { listen } from "../support/http.ts";
import type { Application } from "./applications.ts";
import { serves, withFinders } from "./fetch-application.ts";

export const nodeApplication: Application = {
  name: "Node without a framework",
  hasMiddleware: true,
  start: async ({ server, routes, mounted = [], cors: hasCors, before, metadata: hasMetadata }) => {
    const ran: string[] = [];
    const serveMetadata = server && hasMetadata ? metadata(server) : () => false;
    const guard = server ? protect(server) : () => true;
    const table = withFinders(routes, mounted).map((route) => ({
      ...route,
      check: route.requires ? requireScopes(...route.requires) : () => true,
    }));

    const http = createServer((request, response) => {
      const answer = async (): Promise<void> => {
        if (serveMetadata(request, response) || !(await guard(request, response))) return;
        const [path = ""] = (request.url ?? "").split("?");
        for (const route of table) {
          const match = serves(route, request.method ?? "") && route.find(path);
          if (!match) continue;
          if (!route.check(request, response, match.params)) return;
          ran.push(`${route.method} ${route.path}`);
          const called = { principal: principalOf(request), params: match.params, source: request };
          const body = await route.handle(called);
          response.setHeader("content-type", "application/json").end(JSON.stringify(body ?? null));
          return;
        }
        response.writeHead(404).end();
      };
      const run = (): void => {
        answer().catch((error: unknown) => {
          response.writeHead(500).end(JSON.stringify({ fault: (error as Error).message }));
        });
      };
      const setHeader = (name: string, value: string | string[]) => void response.setHeader(name, value);
      if (hasCors) cors()(request, response, run);
      else if (before) before({ response, setHeader, principal: () => principalOf(request) }, run);
      else run();
    });
    return { ...(await listen(http)), ran };
  },
};
