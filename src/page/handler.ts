/** One handler for every host, which it recognizes by the objects that it is called with. */
import { type FastifyReply, send as sendReply } from "../adapters/fastify/reply.ts";
import { verdictOf } from "../adapters/guard.ts";
import { type HonoContext, proceed as answerHono } from "../adapters/hono/context.ts";
import { type KoaContext, proceed as answerKoa } from "../adapters/koa/context.ts";
import { recognize } from "../adapters/misuse.ts";
import { type NodeRequest } from "../adapters/node-request.ts";
import { type NodeResponse, send } from "../adapters/node-response.ts";
import { toResponse, type WebRequest } from "../adapters/web-request.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type Answer } from "../response/refusal.ts";

type FastifyRequest = Readonly<Record<"raw" | "routeOptions", object>>;

/** The handler of a route, for Express and Node.js, Koa, Fastify, Hono and the Fetch standard. */
export type PageHandler = ((request: NodeRequest, response: NodeResponse) => void) &
  ((context: KoaContext, next: () => Promise<unknown>) => void) &
  ((request: FastifyRequest, reply: FastifyReply) => void) &
  ((context: HonoContext, next: () => Promise<void>) => Response) &
  ((request: WebRequest, ...rest: readonly unknown[]) => Response);

export function createPageHandler(server: ResourceServer, render: () => Answer): PageHandler {
  const guarded = (raw: object): Answer => {
    const verdict = verdictOf(raw, server);
    // A mounted handler also gets requests whose rule is public.
    if (verdict?.isAllowed && verdict.principal) return render();
    throw new Error(
      verdict
        ? "pageHandler needs a caller with a token: write a rule that requires one."
        : "pageHandler needs protect(server) in front of it, with the same server.",
    );
  };
  const stop = (): undefined => undefined;
  const hosts: Readonly<Record<string, (first: never, second: never) => unknown>> = {
    koa: (context: KoaContext) => answerKoa(context, guarded(context.req), stop),
    fastify: ({ raw }: FastifyRequest, reply: FastifyReply) => sendReply(reply, guarded(raw)),
    hono: (context: HonoContext) => answerHono(context, guarded(context), stop),
    fetch: (request: WebRequest) => toResponse(guarded(request)),
  };
  const answerNode = (request: NodeRequest, response: NodeResponse) => send(response, guarded(request));
  const handle = (first: never, second: never) =>
    (hosts[recognize([first]) ?? ""] ?? answerNode)(first, second);
  return handle as PageHandler;
}
