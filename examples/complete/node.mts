import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { principalOf, protect, requireScopes } from "scopegate/node";
import { storesFor, server, textOf } from "./service.mts";

const guard = protect(server);
const mayReadLogs = requireScopes("logs:<store_id>:read");

async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "", "http://localhost"); // as the guard reads it
  const [, id, logs] = /^\/stores\/([^/]+)(\/logs)?$/.exec(pathname) ?? [];
  const store = id && decodeURIComponent(id);
  const caller = principalOf(request);
  const send = (status: number, body: unknown) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  if (pathname === "/health") send(200, { status: "ok" });
  else if (pathname === "/stores") send(200, storesFor(caller));
  else if (pathname === "/orders") send(201, { text: textOf(await json(request)), by: caller?.userId });
  else if (store === undefined) send(404, { title: "Not Found", status: 404 });
  else if (!logs) send(200, { store, caller: caller?.userId });
  else if (mayReadLogs(request, response, { store_id: store })) send(200, []);
}

async function listener(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // 1. CORS: a browser can read a refusal only with these headers.
  response.setHeader("Access-Control-Allow-Origin", "https://app.example");
  response.setHeader("Access-Control-Expose-Headers", "WWW-Authenticate, DPoP-Nonce");
  if (request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined) {
    response.writeHead(204, { "Access-Control-Allow-Headers": "authorization, dpop" }).end();
    return;
  }
  // 2. The guard responds to refused requests, and to its own errors.
  if (!(await guard(request, response))) return;
  // 3. Without this, an error in a handler would end the process.
  try {
    await route(request, response);
  } catch {
    response.writeHead(500).end();
  }
}

await server.ready();
createServer((request, response) => void listener(request, response)).listen(3000);
