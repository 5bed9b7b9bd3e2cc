import type { ServerResponse } from "node:http";
import type { ResourceServer } from "../../../core/resource-server.ts";
import { proceed } from "../../koa/context.ts";
import { type KoaContext, protect } from "../../koa/index.ts";
import type { Gate, Passed } from "../gate.ts";
import { checkCall, type NodeMessage } from "./node-exchange.ts";

/** Creates a middleware of Koa: the body is `ctx.request.body`, and the caller `ctx.req.auth`. */
export function createFrameworkGate(server: ResourceServer, gate: Gate) {
  const guard = protect(server);
  return (context: KoaContext & { res: ServerResponse }, next: () => Promise<unknown>): Promise<void> =>
    guard(context, async () => {
      const { req: raw, res: response } = context as typeof context & { readonly req: NodeMessage };
      const request = context.request as { body?: unknown };
      const storeBody = ({ body }: Passed) => body && Object.assign(request, { body });
      const method = context.method.toUpperCase();
      const refusal = checkCall(gate, { raw, response, method, parsed: request.body, storeBody });
      await proceed(context, refusal, next);
    });
}
