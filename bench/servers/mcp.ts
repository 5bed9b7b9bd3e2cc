/** A server of MCP that is written by hand, over Express. The floor checks the token, and the tool's scope. */
import express, { type RequestHandler } from "express";
import { createResourceServer } from "scopegate";
import { mcpOperations, protectMcp } from "scopegate/mcp";
import { createFloor } from "./floor.ts";
import { CALL_TOOL } from "./route.ts";
import { type Issuer, serve } from "./serve.ts";
import { createToolCheck, MCP_TABLE } from "./tools.ts";

interface Call {
  readonly id: number;
  readonly params: { readonly name: string };
}

function create(...guards: readonly RequestHandler[]): RequestHandler {
  const app = express();
  app.post("/mcp", ...guards, (req, res) => {
    const { id } = req.body as Call;
    res.json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "idle" }] } });
  });
  return app;
}

const createServer = ({ publicKey, issuer, audience }: Issuer) =>
  createResourceServer({
    serviceId: audience,
    issuer,
    verificationKeys: [publicKey],
    scopeMappings: MCP_TABLE,
    mcp: mcpOperations(),
  });

await serve(
  {
    "no auth": () => create(express.json()) as never,
    floor: ({ publicKey }) => {
      const isKnown = createFloor(publicKey);
      const isAllowed = createToolCheck();
      const checkToken: RequestHandler = (req, res, next) => {
        if (isKnown(req.headers.authorization)) next();
        else res.sendStatus(401);
      };
      const checkTool: RequestHandler = (req, res, next) => {
        if (isAllowed(req.body)) next();
        else res.sendStatus(403);
      };
      return create(checkToken, express.json(), checkTool) as never;
    },
    scopegate: (issuer) => create(protectMcp(createServer(issuer)) as RequestHandler) as never,
  },
  CALL_TOOL,
);
