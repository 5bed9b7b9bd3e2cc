import fastifyPlugin from "fastify-plugin";
import { type Principal } from "../../token/principal.ts";
import { type AccessRequest, type PathReading } from "../../request.ts";
import { type ResourceServer } from "../../resource-server.ts";
import { type Refusal } from "../../response/refusal.ts";
import { renderBody } from "../../response/rendered-body.ts";
import { createMiddlewareGuard } from "./middleware.ts";
import { toPattern } from "./pattern.ts";
import { rememberGuarded } from "./list-routes.ts";
import { createScopeCheck, findPrincipal, guard } from "../guard.ts";
import { asScopeCheck } from "../middleware-marks.ts";
import { assertResourceServer, misplaced } from "../misuse.ts";
import { type NodeRequest } from "../node-request.ts";

export { type FastifyRoute, type FastifyRoutesInstance, routesOf } from "./list-routes.ts";

/** The part of Fastify's request (4 and 5) that is read. */
export interface FastifyRequest {
  /** Node's own request. */
  readonly raw: NodeRequest;
  /** As it was sent. */
  readonly method: string;
  /** The target, rewritten where `rewriteUrl` does that. */
  readonly url: string;
  /** The decoded parameters of the route. */
  readonly params: unknown;
  /** The route that was matched; without `url` none was. */
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

/** A hook, typed by what it uses: it fits both majors. */
export type FastifyHook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** The part of a Fastify instance that is used. */
export interface FastifyInstance {
  /** The options that the instance was made with; version 5 has those of its router in a group of their own. */
  readonly initialConfig: RouterOptions & { readonly routerOptions?: RouterOptions };
  /** Adds a hook that runs before a body is read. */
  addHook(name: "onRequest", hook: FastifyHook): unknown;
}

interface RouterOptions {
  readonly caseSensitive?: boolean;
  readonly ignoreTrailingSlash?: boolean;
}

/** A plugin for `app.register`. */
export type FastifyPlugin = (
  instance: FastifyInstance,
  options: object,
  done: (error?: Error) => void,
) => void;

/**
 * Protects every route of the instance it is registered on, in `onRequest`, before the body is read:
 * `app.register(protect(server))`. The order does not matter: Fastify hands the hook to the plugins inside the instance,
 * registered before or after. The rule is the narrowest that covers the whole route that Fastify matched; where the table has a rule for a part of
 * that route, there both are asked.
 *
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
export function protect(server: ResourceServer): FastifyPlugin {
  assertResourceServer(server);
  const patterns = new Map<string, string>();
  const patternOf = (url: string): string => {
    const known = patterns.get(url);
    if (known !== undefined) return known;
    const pattern = toPattern(url);
    patterns.set(url, pattern);
    return pattern;
  };
  const middleware = createMiddlewareGuard(server);
  const createHook =
    (reading: PathReading): FastifyHook =>
    (request, reply) => {
      const { url } = request.routeOptions;
      return guard(server, request.raw, {
        method: request.method,
        target: request.url,
        reading: middleware.watch(request.raw, request.server, reading),
        matchedPattern: url === undefined ? undefined : patternOf(url),
        params: url === undefined ? undefined : (request.params as AccessRequest["params"]),
      }).then((refusal) => refusal && send(reply, refusal));
    };
  return fastifyPlugin(
    (instance: FastifyInstance, _options: object, done: (error?: Error) => void) => {
      if (!("addHook" in instance)) throw misplaced("fastify", instance, _options, done);
      rememberGuarded(instance);
      middleware.attach(instance);
      instance.addHook("onRequest", createHook(readReading(instance)));
      done();
    },
    { name: "scopegate", fastify: ">=4.10" },
  );
}

function readReading({ initialConfig }: FastifyInstance): PathReading {
  const { caseSensitive = true, ignoreTrailingSlash = false } = {
    ...initialConfig,
    ...initialConfig.routerOptions,
  };
  return { ignoreCase: !caseSensitive, ignoreTrailingSlash };
}

/**
 * Asks one route for scopes on top of its rule, as a hook of the route: `{ onRequest: requireScopes("agents:run") }`;
 * `<name>` stands for a parameter of the route. Needs `protect` on its instance.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): FastifyHook {
  const check = createScopeCheck(scopes);
  // eslint-disable-next-line @typescript-eslint/require-await -- Fastify takes a hook of two parameters for an async one
  return asScopeCheck(async (request, reply) => {
    const refusal = check(request.raw, request.params as AccessRequest["params"]);
    return refusal && send(reply, refusal);
  });
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(request: { readonly raw: object }): Principal | undefined {
  return findPrincipal(request.raw);
}

/** Answers with the reply, which tells Fastify that the request has been answered. */
function send(reply: FastifyReply, { status, headers, body }: Refusal): FastifyReply {
  reply.code(status);
  reply.headers({ ...headers });
  // As bytes: Fastify adds a charset to the type of a text, which JSON does not have (RFC 8259 section 11).
  reply.send(Buffer.from(renderBody(body)));
  return reply;
}
