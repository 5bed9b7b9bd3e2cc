/** A user's program with Hono. */
import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import type { Principal } from "scopegate";
import { routesOf } from "scopegate/audit";
import { principalOf, protect, requireScopes } from "scopegate/hono";
import { addressOf, printAnswers, read, server, start } from "./callers.js";

interface Environment {
  Variables: { word: string };
}

const app = new Hono<Environment>();
app.use(protect(server));
app.use(async (context, next) => {
  context.set("word", "for");
  await next();
});
const agents = new Hono<Environment>().get("/:agent_id", requireScopes("agents:read"), (context) => {
  const id: string = context.req.param("agent_id");
  const caller: Principal | undefined = principalOf(context);
  return context.text(`${id} ${context.var.word} ${caller?.userId ?? "nobody"}`);
});
app.route("/agents", agents);

start(async () => {
  console.log(
    routesOf(app)
      .map(({ method, pattern }) => `${method} ${pattern}`)
      .join(),
  );
  const serving = serve({ fetch: app.fetch, port: 0 }) as Server;
  const url = `${await addressOf(serving)}/agents/web`;
  await printAnswers(async (headers) => read(await fetch(url, { headers })));
  serving.close();
  serving.closeAllConnections();
});
