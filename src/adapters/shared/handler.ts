/** One route handler for every host. It recognizes the host by the arguments of the call. */
import { type IncomingMessage } from "node:http";
import { type Verdict } from "../../core/pipeline.ts";
import { type ResourceServer } from "../../core/server.ts";
import { type Answer } from "../../core/response/refusal.ts";
import { type Pending } from "../../core/runtime/pending.ts";
import { type BodyLimits, type ReadBody, readNodeBody, readWebBody } from "./body.ts";
import { type FastifyReply, send as sendReply } from "../fastify/reply.ts";
import { verdictOf } from "./guard.ts";
import { type HonoContext, proceed as answerHono } from "../hono/context.ts";
import { type KoaContext, proceed as answerKoa } from "../koa/context.ts";
import { recognize } from "./misuse.ts";
import { type NodeRequest } from "./node-request.ts";
import { type NodeResponse, send } from "./node-response.ts";
import { toResponse, type WebRequest } from "./web-request.ts";

type FastifyRequest = Readonly<Record<"raw" | "routeOptions", object>>;

/** The handler of a route, for Express and Node.js, Koa, Fastify, Hono and the Fetch standard. */
export type RouteHandler<Answered> = ((request: NodeRequest, response: NodeResponse) => void) &
  ((context: KoaContext, next: () => Promise<unknown>) => unknown) &
  ((request: FastifyRequest, reply: FastifyReply) => void) &
  ((context: HonoContext, next: () => Promise<void>) => Answered) &
  ((request: WebRequest, ...rest: readonly unknown[]) => Answered);

/** A request that `protect` has allowed. */
export interface Call {
  readonly verdict: Verdict;
  /** Reads the body, or returns the result of a body parser that ran before. */
  readonly body: (limits: BodyLimits) => Promise<ReadBody> | { readonly parsed: unknown };
}

/** Creates a handler, which throws without `protect` in front. `name` is its function in error messages. */
export function createHandler<Answered>(
  server: ResourceServer,
  name: string,
  answer: (call: Call) => Pending<Answer>,
): RouteHandler<Answered> {
  const guarded = (raw: object, body: Call["body"]): Pending<Answer> => {
    const verdict = verdictOf(raw, server);
    if (verdict?.isAllowed) return answer({ verdict, body });
    throw new Error(`${name} needs protect(server) in front of it, with the same server.`);
  };
  const nodeBody =
    (raw: object, parsed: unknown): Call["body"] =>
    (limits) =>
      (raw as IncomingMessage).readableDidRead ? { parsed } : readNodeBody(raw as IncomingMessage, limits);
  const webBody =
    (raw: object): Call["body"] =>
    (limits) =>
      readWebBody(raw as Request, limits);
  const stop = (): undefined => undefined;
  const hosts: Readonly<Record<string, (first: never, second: never) => unknown>> = {
    koa: (context: KoaContext) => {
      const { req, request = {} } = context;
      return answerKoa(context, guarded(req, nodeBody(req, Reflect.get(request, "body"))), stop);
    },
    fastify: async (request: FastifyRequest, reply: FastifyReply) => {
      sendReply(reply, await guarded(request.raw, () => ({ parsed: Reflect.get(request, "body") })));
      return reply;
    },
    hono: (context: HonoContext) => answerHono(context, guarded(context, webBody(context.req.raw)), stop),
    fetch: async (request: WebRequest) => toResponse(await guarded(request, webBody(request))),
  };
  const answerNode = async (
    request: NodeRequest,
    response: NodeResponse,
    next?: (error: unknown) => void,
  ) => {
    try {
      send(response, await guarded(request, nodeBody(request, Reflect.get(request, "body"))));
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
