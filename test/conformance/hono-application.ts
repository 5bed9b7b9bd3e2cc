/** The conformance application of Hono. */
import { createServer } from "node:http";
import { Hono } from "hono";
import { cors as honoCors } from "hono/cors";
import { metadata, principalOf, protect, requireScopes } from "scopegate/hono";
import { listenerOf } from "../support/hosts.ts";
import { listen } from "../support/http.ts";
import type { Application, Route } from "./applications.ts";

export const honoApplication: Application = {
  name: "Hono",
  parsesUrl: true,
  start: async ({ server, routes, mounted = [], cors, metadata: hasMetadata }) => {
    const ran: string[] = [];
    const add = (app: Hono, list: readonly Route[]) => {
      for (const route of list) {
        const { method, path, requires } = route;
        if (requires) app.on(method, path, requireScopes(...requires));
        app.on(method, path, async (context) => {
          ran.push(`${method} ${path}`);
          const called = { principal: principalOf(context), params: context.req.param(), source: context };
          return context.json((await route.handle(called)) ?? null);
        });
      }
      return app;
    };
    const app = new Hono();
    app.onError((error, context) => context.json({ fault: error.message }, 500));
    if (cors) app.use(honoCors());
    if (server && hasMetadata) app.use(metadata(server));
    if (server) app.use(protect(server));
    add(app, routes).route("/mounted", add(new Hono(), mounted));
    return { ...(await listen(createServer(listenerOf(app.fetch)))), ran };
  },
};
