import type { ServerResponse } from "node:http";
import type { HttpResponse } from "../../../core/response/refusal.ts";
import type { ResourceServer } from "../../../core/resource-server.ts";
import { protect } from "../../express/index.ts";
import { type ExpressRequest, readMethod } from "../../express/request.ts";
import { checkFirst } from "../../shared/check-first.ts";
import { send } from "../../shared/node-response.ts";
import type { Gate, Passed } from "../gate.ts";
import { checkCall, type NodeMessage } from "./node-exchange.ts";

/** Express's request; `_body` keeps the parsers of body-parser 1 from reading again. */
type ExpressMessage = NodeMessage & ExpressRequest & { body?: unknown; _body?: boolean };

/** Creates a middleware of Express: the body is `req.body`, and the caller `req.auth`. */
export function createFrameworkGate(server: ResourceServer, gate: Gate) {
  const guard = protect(server);
  return (raw: ExpressMessage, response: ServerResponse, next: (fault?: unknown) => void): void => {
    const storeBody = ({ body }: Passed): void => {
      if (!body) return;
      raw.body = body;
      raw._body = true;
    };
    const check = () =>
      checkCall(gate, { raw, response, method: readMethod(raw), parsed: raw.body, storeBody });
    const refuse = (refusal: HttpResponse) => send(response, refusal);
    guard(raw, response, (error) =>
      error === undefined ? checkFirst(check, { refuse, next }) : next(error),
    );
  };
}
