/** Reads Node's own request, which every framework wraps. */
import type { IncomingMessage } from "node:http";

/** The part of Node's own request that is read. */
export type NodeRequest = Pick<IncomingMessage, "headers"> & Partial<Pick<IncomingMessage, "rawHeaders">>;

/** The part of a request of `node:http`, `node:https` or `node:http2`'s compatibility layer that is read. */
export type NodeServerRequest = NodeRequest & Pick<IncomingMessage, "method" | "url">;

/** Returns the fields of one name: an array if there are several. */
export function readFields(raw: NodeRequest, name: string): string | readonly string[] | undefined {
  const { headers } = raw;
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === "string" ? readEvery(value, raw, name) : value;
}

/** Node.js keeps the first of several `Authorization` fields: a proxy may have checked another one. */
export function readEvery(field: string, raw: NodeRequest, name: string): string | readonly string[] {
  const { rawHeaders = [] } = raw;
  let fields: string[] | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const rawName = rawHeaders[index] ?? "";
    if (rawName.length !== name.length || rawName.toLowerCase() !== name) continue;
    (fields ??= []).push(rawHeaders[index + 1] ?? "");
  }
  return fields && fields.length > 1 ? fields : field;
}
