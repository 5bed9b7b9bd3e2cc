import { serve } from "@hono/node-server";
import { requireScopes, withScopes } from "scopegate/fetch";
import { agentsFor, server, textOf } from "./service.mts";

const mayReadLogs = requireScopes("logs:<agent_id>:read");

const handler = withScopes(server, async (request: Request, { principal }) => {
  const { pathname } = new URL(request.url);
  const [, id, logs] = /^\/agents\/([^/]+)(\/logs)?$/.exec(pathname) ?? [];
  const agent = id && decodeURIComponent(id);
  if (pathname === "/health") return Response.json({ status: "ok" });
  if (pathname === "/agents") return Response.json(agentsFor(principal));
  if (pathname === "/notes")
    return Response.json({ text: textOf(await request.json()), by: principal?.userId }, { status: 201 });
  if (agent === undefined) return new Response(null, { status: 404 });
  if (!logs) return Response.json({ agent, caller: principal?.userId });
  return mayReadLogs(request, { agent_id: agent }) ?? Response.json([]); // the refusal, or `undefined`
});

/** CORS before the guard: a browser can read a refusal only with these headers. */
async function handleWithCors(request: Request): Promise<Response> {
  const isPreflight = request.method === "OPTIONS" && request.headers.has("Access-Control-Request-Method");
  const response = isPreflight ? new Response(null, { status: 204 }) : await handler(request);
  response.headers.set("Access-Control-Allow-Origin", "https://app.example");
  response.headers.set("Access-Control-Allow-Headers", "authorization, dpop");
  response.headers.set("Access-Control-Expose-Headers", "WWW-Authenticate, DPoP-Nonce");
  return response;
}

await server.ready();
serve({ fetch: handleWithCors, port: 3000 }); // on Bun and Deno: export default { fetch: handleWithCors };
