/** Lists the operations of an MCP server in the same process. */
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { fillName, parseTemplate } from "../../capabilities/mcp-operations/name-pattern.ts";
import { type Operation, renderOperation } from "../../capabilities/mcp-operations/operation-key.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Json } from "../../core/runtime/json.ts";
import { entriesOf, type List, LISTS, operationOf } from "./lists.ts";
import { type Ask, type McpServer, withClient } from "./memory-client.ts";

/** Of `McpServer` in version 2: returns what the `scopeChallenge` of a tool, prompt or resource asks for. */
interface Challenging extends McpServer {
  resolveScopeChallenge?: (context: object) => unknown;
}

type Schema = Readonly<{ type?: string | readonly string[] }>;
type Facts = Omit<ListedRoute, "method" | "pattern">;

/** The property of `_meta` in which a tool, prompt or resource declares its scopes. */
const SCOPES = "scopegate/scopes";

/** Sends requests to the server as a client does, and lists what it offers. */
export async function listOperations(mcpServer: McpServer): Promise<readonly ListedRoute[]> {
  const operations = new Map<string, Facts>();
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
