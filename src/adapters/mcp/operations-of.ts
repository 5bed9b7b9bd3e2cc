import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { fillName, parseTemplate } from "../../core/policy/name-pattern.ts";
import { type Operation, renderOperation } from "../../core/policy/operation-key.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { compact } from "../../core/runtime/compact.ts";
import { entriesOf, type Json, type List, LISTS, operationOf } from "./lists.ts";
import type { Ask, McpServer } from "./memory-client.ts";

/** Of `McpServer` in version 2: returns what the `scopeChallenge` of a tool, prompt or resource asks for. */
interface Challenging extends McpServer {
  resolveScopeChallenge?: (context: object) => unknown;
}

type Schema = Readonly<{ type?: string | readonly string[] }>;
type Facts = Omit<ListedRoute, "method" | "pattern">;

/** The property of `_meta` in which a tool, prompt or resource declares its scopes. */
const SCOPES = "scopegate/scopes";

/**
 * Lists the operations of an MCP server for `audit`: its tools, prompts, resources and templates, and the
 * other methods that clients can call. It sends requests to the server as a client does, so the server must
 * not be connected: pass a new one. Tools and prompts are listed with the names and types of their
 * arguments, so that the audit finds a scope with the name of another argument. Scopes that the code declares
 * are listed as `scopes`, and the audit compares them with the table: with version 2 of the SDK those of
 * `scopeChallenge: requireScopes(...)`, with both versions those of `_meta: { "scopegate/scopes": [...] }`.
 * Add what the server registers later yourself: `{ method: "MCP", pattern: "tools/call export_*" }`.
 * @throws Error if the server is already connected, or doesn't respond
 * @example
 * ```ts
 * import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
 * import { createResourceServer } from "scopegate";
 * import { audit } from "scopegate/audit";
 * import { operationsOf } from "scopegate/mcp";
 *
 * const scopeMappings = { "MCP tools/list": [], "MCP tools/call search": ["docs:read"] };
 * const server = createResourceServer({ serviceId: "docs", scopeMappings, verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * audit(server, await operationsOf(new McpServer({ name: "docs", version: "1.0.0" }))).orThrow();
 * ```
 */
export async function operationsOf(mcpServer: McpServer): Promise<readonly ListedRoute[]> {
  const operations = new Map<string, Facts>();
  // Services that only check requests don't load it.
  const { withClient } = await import("./memory-client.ts");
  await withClient(mcpServer, async (ask, capabilities) => {
    const add = (...texts: readonly string[]) => texts.forEach((text) => operations.set(text, {}));
    for (const list of LISTS) {
      if (!capabilities[list.method.replace(/\/.*/, "")]) continue;
      add(list.method);
      for (const entry of await readList(ask, list)) {
        const operation = operationOf(entry, list);
        const scopes = scopesAt(entry["_meta"], SCOPES) ?? (await challengedScopes(mcpServer, operation));
        operations.set(renderOperation(operation), compact({ ...argumentsOf(entry), scopes }));
      }
    }
    add(...methodsOf(capabilities, "resolveScopeChallenge" in mcpServer));
  });
  return [...operations].map(([pattern, facts]) => ({ method: OPERATION_METHOD, pattern, ...facts }));
}

/**
 * Returns the table that the code of an MCP server declares: the scopes of its tools, prompts, resources and
 * templates, as `operationsOf` lists them, and `[]` for the methods without a name. An operation that
 * declares none, or scopes that depend on the call, isn't in the table, so calls of it are refused.
 * @throws Error if the server is already connected, or doesn't respond
 * @example
 * ```ts
 * import { McpServer, requireScopes } from "@modelcontextprotocol/server";
 * import { createResourceServer } from "scopegate";
 * import { scopesOf } from "scopegate/mcp";
 *
 * const mcp = new McpServer({ name: "docs", version: "1.0.0" });
 * mcp.registerTool("search", { description: "Searches", scopeChallenge: requireScopes("docs:read") }, () => ({ content: [] }));
 * const scopeMappings = { "* /mcp": [], ...(await scopesOf(mcp)) };
 * createResourceServer({ serviceId: "docs", scopeMappings, verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * ```
 */
export async function scopesOf(mcpServer: McpServer): Promise<Readonly<Record<string, readonly string[]>>> {
  const entries = (await operationsOf(mcpServer)).flatMap(({ method, pattern, scopes }) => {
    const isNamed = pattern.includes(" ");
    // As a key, such a name would be a pattern for other names.
    if (isNamed && pattern.endsWith("*")) return [];
    const declared = scopes ?? (isNamed ? undefined : []);
    return declared && declared !== "unknown" ? [[`${method} ${pattern}`, declared] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Returns the other methods that clients can call. `isVersion2` is about the SDK. */
function methodsOf({ logging, tasks, extensions, ...lists }: Json, isVersion2: boolean): readonly string[] {
  const { list, cancel } = Object(tasks) as Json;
  const hasTaskExtension = "io.modelcontextprotocol/tasks" in (Object(extensions) as Json);
  const canChange = ["tools", "prompts", "resources"].some((name) => {
    const { listChanged, subscribe } = Object(lists[name]) as Json;
    return listChanged === true || subscribe === true;
  });
  const methods = {
    "logging/setLevel": logging !== undefined,
    "subscriptions/listen": isVersion2 && canChange,
    "tasks/get": tasks !== undefined || hasTaskExtension,
    "tasks/result": tasks !== undefined,
    "tasks/list": list !== undefined,
    "tasks/update": hasTaskExtension,
    "tasks/cancel": cancel !== undefined || hasTaskExtension,
  };
  return Object.entries(methods).flatMap(([method, isOffered]) => (isOffered ? [method] : []));
}

function scopesAt(value: unknown, name: string): readonly string[] | undefined {
  const scopes = (Object(value) as Json)[name];
  return Array.isArray(scopes) ? scopes.map(String) : undefined;
}

/** Returns the scopes that the SDK would ask a caller without scopes for. */
async function challengedScopes(
  mcpServer: Challenging,
  { method, name }: Pick<Operation, "method" | "name">,
): Promise<Facts["scopes"]> {
  if (typeof mcpServer.resolveScopeChallenge !== "function") return undefined;
  const called = method === "resources/read" ? { uri: sampleOf(name ?? "") } : { name };
  // Reading anything from a revoked proxy throws, so it's noticed if the scopes depend on the arguments.
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const request = { method, params: { ...called, arguments: proxy } };
  const authInfo = { token: "", clientId: "", scopes: [] };
  try {
    return scopesAt(await mcpServer.resolveScopeChallenge({ request, authInfo }), "scopes");
  } catch {
    // The function has read arguments. Or it needs a real caller, and then its scopes aren't known either.
    return "unknown";
  }
}

/** Returns a URI that a template matches. */
function sampleOf(uri: string): string {
  const pattern = parseTemplate(uri);
  return "message" in pattern ? uri : fillName(pattern, () => "x");
}

/** Returns the arguments of a prompt or tool, unless the tool doesn't list them or accepts others too. */
function argumentsOf({ inputSchema, arguments: list }: Json): Facts {
  if (Array.isArray(list)) return { parameters: list.map((argument: Json) => String(argument["name"])) };
  const { properties, additionalProperties } = Object(inputSchema) as Json;
  if (typeof properties !== "object" || properties === null || additionalProperties) return {};
  const types = Object.entries<Schema>({ ...properties }).map(([name, { type }]) => [name, type] as const);
  return { parameters: Object.keys(properties), parameterTypes: Object.fromEntries(types) };
}

/** Reads the entries of the pages of a list from `cursor` on. */
async function readList(ask: Ask, list: List, cursor?: unknown): Promise<readonly Json[]> {
  const page = await ask(list.method, cursor === undefined ? {} : { cursor });
  const entries = entriesOf(page, list);
  const { nextCursor } = page;
  return nextCursor === undefined ? entries : [...entries, ...(await readList(ask, list, nextCursor))];
}
