/** MCP servers of the official SDK behind HTTP, with and without sessions. */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport as Node2, toNodeHandler } from "@modelcontextprotocol/node";
import { StreamableHTTPServerTransport as Node1 } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { WebStandardStreamableHTTPServerTransport as Web1 } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  createMcpHandler,
  WebStandardStreamableHTTPServerTransport as Web2,
} from "@modelcontextprotocol/server";
import { type HandlerExtra, type McpServer, principalOf } from "scopegate/mcp";
import { createMcp, type Execution, type Line } from "./tools.ts";

/** What a gate passes on for the Fetch standard. */
export interface Access {
  readonly authInfo?: unknown;
  readonly parsedBody?: unknown;
}

interface NodeTransport {
  handleRequest(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void>;
}
interface WebTransport {
  handleRequest(request: Request, access: Access): Promise<Response>;
}
type Construct<T> = new (options: object) => T;

const NODE = { 1: Node1, 2: Node2 } as unknown as Record<Line, Construct<NodeTransport>>;
const WEB = { 1: Web1, 2: Web2 } as unknown as Record<Line, Construct<WebTransport>>;

export interface Backend {
  readonly executions: readonly Execution[];
  node(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  web(request: Request, access: Access): Promise<Response>;
}

/** Creates an MCP server that adds what it runs to `executions`. */
export type CreateMcp = (line: Line, executions: Execution[]) => McpServer;

const users = new AsyncLocalStorage<string | undefined>();

/** The user of the request that is handled: the SDK does not pass the caller to completions. */
export const currentUser = (): string | undefined => users.getStore();

/** The resources that a request subscribes to with `subscriptions/listen`, which the SDK does not pass on. */
function subscriptionsOf(body: unknown): readonly unknown[] {
  const { method, params } = Object(body) as { method?: unknown; params?: { notifications?: object } };
  const { resourceSubscriptions: uris } = Object(params?.notifications) as Record<string, unknown>;
  return method === "subscriptions/listen" && Array.isArray(uris) ? uris : [];
}

/** A session for each `initialize`; any other request without a session gets a server of its own. */
export function createBackend(line: Line, isJson = true, create: CreateMcp = createMcp): Backend {
  const executions: Execution[] = [];
  const modern = createMcpHandler(() => create(2, executions) as never);
  const modernNode = toNodeHandler(modern);
  /** Only the handler of version 2 speaks this revision. */
  const isModern = (revision: unknown) => line === 2 && revision === "2026-07-28";
  const open = async <T>(Transport: Construct<T>, sessions: Map<string, T>, body: unknown): Promise<T> => {
    const isStart = (body as { readonly method?: unknown } | undefined)?.method === "initialize";
    const transport = new Transport({
      enableJsonResponse: isJson,
      sessionIdGenerator: isStart ? randomUUID : undefined,
      onsessioninitialized: (id: string) => void sessions.set(id, transport),
    });
    await create(line, executions).connect(transport as never);
    return transport;
  };
  const runAs = <T>(authInfo: unknown, body: unknown, handle: () => Promise<T>): Promise<T> => {
    const user = principalOf({ authInfo } as HandlerExtra)?.userId;
    for (const uri of subscriptionsOf(body)) executions.push({ user, call: "listen", values: { uri } });
    return users.run(user, handle);
  };
  const nodes = new Map<string, NodeTransport>();
  const webs = new Map<string, WebTransport>();
  return {
    executions,
    node: (request, response, body) =>
      runAs((request as { readonly auth?: unknown }).auth, body, async () => {
        if (isModern(request.headers["mcp-protocol-version"]))
          return modernNode(request as never, response, body);
        const known = nodes.get(String(request.headers["mcp-session-id"]));
        await (known ?? (await open(NODE[line], nodes, body))).handleRequest(request, response, body);
      }),
    web: (request, access) =>
      runAs(access.authInfo, access.parsedBody, async () => {
        if (isModern(request.headers.get("mcp-protocol-version")))
          return modern.fetch(request, access as never);
        const known = webs.get(request.headers.get("mcp-session-id") ?? "");
        return (known ?? (await open(WEB[line], webs, access.parsedBody))).handleRequest(request, access);
      }),
  };
}
