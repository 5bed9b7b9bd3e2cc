import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { cors } from "hono/cors";
import { audit, routesOf } from "scopegate/audit";
import { principalOf, protect, requireScopes } from "scopegate/hono";
import { storesFor, server, textOf } from "./service.mts";

const app = new Hono();
app.onError((error, c) => {
  // Receives errors only: `protect` responds to refused requests itself.
  console.error(error.message);
  return c.json({ title: "Internal Server Error", status: 500 }, 500);
});
app.use(cors({ origin: "https://app.example", exposeHeaders: ["WWW-Authenticate", "DPoP-Nonce"] })); // 1. preflights
app.use(protect(server)); // 2. checks every request
app.get("/stores", (c) => c.json(storesFor(principalOf(c))));
app.get("/stores/:store_id", (c) =>
  c.json({ store: c.req.param("store_id"), caller: principalOf(c)?.userId }),
);
app.get("/stores/:store_id/logs", requireScopes("logs:<store_id>:read"), (c) => c.json([]));
app.post("/orders", async (c) =>
  c.json({ text: textOf(await c.req.json()), by: principalOf(c)?.userId }, 201),
);
app.get("/health", (c) => c.json({ status: "ok" }));

audit(server, routesOf(app)).orThrow();
await server.ready();
serve({ fetch: app.fetch, port: 3000 });
