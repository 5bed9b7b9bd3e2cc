import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/hono";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

const app = new Hono().use(protect(server));
app.get("/stores/:store_id", (c) =>
  c.json({ store: c.req.param("store_id"), caller: principalOf(c)?.userId }),
);
app.get("/health", (c) => c.json({ status: "ok" }));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });
