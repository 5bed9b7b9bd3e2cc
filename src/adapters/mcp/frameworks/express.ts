import type { ServerResponse } from "node:http";
import type { HttpResponse } from "../../../core/response/refusal.ts";
import { andThen } from "../../../core/runtime/and-then.ts";
import type { ResourceServer } from "../../../core/server.ts";
import { protect } from "../../express/index.ts";
import { type ExpressRequest, readMethod } from "../../express/request.ts";
import { checkFirst } from "../../shared/check-first.ts";
import { send } from "../../shared/node-response.ts";
import type { Gate, Passed } from "../gate.ts";
import { exchangeOf, type NodeMessage, passOn } from "./node-exchange.ts";

/** Express's request; `_body` keeps the parsers of body-parser 1 from reading again. */
type ExpressMessage = NodeMessage & ExpressRequest & { body?: unknown; _body?: boolean };

/** Creates a middleware of Express: the body is `req.body`, and the caller `req.auth`. */
export function createFrameworkGate(server: ResourceServer, gate: Gate) {
  const guard = protect(server);
  return (request: ExpressMessage, response: ServerResponse, next: (fault?: unknown) => void): void => {
    const use = ({ body }: Passed) => body && Object.assign(request, { body, _body: true });
    const finish = (outcome: Passed | HttpResponse) => passOn(outcome, { raw: request, response, use });
    const check = () => andThen(gate(exchangeOf(request, readMethod(request), request.body)), finish);
    const refuse = (refusal: HttpResponse) => send(response, refusal);
    guard(request, response, (error) =>
      error === undefined ? checkFirst(check, { refuse, next }) : next(error),
    );
  };
}
