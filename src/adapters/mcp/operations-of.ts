import type { ListedRoute } from "../../core/policy/listed-route.ts";
import type { McpServer } from "./memory-client.ts";

/**
 * Lists the operations of an MCP server for `audit`: its tools, prompts, resources and templates, and the
 * other methods that clients can call. It sends requests to the server as a client does, so the server must
 * not be connected: pass a new one. Tools and prompts are listed with the names and types of their
 * arguments, so that the audit finds a scope with the name of another argument. Scopes that the code declares
 * are listed as `scopes`, and the audit compares them with the table: with version 2 of the SDK those of
 * `scopeChallenge: requireScopes(...)`, with both versions those of `_meta: { "scopegate/scopes": [...] }`.
 * Add what the server registers later yourself: `{ method: "MCP", pattern: "tools/call export_*" }`.
 *
 * @param path the path of this server, as in `paths` of `mcpOperations`, if there are several servers
 * @throws Error if the server is already connected, or doesn't respond
 * @example
 * ```ts
 * import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
 * import { createResourceServer } from "scopegate";
 * import { audit } from "scopegate/audit";
 * import { mcpOperations, operationsOf } from "scopegate/mcp";
 *
 * const scopeMappings = { "MCP tools/list": [], "MCP tools/call search": ["docs:read"] };
 * const server = createResourceServer({ serviceId: "docs", scopeMappings, mcp: mcpOperations(), verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * audit(server, await operationsOf(new McpServer({ name: "docs", version: "1.0.0" }))).orThrow();
 * ```
 */
export async function operationsOf(mcpServer: McpServer, path?: string): Promise<readonly ListedRoute[]> {
  // Services that only check requests don't load it.
  const { listOperations } = await import("./list-operations.ts");
  return (await listOperations(mcpServer)).map((operation) => ({
    ...operation,
    pattern: at(path, operation.pattern),
  }));
}

const at = (path: string | undefined, operation: string): string =>
  path === undefined ? operation : `${path} ${operation}`;

/**
 * Returns the table that the code of an MCP server declares: the scopes of its tools, prompts, resources and
 * templates, as `operationsOf` lists them, and `[]` for the methods without a name. An operation that
 * declares none, or scopes that depend on the call, isn't in the table, so calls of it are refused.
 *
 * @param path the path of this server, as in `paths` of `mcpOperations`: the keys are for it only
 * @throws Error if the server is already connected, or doesn't respond
 * @example
 * ```ts
 * import { McpServer, requireScopes } from "@modelcontextprotocol/server";
 * import { createResourceServer } from "scopegate";
 * import { mcpOperations, scopesOf } from "scopegate/mcp";
 *
 * const mcp = new McpServer({ name: "docs", version: "1.0.0" });
 * mcp.registerTool("search", { description: "Searches", scopeChallenge: requireScopes("docs:read") }, () => ({ content: [] }));
 * const scopeMappings = { "* /mcp": [], ...(await scopesOf(mcp)) };
 * createResourceServer({ serviceId: "docs", scopeMappings, mcp: mcpOperations(), verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * ```
 */
export async function scopesOf(
  mcpServer: McpServer,
  path?: string,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const entries = (await operationsOf(mcpServer)).flatMap(({ method, pattern, scopes }) => {
    const isNamed = pattern.includes(" ");
    // As a key, such a name would be a pattern for other names.
    if (isNamed && pattern.endsWith("*")) return [];
    const declared = scopes ?? (isNamed ? undefined : []);
    return declared && declared !== "unknown" ? [[`${method} ${at(path, pattern)}`, declared] as const] : [];
  });
  return Object.fromEntries(entries);
}
