/** What the servers of MCP share: the tools, and the guards that are compared. */
import express, { type RequestHandler } from "express";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { mcpOperations, protectMcp } from "scopegate/mcp";
import { createFloor } from "./floor.ts";
import type { Question } from "./route.ts";
import { serve } from "./serve.ts";

/** The table of scopegate. */
const TABLE: ScopeMappings = { "* /mcp": [], "MCP tools/call run_agent": ["agents:<agent_id>:read"] };

/** The scope of each tool, and those of the caller, which the floor doesn't read from the token. */
const SCOPE_BY_TOOL = new Map([["run_agent", "agents:read"]]);
const GRANTED = new Set(["agents:read"]);

interface Call {
  readonly method: string;
  readonly params: { readonly name: string };
}

const isAllowed = ({ method, params }: Call): boolean =>
  method === "tools/call" && GRANTED.has(SCOPE_BY_TOOL.get(params.name) ?? "");

/** Serves the variants of a server, whose `handle` answers a call with the parsed body in `req.body`. */
export async function serveTools(handle: RequestHandler, question: Question): Promise<void> {
  const create = (...guards: readonly RequestHandler[]) =>
    express().post("/mcp", ...guards, handle) as unknown as Awaited<
      ReturnType<Parameters<typeof serve>[0][string]>
    >;
  await serve(
    {
      "no auth": () => create(express.json()),
      floor: ({ publicKey }) => {
        const isKnown = createFloor(publicKey);
        const checkToken: RequestHandler = (req, res, next) => {
          if (isKnown(req.headers.authorization)) next();
          else res.sendStatus(401);
        };
        const checkTool: RequestHandler = (req, res, next) => {
          if (isAllowed(req.body as Call)) next();
          else res.sendStatus(403);
        };
        return create(checkToken, express.json(), checkTool);
      },
      scopegate: ({ publicKey, issuer, audience }) => {
        const server = createResourceServer({
          serviceId: audience,
          issuer,
          verificationKeys: [publicKey],
          scopeMappings: TABLE,
          mcp: mcpOperations(),
        });
        return create(protectMcp(server) as RequestHandler);
      },
    },
    question,
  );
}
