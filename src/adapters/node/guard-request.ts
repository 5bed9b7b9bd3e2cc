import type { ResourceServer } from "../../core/resource-server.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { guardRequest, type SetHeader } from "../shared/guard.ts";
import { toAccessRequest } from "../shared/access-request.ts";
import type { NodeServerRequest } from "../shared/node-request.ts";

/** Decides a request of Node.js, which has no route of a framework. Errors reject the promise. */
export async function guardNodeRequest(
  server: ResourceServer,
  request: NodeServerRequest,
  { upgrade = false, setHeader }: { readonly upgrade?: boolean; readonly setHeader?: SetHeader } = {},
): Promise<Refusal | undefined> {
  const seen = toAccessRequest(request, request, request.method ?? "", request.url ?? "");
  return guardRequest(server, request, upgrade ? { ...seen, upgrade } : seen, false, setHeader);
}
