/** The conformance application without a framework, whose routes are found by path-to-regexp. */
import { createServer } from "node:http";
import { match } from "path-to-regexp";
import { principalOf, protect, requireScopes } from "scopegate/node";
import { listen } from "../support/http.ts";
import { type Application, type Route } from "./applications.ts";

export const nodeApplication: Application = {
  name: "Node without a framework",
  start: async ({ server, routes, mounted = [] }) => {
    const ran: string[] = [];
    const guard = protect(server);
    const below = mounted.map((route) => ({ ...route, path: `/mounted${route.path}`.replace(/\/$/, "") }));
    const table = [...routes, ...below].map((route) => ({
      ...route,
      find: match<Record<string, string>>(route.path),
      check: route.requires ? requireScopes(...route.requires) : () => true,
    }));

    const http = createServer((request, response) => {
      const answer = async (): Promise<void> => {
        if (!(await guard(request, response))) return;
        const [path = ""] = (request.url ?? "").split("?");
        for (const route of table) {
          const found = serves(route, request.method) && route.find(path);
          if (!found) continue;
          if (!route.check(request, response, found.params)) return;
          ran.push(`${route.method} ${route.path}`);
          const body = await route.handle({ principal: principalOf(request), params: found.params });
          response.setHeader("content-type", "application/json").end(JSON.stringify(body ?? null));
          return;
        }
        response.writeHead(404).end();
      };
      answer().catch((error: unknown) => {
        response.writeHead(500).end(JSON.stringify({ fault: (error as Error).message }));
      });
    });
    return { ...(await listen(http)), ran };
  },
};

const serves = ({ method }: Route, asked = ""): boolean =>
  method === "ALL" || method === asked || (method === "GET" && asked === "HEAD");
