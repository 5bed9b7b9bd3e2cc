/** Reads Node's own request, which every framework wraps. */
import type { IncomingMessage } from "node:http";
import type { AccessRequest } from "../../core/request.ts";

/** The part of Node's own request that is read. */
export type NodeRequest = Pick<IncomingMessage, "headers"> & Partial<Pick<IncomingMessage, "rawHeaders">>;

/** The part of a request of `node:http`, `node:https` or `node:http2`'s compatibility layer that is read. */
export type NodeServerRequest = NodeRequest & Pick<IncomingMessage, "method" | "url">;

/**
 * Reads a property of a request. Express changes the prototype of every request, so each has another hidden
 * class in V8: an ordinary access misses all inline caches and takes several times as long.
 */
export const readProperty = <Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
): Target[Name] => Reflect.get(target, name);

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

/** Returns the fields of one name: an array if there are several. */
export function readFields(raw: NodeRequest, name: string): string | readonly string[] | undefined {
  const headers = readProperty(raw, "headers");
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === "string" ? readEvery(value, raw, name) : value;
}

/** Node.js keeps the first of several `Authorization` fields: a proxy may have checked another one. */
function readEvery(field: string, raw: NodeRequest, name: string): string | readonly string[] {
  const { rawHeaders = [] } = raw;
  let fields: string[] | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const rawName = rawHeaders[index] ?? "";
    if (rawName.length !== name.length || rawName.toLowerCase() !== name) continue;
    (fields ??= []).push(rawHeaders[index + 1] ?? "");
  }
  return fields && fields.length > 1 ? fields : field;
}
