/** One route handler for every host. It recognizes the host by the arguments of the call. */
import type { Verdict } from "../../core/pipeline.ts";
import type { ResourceServer } from "../../core/server.ts";
import type { Answer } from "../../core/response/refusal.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type FastifyReply, send as sendReply } from "../../adapters/fastify/reply.ts";
import { verdictOf } from "../../adapters/shared/guard.ts";
import { type HonoContext, proceed as answerHono } from "../../adapters/hono/context.ts";
import { type KoaContext, proceed as answerKoa } from "../../adapters/koa/context.ts";
import { recognize } from "../../adapters/shared/misuse.ts";
import type { NodeRequest } from "../../adapters/shared/node-request.ts";
import { type NodeResponse, send } from "../../adapters/shared/node-response.ts";
import { toResponse, type WebRequest } from "../../adapters/shared/web-request.ts";

type FastifyRequest = Readonly<Record<"raw" | "routeOptions", object>>;

/** The handler of a route, for Express and Node.js, Koa, Fastify, Hono and the Fetch standard. */
export type RouteHandler<Answered> = ((request: NodeRequest, response: NodeResponse) => void) &
  ((context: KoaContext, next: () => Promise<unknown>) => unknown) &
  ((request: FastifyRequest, reply: FastifyReply) => void) &
  ((context: HonoContext, next: () => Promise<void>) => Answered) &
  ((request: WebRequest, ...rest: readonly unknown[]) => Answered);

/** Creates a handler, which throws without `protect` in front. `name` is its function in error messages. */
export function createHandler<Answered>(
  server: ResourceServer,
  name: string,
  respond: (verdict: Verdict) => Pending<Answer>,
): RouteHandler<Answered> {
  const respondTo = (raw: object): Pending<Answer> => {
    const verdict = verdictOf(raw, server);
    if (verdict?.isAllowed) return respond(verdict);
    throw new Error(`${name} needs protect(server) in front of it, with the same server.`);
  };
  const stop = (): undefined => undefined;
  const hosts: Readonly<Record<string, (first: never, second: never) => unknown>> = {
    koa: (context: KoaContext) => answerKoa(context, respondTo(context.req), stop),
    fastify: async (request: FastifyRequest, reply: FastifyReply) => {
      sendReply(reply, await respondTo(request.raw));
      return reply;
    },
    hono: (context: HonoContext) => answerHono(context, respondTo(context), stop),
    fetch: async (request: WebRequest) => toResponse(await respondTo(request)),
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
  const handle = (first: never, second: never, next: never): unknown => {
    const host = hosts[recognize([first]) ?? ""];
    return host ? host(first, second) : answerNode(first, second, next);
  };
  return handle as unknown as RouteHandler<Answered>;
}
