import type { AccessRequest } from "../../core/request.ts";
import { type NodeRequest, readEvery } from "./node-request.ts";

/** Returns a request as strings, with the credentials of Node's request. */
export function toAccessRequest(
  raw: NodeRequest,
  source: object,
  method: string,
  target: string,
  matchedPattern?: string,
  params?: AccessRequest["params"],
): AccessRequest {
  const { headers } = raw;
  const field = ownField(headers, "authorization");
  return {
    raw,
    source,
    method,
    target,
    matchedPattern,
    params,
    authorization: field === undefined ? undefined : readEvery(field, raw, "authorization"),
    cookie: ownField(headers, "cookie"),
  };
}

/** Only own properties: a polluted prototype must not add a credential. */
const ownField = (headers: NodeRequest["headers"], name: "authorization" | "cookie"): string | undefined =>
  Object.hasOwn(headers, name) ? headers[name] : undefined;
