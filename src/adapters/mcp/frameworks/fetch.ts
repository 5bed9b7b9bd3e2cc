import type { ResourceServer } from "../../../core/resource-server.ts";
import { type Access, GrantedAccess, isAccess } from "../../fetch/access.ts";
import { decideAccess } from "../../fetch/decide-access.ts";
import { assertNoSocket } from "../../fetch/no-socket.ts";
import { toResponse } from "../../shared/web-request.ts";
import type { AuthInfo } from "../caller.ts";
import { type Gate, isPassed } from "../gate.ts";
import { checkCall } from "./web-exchange.ts";

/** An allowed request. Pass `{ authInfo, parsedBody }` to the handler of the official SDK. */
export interface McpAccess extends Access {
  /** The caller, in the form of the official SDK; absent if no token was read. */
  readonly authInfo?: AuthInfo;
  /** The parsed body. `undefined` for a request without a body. */
  readonly parsedBody: object | undefined;
  /** The request with a readable body and with `auth`, the same as `authInfo`, for other handlers. */
  readonly request: Request;
  /** Remembers who started a session, and filters lists: returns the response to send for the handler's. */
  readonly respond: (response: Response) => Promise<Response>;
}

/** Creates a guard for requests of the Fetch standard. */
export function createFrameworkGate(server: ResourceServer, gate: Gate) {
  assertNoSocket(server, "protectMcp of scopegate/mcp");
  return async (request: Request): Promise<McpAccess | Response> => {
    const access = await decideAccess(server, request, false);
    if (!isAccess(access)) return access;
    const outcome = await checkCall(gate, request, request);
    if (!isPassed(outcome)) return toResponse(outcome);
    const { verdict, authInfo, body: parsedBody, request: readable, respond } = outcome;
    Object.defineProperty(readable, "auth", { value: authInfo, configurable: true, writable: true });
    const mcpAccess = Object.assign(new GrantedAccess(verdict), { parsedBody, respond, request: readable });
    return authInfo === undefined ? mcpAccess : Object.assign(mcpAccess, { authInfo });
  };
}
