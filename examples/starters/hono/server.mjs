import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/hono";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /health": "public",
  },
});

const app = new Hono().use(protect(server));
app.get("/agents/:agent_id", (c) =>
  c.json({ agent: c.req.param("agent_id"), caller: principalOf(c)?.userId }),
);
app.get("/health", (c) => c.json({ status: "ok" }));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });
