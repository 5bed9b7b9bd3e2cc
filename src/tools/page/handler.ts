/** One route handler for every framework. It recognizes the framework by the arguments of the call. */
import type { Verdict } from "../../core/pipeline.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { type FastifyReply, send as sendReply } from "../../adapters/fastify/reply.ts";
import { verdictOf } from "../../adapters/shared/guard.ts";
import { type HonoContext, sendResponse as sendToHono } from "../../adapters/hono/context.ts";
import { type KoaContext, sendResponse as sendToKoa } from "../../adapters/koa/context.ts";
import { type Framework, recognize } from "../../adapters/shared/misuse.ts";
import type { NodeRequest } from "../../adapters/shared/node-request.ts";
import { type NodeResponse, send } from "../../adapters/shared/node-response.ts";
import { toResponse, type WebRequest } from "../../adapters/shared/web-request.ts";

type FastifyRequest = Readonly<Record<"raw" | "routeOptions", object>>;

/** The handler of a route, for Express and Node.js, Koa, Fastify, Hono and the Fetch standard. */
export type PageHandler = ((request: NodeRequest, response: NodeResponse) => void) &
  ((context: KoaContext, next: () => Promise<unknown>) => unknown) &
  ((request: FastifyRequest, reply: FastifyReply) => void) &
  ((context: HonoContext, next: () => Promise<void>) => Response) &
  ((request: WebRequest, ...rest: readonly unknown[]) => Response);

/** `never`, because each framework passes other arguments. `recognize` finds the framework by them. */
type FrameworkHandler = (first: never, second: never, third: never) => unknown;

/** Creates a handler. It throws if `protect` hasn't allowed the request. */
export function createHandler(
  server: ResourceServer,
  respond: (verdict: Verdict) => HttpResponse,
): PageHandler {
  const respondTo = (raw: object): HttpResponse => {
    const verdict = verdictOf(raw, server);
    if (verdict?.isAllowed) return respond(verdict);
    throw new Error("pageHandler needs protect(server) before it, with the same server.");
  };
  const sendToNode = (request: NodeRequest, response: NodeResponse) => send(response, respondTo(request));
  const handlers: Partial<Record<Framework, FrameworkHandler>> = {
    express: sendToNode,
    node: sendToNode,
    koa: (context: KoaContext) => sendToKoa(context, respondTo(context.req)),
    fastify: (request: FastifyRequest, reply: FastifyReply) => sendReply(reply, respondTo(request.raw)),
    hono: (context: HonoContext) => sendToHono(context, respondTo(context)),
    fetch: (request: WebRequest) => toResponse(respondTo(request)),
  };
  const handle: FrameworkHandler = (first, second, third) => {
    const frameworkHandler = handlers[recognize([first]) ?? "node"] ?? sendToNode;
    return frameworkHandler(first, second, third);
  };
  return handle as unknown as PageHandler;
}
