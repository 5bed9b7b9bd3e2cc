import type { AccessRequest } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Principal } from "../../core/token/principal.ts";
import { checkFirst } from "../shared/check-first.ts";
import { findPrincipal, guardRequest, type PendingRefusal, type SetHeader } from "../shared/guard.ts";
import { rememberUpgrade } from "../shared/framework-upgrades.ts";
import { assertResourceServer, misplaced } from "../shared/misuse.ts";
import { assertNoOptions, type NoOptions } from "../shared/no-options.ts";
import { createMetadata } from "../shared/metadata.ts";
import { withRole } from "../shared/roles.ts";
import { rememberGuarded } from "./guarded-instances.ts";
import { createScopeCheck } from "../shared/scope-check.ts";
import type { createMiddlewareGuard, WithMiddleware } from "./middleware.ts";
import { describePlugin } from "./plugin.ts";
import { endWith, type FastifyReply, send } from "./reply.ts";
import { type FastifyRequest, readRequest } from "./request.ts";

export type { FastifyReply } from "./reply.ts";
export type { FastifyRequest } from "./request.ts";

type Done = (error?: Error) => void;

/** A hook with only the types that it uses, for both major versions. */
export type FastifyHook = (request: FastifyRequest, reply: FastifyReply, done: Done) => void;

/** The part of a Fastify instance that is used. */
export interface FastifyInstance {
  /** Adds a hook that runs before a body is read. */
  addHook(name: "onRequest", hook: FastifyHook): unknown;
}

/** @fastify/express and @fastify/middie add `use` to an instance. */
const hasMiddleware = (instance: object): instance is WithMiddleware => "use" in instance;

/** A plugin for `app.register`. */
export type FastifyPlugin = (instance: FastifyInstance, options: object, done: Done) => void;

/**
 * Protects every route of the instance that it's registered on, and of the plugins inside it, whether they
 * were registered before or after: `app.register(protect(server))`. It runs in `onRequest`, before the body
 * is read. The rules for the path and for the matched route are checked together.
 *
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError for any option
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
  let middlewareGuard: ReturnType<typeof createMiddlewareGuard> | undefined;
  /** Only instances with middleware load this file, because it loads the adapter of Express. */
  const loadMiddlewareGuard = async () => {
    const { createMiddlewareGuard } = await import("./middleware.ts");
    return (middlewareGuard ??= createMiddlewareGuard(server));
  };
  const check = (request: FastifyRequest, setHeader: SetHeader): PendingRefusal => {
    const { raw, server: instance } = request;
    const usesMiddleware = hasMiddleware(instance);
    if (usesMiddleware) {
      // Another plugin may have added `use` to the instance after this one.
      if (!middlewareGuard) return loadMiddlewareGuard().then(() => check(request, setHeader));
      middlewareGuard.watch(raw, instance);
    }
    return guardRequest(server, raw, readRequest(request), usesMiddleware, setHeader);
  };
  const hook: FastifyHook = (request, reply, done) => {
    const isUpgrade = rememberUpgrade(request.raw, server);
    const setHeader = (name: string, value: string) => reply.header(name, value);
    checkFirst(() => check(request, setHeader), {
      refuse: (refusal) => {
        // If this hook runs before the hook of @fastify/websocket, nothing else closes the connection.
        if (isUpgrade) endWith(reply);
        send(reply, refusal);
      },
      next: done,
    });
  };
  const plugin: FastifyPlugin = (instance, others, done) => {
    if (!("addHook" in instance)) throw misplaced("fastify", instance, others, done);
    rememberGuarded(instance, server);
    const addGuard = () => {
      instance.addHook("onRequest", hook);
      done();
    };
    if (!hasMiddleware(instance)) {
      addGuard();
      return;
    }
    loadMiddlewareGuard()
      .then((guard) => {
        guard.attach(instance);
        addGuard();
      })
      .catch(done);
  };
  return describePlugin(plugin, "scopegate");
}

/**
 * Serves the metadata of the option `resource` (RFC 9728) to OAuth clients, such as those of MCP: write
 * `app.register(metadata(server))` before `protect`. The document is public and has CORS headers for every
 * origin.
 * @throws TypeError for a server without the option `resource`
 */
export function metadata(server: ResourceServer): FastifyPlugin {
  const find = createMetadata(server);
  const hook: FastifyHook = (request, reply, done) => {
    const document = find(request.method, request.url);
    if (document) send(reply, document);
    else done();
  };
  const plugin: FastifyPlugin = (instance, _, done) => {
    instance.addHook("onRequest", hook);
    done();
  };
  return describePlugin(plugin, "scopegate-metadata");
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

/**
 * Returns the caller of a protected request; `undefined` if no token was read, or no `protect` ran.
 * @throws TypeError for an object of another framework
 */
export function principalOf(request: { readonly raw: object }): Principal | undefined {
  return findPrincipal("fastify", request, (request as Partial<typeof request> | undefined)?.raw);
}
