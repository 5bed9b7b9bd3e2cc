import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { protect } from "scopegate/hono";
import { receive, server } from "./events.js";

const app = new Hono();
app.use(protect(server));
app.post("/events", bodyLimit({ maxSize: 65_536 }), async (c) => {
  const { status, headers, body } = await receive(await c.req.text());
  return new Response(body, { status, headers });
});
serve({ fetch: app.fetch, port: 3000 });
