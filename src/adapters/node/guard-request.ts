import { type ResourceServer } from "../../resource-server.ts";
import { type Refusal } from "../../response/refusal.ts";
import { guard } from "../guard.ts";
import { type NodeServerRequest, toAccessRequest } from "../node-request.ts";

/** Decides a request of Node, for which no framework reports a route. Rejects for an error; never throws. */
export const guardNodeRequest = async (
  server: ResourceServer,
  request: NodeServerRequest,
): Promise<Refusal | undefined> =>
  guard(server, request, toAccessRequest(request, request, request.method ?? "", request.url ?? ""), false);
