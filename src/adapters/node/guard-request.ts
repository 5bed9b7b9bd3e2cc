import type { ResourceServer } from "../../core/server.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { guardRequest } from "../shared/guard.ts";
import { type NodeServerRequest, toAccessRequest } from "../shared/node-request.ts";

/** Decides a request of Node.js, without a route of a framework. Errors reject the promise. */
export const guardNodeRequest = async (
  server: ResourceServer,
  request: NodeServerRequest,
): Promise<Refusal | undefined> =>
  guardRequest(
    server,
    request,
    toAccessRequest(request, request, request.method ?? "", request.url ?? ""),
    false,
  );
