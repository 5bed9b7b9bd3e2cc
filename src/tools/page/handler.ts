/** One route handler for every host. It recognizes the host by the arguments of the call. */
import type { Verdict } from "../../core/pipeline.ts";
import type { ResourceServer } from "../../core/server.ts";
import type { Answer } from "../../core/response/refusal.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type FastifyReply, send as sendReply } from "../../adapters/fastify/reply.ts";
import { verdictOf } from "../../adapters/shared/guard.ts";
import { type HonoContext, sendAnswer as answerHono } from "../../adapters/hono/context.ts";
import { type KoaContext, sendAnswer as answerKoa } from "../../adapters/koa/context.ts";
import { type Framework, recognize } from "../../adapters/shared/misuse.ts";
import type { NodeRequest } from "../../adapters/shared/node-request.ts";
import { type NodeResponse, send } from "../../adapters/shared/node-response.ts";
import { toResponse, type WebRequest } from "../../adapters/shared/web-request.ts";

type FastifyRequest = Readonly<Record<"raw" | "routeOptions", object>>;

/** The handler of a route, for Express and Node.js, Koa, Fastify, Hono and the Fetch standard. */
export type RouteHandler = ((request: NodeRequest, response: NodeResponse) => void) &
  ((context: KoaContext, next: () => Promise<unknown>) => unknown) &
  ((request: FastifyRequest, reply: FastifyReply) => void) &
  ((context: HonoContext, next: () => Promise<void>) => Response) &
  ((request: WebRequest, ...rest: readonly unknown[]) => Response);

/** `never`, because each host passes other arguments. `recognize` finds the host by them. */
type HostHandler = (first: never, second: never, third: never) => unknown;

/** Creates a handler. It throws if `protect` has not allowed the request. `name` is shown in errors. */
export function createHandler(
  server: ResourceServer,
  name: string,
  respond: (verdict: Verdict) => Pending<Answer>,
): RouteHandler {
  const respondTo = (raw: object): Pending<Answer> => {
    const verdict = verdictOf(raw, server);
    if (verdict?.isAllowed) return respond(verdict);
    throw new Error(`${name} needs protect(server) in front of it, with the same server.`);
  };
  const answerNode = async (
    request: NodeRequest,
    response: NodeResponse,
    next?: (error: unknown) => void,
  ) => {
    try {
      send(response, await respondTo(request));
    } catch (error) {
      // Express 4 does not catch the rejections of handlers.
      if (!next) throw error;
      next(error);
    }
  };
  const hosts: Partial<Record<Framework, HostHandler>> = {
    express: answerNode,
    node: answerNode,
    koa: async (context: KoaContext) => answerKoa(context, await respondTo(context.req)),
    fastify: async (request: FastifyRequest, reply: FastifyReply) => {
      sendReply(reply, await respondTo(request.raw));
      return reply;
    },
    hono: async (context: HonoContext) => answerHono(context, await respondTo(context)),
    fetch: async (request: WebRequest) => toResponse(await respondTo(request)),
  };
  const handle: HostHandler = (first, second, third) => {
    const host = hosts[recognize([first]) ?? "node"] ?? answerNode;
    return host(first, second, third);
  };
  return handle as unknown as RouteHandler;
}
