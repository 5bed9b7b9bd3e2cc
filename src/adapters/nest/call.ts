/** How the guard of NestJS reads, decides and refuses a call of a handler. */
import { type ExecutionContext, HttpException } from "@nestjs/common";
import { type AccessRequest, ownProperty } from "../../core/request.ts";
import type { Pipeline, RunningRoute } from "../../core/pipeline.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { isPending } from "../../core/runtime/pending.ts";
import { type ExpressRequest, type ExpressResponse, readMethod, readTarget } from "../express/request.ts";
import { shareHiddenClasses } from "../express/hidden-classes.ts";
import { withMounts } from "../express/mounts.ts";
import { patternsAt } from "../express/route-patterns.ts";
import type { ExpressRoute } from "../express/router.ts";
import { type FastifyReply, send as sendReply } from "../fastify/reply.ts";
import { type FastifyRequest, readRequest } from "../fastify/request.ts";
import {
  guardRequest,
  guardRoute,
  notesOf,
  type PendingRefusal,
  type SetHeader,
  verdictOf,
} from "../shared/guard.ts";
import { toAccessRequest } from "../shared/access-request.ts";
import type { NodeRequest } from "../shared/node-request.ts";
import { send } from "../shared/node-response.ts";

export interface Call {
  readonly raw: NodeRequest;
  /** Omitted for a GraphQL resolver, which has no route. */
  readonly seen?: AccessRequest;
  /** Returns the matched route; omitted if only an earlier guard knows the path. */
  readonly findRoute?: ((pipeline: Pipeline) => RunningRoute) | undefined;
  /** Sends the response; omitted for a GraphQL resolver. */
  readonly sendRefusal?: (refusal: Refusal) => void;
  readonly setHeader?: SetHeader;
}

type Raw = NodeRequest & { readonly raw?: NodeRequest };
type Routed = ExpressRequest & Pick<AccessRequest, "params"> & { readonly route: ExpressRoute };

/** @throws Error for a handler that no HTTP request reaches: there's no credential to read */
export function readCall(context: ExecutionContext): Call {
  const type = context.getType<string>();
  const [request, response, graph] = context.getArgs<[object, unknown, { readonly req?: Raw } | undefined]>();
  if (type === "http" && "routeOptions" in request) {
    const { raw } = request as FastifyRequest;
    const seen = readRequest(request as FastifyRequest);
    const patterns = seen.matchedPattern === undefined ? undefined : [seen.matchedPattern];
    const findRoute = () => ({
      method: seen.method,
      target: seen.target,
      matchedPattern: seen.matchedPattern,
      patterns,
      readValue: (name: string) => ownProperty(seen.params ?? {}, name),
    });
    const sendRefusal = (refusal: Refusal): void => sendReply(response as FastifyReply, refusal);
    const setHeader: SetHeader = (name, value) => (response as FastifyReply).header(name, value);
    return { raw, seen, findRoute, sendRefusal, setHeader };
  }
  if (type === "http") {
    const raw = request as Routed;
    if (!notesOf(raw)) shareHiddenClasses(raw, response as ExpressResponse);
    const seen = toAccessRequest(raw, raw, readMethod(raw), readTarget(raw), undefined, raw.params);
    const sendRefusal = (refusal: Refusal): void => send(response as ExpressResponse, refusal);
    const setHeader: SetHeader = (name, value) => (response as ExpressResponse).setHeader(name, value);
    const findRoute = (pipeline: Pipeline): RunningRoute => ({
      method: seen.method,
      target: seen.target,
      patterns: patternsAt(raw, raw.route, pipeline),
      readValue: (name) => ownProperty(raw.params ?? {}, name),
    });
    return { raw, seen, findRoute, sendRefusal, setHeader };
  }
  const raw = type === "graphql" ? (graph?.req?.raw ?? graph?.req) : undefined;
  if (raw) return { raw, findRoute: mountOf(raw as ExpressRequest) };
  throw new Error(
    `scopegate/nest can't decide who calls a handler of type \`${type}\`: it has no HTTP request. A GraphQL context needs the request as \`req\`. Handlers of other types need their own guard: use protect(server) on the controllers only.`,
  );
}

/** In Express, GraphQL also handles every path below its own, even if that path has another rule. */
function mountOf(request: ExpressRequest): Call["findRoute"] {
  if (!request.baseUrl) return undefined;
  return (pipeline) => {
    const patterns = withMounts(request, ["/"], pipeline);
    return { method: readMethod(request), target: readTarget(request), patterns };
  };
}

/** Throws for a resolver, but not for a handler: exception filters would write a second response. */
export async function refuse({ sendRefusal }: Call, refusal: Refusal): Promise<boolean> {
  // Without a message, NestJS would show the name of the exception.
  if (!sendRefusal)
    throw new HttpException({ ...refusal.problem, message: refusal.problem.detail }, refusal.status);
  sendRefusal(refusal);
  return new Promise<boolean>(() => undefined);
}

/** Checks the rules for the path, unless a guard before NestJS has already done so, and for the route. */
export function decideCall(
  server: ResourceServer,
  { raw, seen, findRoute, setHeader }: Call,
): PendingRefusal {
  const verdict = verdictOf(raw, server);
  if (!seen && !verdict?.isAllowed) throw new Error(UNDECIDED);
  const refusal = verdict || !seen ? undefined : guardRequest(server, raw, seen, true, setHeader);
  if (!findRoute) return refusal;
  const checkRoute = () => guardRoute(raw, findRoute);
  if (isPending(refusal)) return refusal.then((awaited) => awaited ?? checkRoute());
  return refusal ?? checkRoute();
}

const UNDECIDED =
  "No guard has allowed the HTTP request of this GraphQL resolver. Write a rule for POST /graphql, and app.use(protect(server)) of scopegate/express or app.register(protect(server)) of scopegate/fastify.";
