/**
 * One application for every runtime. The headers `x-server` and `x-adapter` select a resource server and an
 * adapter; the others are as in any request.
 */
import { type Context, Hono } from "hono";
import { createResourceServer, type Principal, type ResourceServerOptions } from "scopegate";
import { remoteKeys } from "scopegate/keys";
import { principalOf, requireScopes, withScopes } from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import type { Settings } from "./settings.ts";

const settings = JSON.parse(process.env["SETTINGS"] ?? "{}") as Settings;

const common = {
  serviceId: "agents-prod",
  realm: 'the "agents" realm',
  resourceMetadataUrl: "https://as.example/meta",
  issuer: "https://issuer.example",
  // Bun refuses longer headers itself.
  maxTokenBytes: 8_192,
  isRevoked: ({ userId }) => userId === "revoked",
  scopeMappings: {
    "GET /agents": ["agents:<any>:read"],
    "GET /items/:id": ["items:<id>:read"],
    "GET /extra/:id": [],
    "GET /open": "public",
  },
} satisfies ResourceServerOptions;

const servers: Readonly<Record<string, ResourceServerOptions>> = {
  pem: { ...common, verificationKeys: [settings.publicPem] },
  secret: { ...common, verificationKeys: [settings.secret], algorithm: "HS256" },
  remote: { ...common, keys: remoteKeys({ jwksUri: settings.jwksUri }) },
  late: { ...common, keys: remoteKeys({ jwksUri: settings.lateUri }) },
  failing: { ...common, keys: remoteKeys({ jwksUri: settings.failingUri }) },
};

const mayUse = requireScopes("extra:<id>:use");

const answer = (principal: Principal | undefined, more?: object): Response =>
  // Runtimes give `Response.json` different types.
  new Response(JSON.stringify({ caller: principal?.userId, ...more }), {
    headers: { "content-type": "application/json" },
  });

type Handler = (request: Request) => Response | Promise<Response>;

const withFetch = (options: ResourceServerOptions): Handler =>
  withScopes(createResourceServer(options), (request, { principal, decision }) => {
    const [, place, id = ""] = new URL(request.url).pathname.split("/");
    const refusal = place === "extra" ? mayUse(request, { id }) : undefined;
    const isSame = principalOf(request) === principal;
    return refusal ?? answer(principal, { isSame, required: decision.required });
  });

function withHono(options: ResourceServerOptions): Handler {
  const handler = (c: Context): Response => answer(forHono.principalOf(c));
  const app = new Hono();
  app.use(forHono.protect(createResourceServer(options)));
  for (const path of ["/open", "/items/:id", "/agents"]) app.get(path, handler);
  app.get("/extra/:id", forHono.requireScopes("extra:<id>:use"), handler);
  return app.fetch;
}

const handlers: Readonly<Record<string, Handler>> = Object.fromEntries(
  Object.entries(servers).flatMap(([name, options]) => [
    [`fetch ${name}`, withFetch(options)],
    [`hono ${name}`, withHono(options)],
  ]),
);

/** How many requests have reached a server, for a test that waits for them. */
let received = 0;

export async function handle(request: Request): Promise<Response> {
  const { headers } = request;
  const handler = handlers[`${headers.get("x-adapter") ?? "fetch"} ${headers.get("x-server") ?? ""}`];
  if (!handler) return Response.json({ received });
  received += 1;
  return handler(request);
}
