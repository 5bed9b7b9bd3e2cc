import { serve } from "@hono/node-server";
import { requireScopes, withScopes } from "scopegate/fetch";
import { storesFor, server, textOf } from "./service.mts";

const mayReadLogs = requireScopes("logs:<store_id>:read");

const handler = withScopes(server, async (request: Request, { principal }) => {
  const { pathname } = new URL(request.url);
  const [, id, logs] = /^\/stores\/([^/]+)(\/logs)?$/.exec(pathname) ?? [];
  const store = id && decodeURIComponent(id);
  if (pathname === "/health") return Response.json({ status: "ok" });
  if (pathname === "/stores") return Response.json(storesFor(principal));
  if (pathname === "/orders")
    return Response.json({ text: textOf(await request.json()), by: principal?.userId }, { status: 201 });
  if (store === undefined) return new Response(null, { status: 404 });
  if (!logs) return Response.json({ store, caller: principal?.userId });
  return mayReadLogs(request, { store_id: store }) ?? Response.json([]); // the refusal, or `undefined`
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
