/** Reads the header fields that a server needs in addition to `Authorization` and `Cookie`. */
import { pipelineOf } from "../../core/port.ts";
import type { AccessRequest } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { type NodeRequest, readFields } from "./node-request.ts";
import type { WebRequest } from "./web-request.ts";

/** Returns the request with these fields as they are now: later code may change them. */
export function withCredentialHeaders(
  server: ResourceServer,
  raw: object,
  request: AccessRequest,
): AccessRequest {
  const names = pipelineOf(server).credentialHeaders;
  if (names.length === 0) return request;
  const headers = Object.fromEntries(names.map((name) => [name, readHeader(raw, name)]));
  return { ...request, headers };
}

function readHeader(raw: object, name: string): string | readonly string[] | undefined {
  const { headers } = raw as NodeRequest | WebRequest;
  return isWebHeaders(headers) ? (headers.get(name) ?? undefined) : readFields(raw as NodeRequest, name);
}

const isWebHeaders = (
  headers: NodeRequest["headers"] | WebRequest["headers"],
): headers is WebRequest["headers"] => typeof headers.get === "function";
