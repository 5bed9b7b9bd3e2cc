import { assertNoSocket } from "../fetch/no-socket.ts";
import type { FetchHandler } from "../fetch/index.ts";
import { assertResourceServer, recognize } from "../shared/misuse.ts";
import { withRole } from "../shared/roles.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import { isPending } from "../../core/runtime/pending.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { McpAccess } from "./frameworks/fetch.ts";
import { createGateFinder, type McpGate } from "./frameworks/index.ts";
import { type McpOptions, resolveOptions } from "./options.ts";

export { type AuthInfo, type HandlerExtra, mayCall, principalOf } from "./caller.ts";
export { challenge, type PassedRequest } from "./challenge.ts";
export type { McpOptions } from "./options.ts";
export type { McpAccess } from "./frameworks/fetch.ts";
export type { McpGate } from "./frameworks/index.ts";
export type { McpServer } from "./memory-client.ts";
export { operationsOf, scopesOf } from "./operations-of.ts";
export type { ChallengeResult } from "./security-schemes.ts";
export * from "../../capabilities/mcp-operations/index.ts";

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
 * @throws ConfigurationError that lists every mistake in the options, and for a server without `mcp`
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { mcpOperations, protectMcp } from "scopegate/mcp";
 *
 * const scopeMappings = { "* /mcp": [], "MCP tools/list": [], "MCP tools/call search": ["docs:read"] };
 * const server = createResourceServer({ serviceId: "docs", scopeMappings, mcp: mcpOperations(), verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * express().use("/mcp", protectMcp(server), (req, res) => res.json(req.body)); // the MCP server in place of this
 * ```
 */
export function protectMcp(server: ResourceServer, options: McpOptions = {}): McpGate {
  assertResourceServer(server, "protectMcp");
  const findGate = createGateFinder(server, resolveOptions(server, options, "protectMcp"));
  const enter = (...parameters: readonly unknown[]): unknown => {
    const framework = recognize(parameters);
    const isPlaced = framework === "fetch" || parameters.slice(1).some(isFunction);
    const frameworkGate = isPlaced && framework ? findGate(framework) : undefined;
    if (!frameworkGate) throw new TypeError(MISPLACED);
    const entered = andThen(frameworkGate, (loaded) => loaded(...parameters));
    if (!isPending(frameworkGate) || (framework !== "express" && framework !== "fastify")) return entered;
    // Express and Fastify don't wait for a promise: without this call, a failure would leave the client
    // without a response.
    return (entered as Promise<unknown>).catch(parameters[2] as (error: unknown) => unknown);
  };
  // Without this mark, Fastify encapsulates the plugin, which would then guard only its own routes.
  Object.defineProperty(enter, Symbol.for("skip-override"), { value: true });
  return withRole("guard", enter as McpGate, server);
}

const isFunction = (value: unknown): boolean => typeof value === "function";

const MISPLACED =
  "protectMcp was called in the wrong place: write app.use(protectMcp(server)) in Express, Koa and Hono, app.register(protectMcp(server)) in Fastify, and withMcp(server, handler) for the Fetch standard.";

/**
 * Runs `protectMcp` before a handler of the Fetch standard, and remembers who starts a session. The handler
 * receives a request with a readable body and `auth`, then `{ authInfo, parsedBody }`, as the official SDK
 * expects it, and then the arguments that the framework or runtime passes.
 * @throws TypeError for anything but a resource server and a function
 * @throws ConfigurationError that lists every mistake in the options, and for a server without `mcp`
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { mcpOperations, withMcp } from "scopegate/mcp";
 *
 * const scopeMappings = { "* /mcp": [], "MCP tools/list": [] };
 * const server = createResourceServer({ serviceId: "docs", scopeMappings, mcp: mcpOperations(), verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
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
  if (!isFunction(handler))
    throw new TypeError("withMcp takes a handler: write withMcp(server, (request, access) => ...).");
  const findGate = createGateFinder(server, resolveOptions(server, options, "withMcp"));
  assertNoSocket(server, "withMcp of scopegate/mcp");
  return async (request, ...rest) => {
    const guard = (await findGate("fetch")) as McpGate;
    const access = await guard(request);
    return isAccess(access) ? access.respond(await handler(access.request, access, ...rest)) : access;
  };
}

/** Only an own property: a polluted prototype must not turn a refusal into access. */
const isAccess = (result: McpAccess | Response): result is McpAccess => Object.hasOwn(result, "respond");
