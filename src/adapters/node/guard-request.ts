import { type ResourceServer } from "../../resource-server.ts";
import { type Refusal } from "../../response/refusal.ts";
import { guard } from "../guard.ts";
import { type NodeServerRequest, toAccessRequest } from "../node-request.ts";

/** Decides a request of Node.js, without a route of a framework. Errors reject the promise. */
export const guardNodeRequest = async (
  server: ResourceServer,
  request: NodeServerRequest,
): Promise<Refusal | undefined> =>
  guard(server, request, toAccessRequest(request, request, request.method ?? "", request.url ?? ""), false);
