/** A client that asks an MCP server in the same process what it offers. */
import type { Json } from "../../core/runtime/json.ts";

/** A server of the official SDK, version 1 or 2: `McpServer`, or the `Server` in it. */
export interface McpServer {
  /** Connects it to a transport. */
  connect(transport: never): Promise<void>;
}

/** Sends a request, and returns its result. */
export type Ask = (method: string, params?: object) => Promise<Json>;
type ServerMessage = Readonly<{ id?: unknown; method?: string; result?: Json }>;

/** What the client declares: everything, because some servers hide tools from clients that can do less. */
const CAPABILITIES = {
  roots: { listChanged: true },
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};

/** Connects to a server, runs `use`, and disconnects, so that the server can be connected again. */
export async function withClient(server: McpServer, use: (ask: Ask, capabilities: Json) => Promise<void>) {
  if (typeof (Object(server) as Partial<McpServer>).connect !== "function")
    throw new TypeError("operationsOf takes an MCP server: write await operationsOf(createMcpServer()).");
  const waiting: ((message: ServerMessage) => void)[] = [];
  // Both versions of the SDK accept this object as a transport, and set its `onmessage` and `onclose`.
  const transport = {
    onmessage: undefined as ((message: object) => void) | undefined,
    onclose: undefined as (() => void) | undefined,
    start: () => Promise.resolve(),
    send: ({ id, method, ...message }: ServerMessage) => {
      if (method === undefined) waiting[Number(id)]?.(message);
      // A server may ask for `roots/list` or `elicitation/create` when a client connects.
      else if (id !== undefined) deliver({ id, result: { roots: [], action: "cancel" } });
      return Promise.resolve();
    },
    close: () => Promise.resolve(transport.onclose?.()),
  };
  const deliver = (message: object): void => transport.onmessage?.({ jsonrpc: "2.0", ...message });
  const ask: Ask = async (method, params = {}) => {
    const { result } = await new Promise<ServerMessage>((resolve) => {
      deliver({ id: waiting.push(resolve) - 1, method, params });
    });
    if (result) return result;
    throw new Error(`The MCP server refused ${method}.`);
  };
  await server.connect(transport as never);
  try {
    const clientInfo = { name: "scopegate", version: "0" };
    const hello = { protocolVersion: "2025-11-25", capabilities: CAPABILITIES, clientInfo };
    const { capabilities } = await ask("initialize", hello);
    deliver({ method: "notifications/initialized" });
    await use(ask, Object(capabilities) as Json);
  } finally {
    await transport.close();
  }
}
