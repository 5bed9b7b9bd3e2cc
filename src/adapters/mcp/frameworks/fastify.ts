import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ResourceServer } from "../../../core/resource-server.ts";
import { type FastifyInstance, protect } from "../../fastify/index.ts";
import { type FastifyReply, send } from "../../fastify/reply.ts";
import { checkFirst } from "../../shared/check-first.ts";
import type { Gate, Passed } from "../gate.ts";
import { checkCall, type NodeMessage } from "./node-exchange.ts";

type Done = (fault?: Error | null, body?: Readable) => void;
type Hook = (
  request: { readonly raw: NodeMessage; readonly method: string },
  reply: FastifyReply & { readonly raw: ServerResponse },
  body: Readable,
  done: Done,
) => void;
type Instance = FastifyInstance & { addHook(name: "preParsing", hook: Hook): unknown };

/** Creates a plugin of Fastify: the body is `request.body`, and the caller `request.raw.auth`. */
export function createFrameworkGate(server: ResourceServer, gate: Gate) {
  const plugin = protect(server);
  const hook: Hook = ({ raw, method }, reply, payload, done) => {
    let body = payload;
    const storeBody = ({ bytes }: Passed): void => {
      // Fastify's own parser reads the body that was checked, and compares its length with `Content-Length`.
      if (bytes) body = Object.assign(Readable.from([bytes]), { receivedEncodedLength: bytes.length });
    };
    checkFirst(() => checkCall(gate, { raw, response: reply.raw, method, storeBody }), {
      refuse: (refusal) => send(reply, refusal),
      next: (error) => done(error ?? null, body),
    });
  };
  // Also returns a promise: the function that calls this one declares no third parameter, so Fastify doesn't
  // wait for its callback.
  return (instance: Instance, options: object, done: (fault?: Error) => void): Promise<void> =>
    new Promise((resolve) => {
      plugin(instance, options, (fault) => {
        instance.addHook("preParsing", hook);
        done(fault);
        resolve();
      });
    });
}
