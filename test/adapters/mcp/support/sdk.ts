/** What both lines of the official SDK have in common, with loose types. */
import {
  completable as completable2,
  McpServer as McpServer2,
  ResourceTemplate as Template2,
} from "@modelcontextprotocol/server";
import { completable as completable1 } from "@modelcontextprotocol/sdk/server/completable.js";
import {
  McpServer as McpServer1,
  ResourceTemplate as Template1,
} from "@modelcontextprotocol/sdk/server/mcp.js";
import type { McpServer } from "scopegate/mcp";
import { z } from "zod";

/** A line of the official SDK. */
export type Line = 1 | 2;
export const LINES: readonly Line[] = [1, 2];

export type Values = Readonly<Record<string, unknown>>;
type Handler = (...parameters: never[]) => object;
type Completer = (value: string, context?: { readonly arguments?: Values }) => readonly string[];

export interface Registrar extends McpServer {
  readonly server: McpServer & {
    setRequestHandler(...parameters: readonly unknown[]): void;
    oninitialized?: () => void;
    getClientCapabilities(): Readonly<Record<string, object>>;
    listRoots(): Promise<object>;
    elicitInput(params: object): Promise<object>;
  };
  registerTool(name: string, config: object, handler: Handler): unknown;
  registerPrompt(name: string, config: object, handler: Handler): unknown;
  registerResource(name: string, uri: unknown, config: object, handler: Handler): unknown;
  close(): Promise<void>;
}

interface Parts {
  readonly Server: new (info: object, options?: object) => Registrar;
  readonly Template: new (uri: string, callbacks: object) => object;
  readonly completable: (schema: z.ZodType, complete: Completer) => z.ZodType;
}

export const SDK = {
  1: { Server: McpServer1, Template: Template1, completable: completable1 },
  2: { Server: McpServer2, Template: Template2, completable: completable2 },
} as unknown as Readonly<Record<Line, Parts>>;

/** The arguments of a prompt or a tool, as each line takes them. */
export const argumentsFor = (line: Line, shape: Readonly<Record<string, z.ZodType>>): object =>
  line === 1 ? shape : z.object(shape);
