/** The same MCP server with each version of the official SDK. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  NodeStreamableHTTPServerTransport as NodeTransport2,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import { Server as Server1 } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport as NodeTransport1 } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport as WebTransport1,
} from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { ErrorCode, McpError, ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  fromJsonSchema,
  McpServer as McpServer2,
  ResourceNotFoundError,
  type ServerContext,
  type ServerNotifier,
  WebStandardStreamableHTTPServerTransport as WebTransport2,
} from "@modelcontextprotocol/server";
import { type Call, type Json, METHODS, STATES, TOOLS } from "./operations.ts";

/** What the gate passes on for the Fetch standard. */
interface Access {
  readonly authInfo?: never;
  readonly parsedBody?: unknown;
}

/** An MCP server behind HTTP. */
export interface Endpoint {
  node(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  web(request: Request, access: Access): Promise<Response>;
}

const INFO = { name: "conformance", version: "1.0.0" };
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

function createServer1() {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- McpServer takes no JSON Schemas
  const server = new Server1(INFO, { capabilities: CAPABILITIES });
  server.fallbackRequestHandler = async ({ method, params = {} }, extra) => {
    const call: Call = {
      progressToken: extra._meta?.progressToken,
      capabilities: {},
      inputResponses: {},
      requestState: undefined,
      notify: (notification, values) => extra.sendNotification({ method: notification, params: values }),
      log: (data) =>
        extra.sendNotification({ method: "notifications/message", params: { level: "info", data } }),
      ask: (request, values) => extra.sendRequest({ method: request, params: values }, ResultSchema),
      closeStream: () => extra.closeSSEStream?.(),
      publishChange: () => undefined,
    };
    const handle = METHODS.get(method);
    if (!handle) throw new McpError(ErrorCode.MethodNotFound, "Method not found");
    const result = await handle(params, call);
    if (!result) throw new McpError(ErrorCode.InvalidParams, "Not found");
    return result;
  };
  return server;
}

function createServer2(notifier: ServerNotifier): McpServer2 {
  const verify = (state: string): void => {
    if (!STATES.includes(state)) throw new Error("This server did not issue the state.");
  };
  const mcp = new McpServer2(INFO, { capabilities: CAPABILITIES, requestState: { verify } });
  const callOf = ({ mcpReq, http }: ServerContext): Call => ({
    progressToken: mcpReq._meta?.progressToken,
    capabilities: Object((mcpReq.envelope as Json | undefined)?.[CLIENT_CAPABILITIES_META_KEY]) as Json,
    inputResponses: mcpReq.inputResponses ?? {},
    requestState: mcpReq.requestState(),
    notify: (method, params) => mcpReq.notify({ method, params }),
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the suites test it
    log: (data) => mcpReq.log("info", data),
    ask: (method, params) => mcpReq.send({ method, params } as never),
    closeStream: () => http?.closeSSE?.(),
    publishChange: (list) => {
      if (list === "tools") notifier.toolsChanged();
      else notifier.promptsChanged();
    },
  });
  // The SDK compares the headers `Mcp-Param-*` only for tools that are registered.
  for (const [name, { inputSchema, run }] of Object.entries(TOOLS))
    mcp.registerTool(
      name,
      { description: name, inputSchema: fromJsonSchema<Json>(inputSchema) },
      (args, context) => run(args, callOf(context)) as never,
    );
  for (const [method, handle] of METHODS)
    if (!method.startsWith("tools/"))
      mcp.server.setRequestHandler(method as "prompts/get", async ({ params }, context) => {
        const result = await handle(params, callOf(context));
        if (!result) throw new ResourceNotFoundError(String((params as Json)["uri"]));
        return result as never;
      });
  return mcp;
}

/** Keeps the events of one session, so that a client can resume a stream. */
function createEventStore(): EventStore {
  const events: { readonly streamId: string; readonly message: object }[] = [];
  return {
    storeEvent: (streamId, message) => Promise.resolve(String(events.push({ streamId, message }) - 1)),
    replayEventsAfter: async (lastEventId, { send }) => {
      const streamId = events[Number(lastEventId)]?.streamId ?? "";
      for (const [index, event] of events.entries())
        if (index > Number(lastEventId) && event.streamId === streamId)
          await send(String(index), event.message as never);
      return streamId;
    },
  };
}

type Connect = (transport: never) => Promise<void>;

/** Returns a function that finds the transport of a session, and opens one for a request without a session. */
function createSessions<T extends object>(Transport: new (options: object) => T, connect: Connect) {
  const sessions = new Map<string, T>();
  return async (id: string | null | undefined): Promise<T | undefined> => {
    if (typeof id === "string") return sessions.get(id);
    const transport = new Transport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (started: string) => void sessions.set(started, transport),
      onsessionclosed: (ended: string) => void sessions.delete(ended),
      eventStore: createEventStore(),
      retryInterval: 10,
    });
    await connect(transport as never);
    return transport;
  };
}

/** Serves revisions before 2026-07-28, with sessions. */
function createSessionEndpoint(
  NodeTransport: typeof NodeTransport1 | typeof NodeTransport2,
  WebTransport: typeof WebTransport1 | typeof WebTransport2,
  connect: Connect,
): Endpoint {
  const findNode = createSessions(NodeTransport as typeof NodeTransport1, connect);
  const findWeb = createSessions(WebTransport as typeof WebTransport1, connect);
  return {
    async node(request, response, body) {
      const transport = await findNode(request.headers["mcp-session-id"] as string | undefined);
      if (transport) await transport.handleRequest(request, response, body);
      else response.writeHead(404).end();
    },
    async web(request, access) {
      const transport = await findWeb(request.headers.get("mcp-session-id"));
      return transport ? transport.handleRequest(request, access) : new Response(null, { status: 404 });
    },
  };
}

export const createEndpoint1 = (): Endpoint =>
  createSessionEndpoint(NodeTransport1, WebTransport1, (transport) => createServer1().connect(transport));

/** Serves revision 2026-07-28 without sessions, and earlier revisions with sessions. */
export function createEndpoint2(): Endpoint {
  const handler = createMcpHandler(() => createServer2(handler.notify));
  const node = toNodeHandler(handler);
  const legacy = createSessionEndpoint(NodeTransport2, WebTransport2, (transport) =>
    createServer2(handler.notify).connect(transport),
  );
  const isLegacy = (revision: string | null = null): boolean => revision?.startsWith("2025-") ?? true;
  return {
    node: (request, response, body) =>
      isLegacy(request.headers["mcp-protocol-version"] as string | undefined)
        ? legacy.node(request, response, body)
        : node(request as never, response, body),
    web: (request, access) =>
      isLegacy(request.headers.get("mcp-protocol-version"))
        ? legacy.web(request, access)
        : handler.fetch(request, access),
  };
}
