import { type ResourceServer } from "../../core/server.ts";
import { type Refusal } from "../../core/response/refusal.ts";
import { guard } from "../shared/guard.ts";
import { type NodeServerRequest, toAccessRequest } from "../shared/node-request.ts";

/** Decides a request of Node.js, without a route of a framework. Errors reject the promise. */
export const guardNodeRequest = async (
  server: ResourceServer,
  request: NodeServerRequest,
): Promise<Refusal | undefined> =>
  guard(server, request, toAccessRequest(request, request, request.method ?? "", request.url ?? ""), false);
