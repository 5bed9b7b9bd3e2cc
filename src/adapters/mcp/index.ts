import { isAccess } from "../fetch/access.ts";
import { type FetchHandler } from "../fetch/index.ts";
import { assertResourceServer, type Framework, recognize } from "../shared/misuse.ts";
import { withRole } from "../shared/roles.ts";
import { type ResourceServer } from "../../core/server.ts";
import { createGate, type McpOptions } from "./gate.ts";
import { createExpressGate, createFastifyGate, createKoaGate } from "./hosts/node.ts";
import { createFetchGate, createHonoGate, type McpAccess } from "./hosts/web.ts";

export { type AuthInfo, type HandlerExtra, mayCall, principalOf } from "./caller.ts";
export { type McpOptions } from "./gate.ts";
export { type McpAccess } from "./hosts/web.ts";
export { type McpServer, operationsOf } from "./operations-of.ts";

/** The guard of an MCP server: middleware, a plugin or a function, depending on the host that calls it. */
export type McpGate = ReturnType<typeof createExpressGate> &
  ReturnType<typeof createKoaGate> &
  ReturnType<typeof createHonoGate> &
  ReturnType<typeof createFetchGate> &
  ReturnType<typeof createFastifyGate>;

/**
 * Protects an MCP server (Streamable HTTP): `app.use(protectMcp(server))` in Express, Koa and Hono, and
 * `app.register(protectMcp(server))` in Fastify, in front of body parsers. It first decides by the rule of
 * the path, as `protect` does. Then it reads the body, which must be JSON-RPC, and checks the rule of every
 * operation in it, such as `MCP tools/call search`: all of them run, or none. It reads the body of every
 * request but GET, HEAD, DELETE and OPTIONS, so put it in front of MCP endpoints only:
 * `app.use("/mcp", protectMcp(server))`. It passes on what the official SDK expects: the parsed body and
 * `authInfo`. For the Fetch standard, `await protectMcp(server)(request)` returns both, or the response to
 * send; `withMcp` is shorter. A session belongs to the caller that started it, in this process. It does not
 * check the `Origin` header, the schema of arguments, or what a server sends to its client.
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
  const [express, koa] = [createExpressGate(server, gate), createKoaGate(server, gate)];
  const [hono, fetch] = [createHonoGate(server, gate), createFetchGate(server, gate)];
  const fastify = createFastifyGate(server, gate);
  const gates: Partial<Record<Framework, object>> = { express, koa, hono, fetch, fastify };
  const enter = (...given: readonly unknown[]): unknown => {
    const host = recognize(given);
    const isPlaced = host === "fetch" || given.slice(1).some((one) => typeof one === "function");
    const gate = host && isPlaced ? gates[host] : undefined;
    if (!gate) throw new TypeError(MISPLACED);
    return Reflect.apply(gate as () => unknown, undefined, given);
  };
  // Without this mark, Fastify encapsulates the plugin, which would then guard only its own routes.
  Object.defineProperty(enter, Symbol.for("skip-override"), { value: true });
  return withRole("guard", enter as McpGate);
}

const MISPLACED =
  "protectMcp was called in the wrong place: write app.use(protectMcp(server)) in Express, Koa and Hono, app.register(protectMcp(server)) in Fastify, and withMcp(server, handler) for the Fetch standard.";

/**
 * Puts `protectMcp` in front of a handler of the Fetch standard, and remembers who starts a session. The
 * handler gets `{ authInfo, parsedBody }` as its second argument, as the official SDK expects it, in front of
 * the arguments that the host passes.
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
    return isAccess(access) ? access.respond(await handler(request, access, ...rest)) : access;
  };
}
