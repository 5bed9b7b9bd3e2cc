import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { renderOperation } from "../../core/policy/operation-key.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { compact } from "../../core/runtime/compact.ts";
import { entriesOf, type Json, type List, LISTS, operationOf } from "./lists.ts";

/** A server of the official SDK, version 1 or 2: `McpServer`, or the `Server` in it. */
export interface McpServer {
  /** Connects it to a transport. */
  connect(transport: never): Promise<void>;
}

/**
 * Lists the operations of an MCP server for `audit`: its tools, prompts and resources, and the methods
 * that list them. It sends requests to the server as a client does, so the server must not be connected: pass
 * a new one. Resource templates are listed as `resources/read *`. Tools and prompts are listed with the names
 * of their arguments, so that the audit finds a scope with the name of another argument.
 * @throws Error if the server is connected already, or does not answer
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
  const operations = new Map<string, readonly string[] | undefined>();
  await withClient(mcpServer, async (ask, capabilities) => {
    const add = (...texts: readonly string[]) => texts.forEach((text) => operations.set(text, undefined));
    for (const list of LISTS) {
      if (!capabilities[list.method.replace(/\/.*/, "")]) continue;
      add(list.method);
      for (const entry of await readList(ask, list))
        operations.set(renderOperation(operationOf(entry, list)), argumentsOf(entry));
    }
    if (capabilities["logging"]) add("logging/setLevel");
  });
  return [...operations].map(([pattern, parameters]) =>
    compact({ method: OPERATION_METHOD, pattern, parameters }),
  );
}

/** Returns the names of the arguments of a tool or prompt, if it describes them and takes no others. */
function argumentsOf({ inputSchema, arguments: list }: Json): readonly string[] | undefined {
  if (Array.isArray(list)) return list.map((argument: Json) => String(argument["name"]));
  const { properties, additionalProperties } = Object(inputSchema) as Json;
  if (typeof properties !== "object" || properties === null || additionalProperties) return undefined;
  return Object.keys(properties);
}

/** Reads the entries of the pages of a list from `cursor` on. */
async function readList(ask: Ask, list: List, cursor?: unknown): Promise<readonly Json[]> {
  const page = await ask(list.method, cursor === undefined ? {} : { cursor });
  const entries = entriesOf(page, list);
  const { nextCursor } = page;
  return nextCursor === undefined ? entries : [...entries, ...(await readList(ask, list, nextCursor))];
}

/** Sends a request, and returns its result. */
type Ask = (method: string, params?: object) => Promise<Json>;
type Answer = Readonly<{ id?: unknown; result?: Json }>;

/** Connects to a server, runs `use`, and disconnects, so that the server can be connected again. */
async function withClient(server: McpServer, use: (ask: Ask, capabilities: Json) => Promise<void>) {
  if (typeof (Object(server) as Partial<McpServer>).connect !== "function")
    throw new TypeError("operationsOf takes an MCP server: write await operationsOf(createMcpServer()).");
  const waiting: ((answer: Answer) => void)[] = [];
  // What both versions of the SDK accept as a transport; they set its `onmessage` and `onclose`.
  const transport = {
    onmessage: undefined as ((message: object) => void) | undefined,
    onclose: undefined as (() => void) | undefined,
    start: () => Promise.resolve(),
    send: (message: Answer) => Promise.resolve(waiting[Number(message.id)]?.(message)),
    close: () => Promise.resolve(transport.onclose?.()),
  };
  const deliver = (message: object): void => transport.onmessage?.({ jsonrpc: "2.0", ...message });
  const ask: Ask = async (method, params = {}) => {
    const { result } = await new Promise<Answer>((resolve) => {
      deliver({ id: waiting.push(resolve) - 1, method, params });
    });
    if (result) return result;
    throw new Error(`The MCP server refused ${method}.`);
  };
  await server.connect(transport as never);
  try {
    const clientInfo = { name: "scopegate", version: "0" };
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const { capabilities } = await ask("initialize", hello);
    deliver({ method: "notifications/initialized" });
    await use(ask, Object(capabilities) as Json);
  } finally {
    await transport.close();
  }
}
