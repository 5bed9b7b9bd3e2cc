import type { AccessRequest } from "../../core/request.ts";
import { toAccessRequest } from "../shared/access-request.ts";
import type { NodeRequest } from "../shared/node-request.ts";
import { patternOf } from "./pattern.ts";

/** The part of Fastify's request (4 and 5) that is read. */
export interface FastifyRequest {
  /** Node's own request; with `upgrade` if it has left HTTP, as for `@fastify/websocket`. */
  readonly raw: NodeRequest & { readonly upgrade?: unknown };
  /** The method as it was sent. */
  readonly method: string;
  /** The target, as `rewriteUrl` may have rewritten it. */
  readonly url: string;
  /** The decoded parameters of the route. */
  readonly params: unknown;
  /** The matched route; without `url`, no route matched. */
  readonly routeOptions: { readonly url?: string | undefined };
  /** The instance of the route. */
  readonly server: object;
}

/** Reads a request as strings, with the route that Fastify has matched. */
export function readRequest(request: FastifyRequest): AccessRequest {
  const { raw, method, routeOptions } = request;
  const pattern = routeOptions.url === undefined ? undefined : patternOf(routeOptions.url);
  const seen = toAccessRequest(
    raw,
    request,
    method,
    request.url,
    pattern,
    request.params as AccessRequest["params"],
  );
  return raw.upgrade === true ? { ...seen, upgrade: true } : seen;
}
