import { isAccess } from "../fetch/access.ts";
import type { FetchHandler } from "../fetch/index.ts";
import { assertResourceServer, type Framework, recognize } from "../shared/misuse.ts";
import { withRole } from "../shared/roles.ts";
import type { ResourceServer } from "../../core/server.ts";
import { createGate, type Gate, type McpOptions } from "./gate.ts";
import type { createFrameworkGate as createExpressGate } from "./frameworks/express.ts";
import type { createFrameworkGate as createFastifyGate } from "./frameworks/fastify.ts";
import { createFrameworkGate as createFetchGate, type McpAccess } from "./frameworks/fetch.ts";
import type { createFrameworkGate as createHonoGate } from "./frameworks/hono.ts";
import type { createFrameworkGate as createKoaGate } from "./frameworks/koa.ts";

export { type AuthInfo, type HandlerExtra, mayCall, principalOf } from "./caller.ts";
export type { McpOptions } from "./gate.ts";
export type { McpAccess } from "./frameworks/fetch.ts";
export type { McpServer } from "./memory-client.ts";
export { operationsOf, scopesOf } from "./operations-of.ts";

/** The guard of an MCP server: middleware, a plugin or a function, depending on the calling framework. */
export type McpGate = ReturnType<typeof createExpressGate> &
  ReturnType<typeof createKoaGate> &
  ReturnType<typeof createHonoGate> &
  ReturnType<typeof createFetchGate> &
  ReturnType<typeof createFastifyGate>;

/** A function in the framework's own form, such as a middleware. */
type FrameworkGate = (...parameters: never) => unknown;

interface FrameworkModule {
  readonly createFrameworkGate: (server: ResourceServer, gate: Gate) => FrameworkGate;
}

/** Each module loads the adapter of its framework. It's loaded when the framework first calls the guard. */
const FRAMEWORK_MODULES = new Map<Framework | undefined, () => Promise<FrameworkModule>>([
  ["express", () => import("./frameworks/express.ts")],
  ["koa", () => import("./frameworks/koa.ts")],
  ["fastify", () => import("./frameworks/fastify.ts")],
  ["hono", () => import("./frameworks/hono.ts")],
]);

/**
 * Protects an MCP server (Streamable HTTP): `app.use(protectMcp(server))` in Express, Koa and Hono, and
 * `app.register(protectMcp(server))` in Fastify, before body parsers. It first decides by the path's rule, as
 * `protect` does. Then it reads the body, which must be JSON-RPC, and checks the rule for every operation in
 * it, such as `MCP tools/call search`: all of them run, or none. It reads the body of every request but GET,
 * HEAD, DELETE and OPTIONS, so use it for MCP endpoints only: `app.use("/mcp", protectMcp(server))`. It
 * passes on what the official SDK expects: the parsed body and `authInfo`. For the Fetch standard,
 * `await protectMcp(server)(request)` returns both, or the response to send; `withMcp` is shorter. A session
 * belongs to the caller that started it, in this process. It doesn't check the `Origin` header, the schema of
 * arguments, or what a server sends to its client.
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { protectMcp } from "scopegate/mcp";
 *
 * const scopeMappings = { "* /mcp": [], "MCP tools/list": [], "MCP tools/call search": ["docs:read"] };
 * const server = createResourceServer({ serviceId: "docs", scopeMappings, verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * express().use("/mcp", protectMcp(server), (req, res) => res.json(req.body)); // the MCP server in place of this
 * ```
 */
export function protectMcp(server: ResourceServer, options: McpOptions = {}): McpGate {
  assertResourceServer(server, "protectMcp");
  const gate = createGate(server, options);
  const frameworkGates = new Map<Framework | undefined, FrameworkGate>([
    ["fetch", createFetchGate(server, gate)],
  ]);
  const enter = (...parameters: readonly unknown[]): unknown => {
    const framework = recognize(parameters);
    const isPlaced =
      framework === "fetch" || parameters.slice(1).some((parameter) => typeof parameter === "function");
    if (!isPlaced) throw new TypeError(MISPLACED);
    const frameworkGate = frameworkGates.get(framework);
    if (frameworkGate) return callFramework(frameworkGate, parameters);
    const load = FRAMEWORK_MODULES.get(framework);
    if (!load) throw new TypeError(MISPLACED);
    const entered = load().then(({ createFrameworkGate }) => {
      const loaded = createFrameworkGate(server, gate);
      frameworkGates.set(framework, loaded);
      return callFramework(loaded, parameters);
    });
    if (framework === "koa" || framework === "hono") return entered;
    // Express and Fastify don't wait for a promise: without this call, a failure would leave the client
    // without a response.
    const [, , done] = parameters;
    return entered.catch(done as (error: unknown) => unknown);
  };
  // Without this mark, Fastify encapsulates the plugin, which would then guard only its own routes.
  Object.defineProperty(enter, Symbol.for("skip-override"), { value: true });
  return withRole("guard", enter as McpGate, server);
}

const callFramework = (frameworkGate: FrameworkGate, parameters: readonly unknown[]): unknown =>
  Reflect.apply(frameworkGate as (...parameters: readonly unknown[]) => unknown, undefined, parameters);

const MISPLACED =
  "protectMcp was called in the wrong place: write app.use(protectMcp(server)) in Express, Koa and Hono, app.register(protectMcp(server)) in Fastify, and withMcp(server, handler) for the Fetch standard.";

/**
 * Runs `protectMcp` before a handler of the Fetch standard, and remembers who starts a session. The handler
 * receives a request with a readable body and `auth`, then `{ authInfo, parsedBody }`, as the official SDK
 * expects it, and then the arguments that the framework or runtime passes.
 * @throws TypeError for anything but a resource server and a function
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { withMcp } from "scopegate/mcp";
 *
 * const scopeMappings = { "* /mcp": [], "MCP tools/list": [] };
 * const server = createResourceServer({ serviceId: "docs", scopeMappings, verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * // In place of `Response.json`, the handler of the official SDK: `mcp.fetch(request, access)`.
 * export default { fetch: withMcp(server, (_request, access) => Response.json(access.parsedBody)) };
 * ```
 */
export function withMcp<Rest extends readonly unknown[] = readonly unknown[]>(
  server: ResourceServer,
  handler: (request: Request, access: McpAccess, ...rest: Rest) => Response | Promise<Response>,
  options: McpOptions = {},
): FetchHandler<Request, Rest> {
  assertResourceServer(server, "withMcp");
  if (typeof (handler as unknown) !== "function")
    throw new TypeError("withMcp takes a handler: write withMcp(server, (request, access) => ...).");
  const guard = createFetchGate(server, createGate(server, options, "withMcp"));
  return async (request, ...rest) => {
    const access = await guard(request);
    return isAccess(access) ? access.respond(await handler(access.request, access, ...rest)) : access;
  };
}
