import fastifyPlugin from "fastify-plugin";
import { type AccessRequest } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { type Refusal } from "../../response/refusal.ts";
import { renderBody } from "../../response/rendered-body.ts";
import { settle } from "../../runtime/pending.ts";
import { type Principal } from "../../token/principal.ts";
import { createScopeCheck, findPrincipal, guard } from "../guard.ts";
import { assertNoOptions, assertResourceServer, misplaced, type NoOptions } from "../misuse.ts";
import { type NodeRequest, toAccessRequest } from "../node-request.ts";
import { withRole } from "../roles.ts";
import { rememberGuarded } from "./list-routes.ts";
import { createMiddlewareGuard } from "./middleware.ts";
import { toPattern } from "./pattern.ts";

export { type FastifyRoute, type FastifyRoutesInstance, routesOf } from "./list-routes.ts";

/** The part of Fastify's request (4 and 5) that is read. */
export interface FastifyRequest {
  /** Node's own request. */
  readonly raw: NodeRequest;
  /** The method as it was sent. */
  readonly method: string;
  /** The target, rewritten where `rewriteUrl` does that. */
  readonly url: string;
  /** The decoded parameters of the route. */
  readonly params: unknown;
  /** The route that was matched; without `url`, none was. */
  readonly routeOptions: { readonly url?: string | undefined };
  /** The instance of the route. */
  readonly server: object;
}

/** The part of Fastify's reply that a refusal is written to. */
export interface FastifyReply {
  /** Sets the status. */
  code(status: number): unknown;
  /** Sets header fields. */
  headers(headers: Record<string, string>): unknown;
  /** Sends the body. */
  send(body: Buffer): unknown;
}

type Done = (error?: Error) => void;

/** A hook, typed by what it uses: it fits both major versions. */
export type FastifyHook = (request: FastifyRequest, reply: FastifyReply, done: Done) => void;

/** The part of a Fastify instance that is used. */
export interface FastifyInstance {
  /** Adds a hook that runs before a body is read. */
  addHook(name: "onRequest", hook: FastifyHook): unknown;
}

/** A plugin for `app.register`. */
export type FastifyPlugin = (instance: FastifyInstance, options: object, done: Done) => void;

/**
 * Protects every route of the instance that it is registered on, and of the plugins inside it, whether they
 * were registered before or after: `app.register(protect(server))`. It runs in `onRequest`, before the body
 * is read. The rule of the path and the rule of the matched route are checked together.
 *
 * @throws TypeError for anything but a resource server
 * @example
 * ```ts
 * import fastify from "fastify";
 * import { createResourceServer } from "scopegate";
 * import { principalOf, protect } from "scopegate/fastify";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = fastify();
 * await app.register(protect(server));
 * app.get("/agents/:agent_id", (request) => ({ caller: principalOf(request)?.userId }));
 * ```
 */
export function protect(server: ResourceServer, options: NoOptions = {}): FastifyPlugin {
  assertResourceServer(server);
  assertNoOptions(options);
  const patterns = new Map<string, string>();
  const patternOf = (url: string): string => {
    let pattern = patterns.get(url);
    if (pattern === undefined) patterns.set(url, (pattern = toPattern(url)));
    return pattern;
  };
  const middleware = createMiddlewareGuard(server);
  const hook: FastifyHook = (request, reply, done) => {
    const { raw, method, routeOptions } = request;
    const hasRouters = middleware.watch(raw, request.server);
    const pattern = routeOptions.url === undefined ? undefined : patternOf(routeOptions.url);
    const params = request.params as AccessRequest["params"];
    settle(
      () => guard(server, raw, toAccessRequest(raw, method, request.url, pattern, params), hasRouters),
      (refusal) => send(reply, refusal),
      done,
    );
  };
  const plugin: FastifyPlugin = (instance, others, done) => {
    if (!("addHook" in instance)) throw misplaced("fastify", instance, others, done);
    rememberGuarded(instance);
    middleware.attach(instance);
    instance.addHook("onRequest", hook);
    done();
  };
  return fastifyPlugin(plugin, { name: "scopegate", fastify: ">=4.10" });
}

/**
 * Requires scopes for a route on top of its rule, as its hook: `{ onRequest: requireScopes("agents:run") }`.
 * `<name>` is a route parameter. Needs `protect` on its instance.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): FastifyHook {
  const check = createScopeCheck(scopes);
  return withRole("scope check", (request, reply, done) => {
    const refusal = check(request.raw, request.params as AccessRequest["params"]);
    if (refusal) send(reply, refusal);
    else done();
  });
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(request: { readonly raw: object }): Principal | undefined {
  return findPrincipal(request.raw);
}

function send(reply: FastifyReply, { status, headers, body }: Refusal): void {
  reply.code(status);
  reply.headers({ ...headers });
  // As bytes: Fastify adds a charset to the type of a string, which JSON does not have (RFC 8259 section 11).
  reply.send(Buffer.from(renderBody(body)));
}
