/** One request, and what its head says about its body and its sessions. */
import type { Pending } from "../../core/runtime/pending.ts";
import type { BodyLimits, ReadBody } from "./body.ts";

/** A header field of the request; several with one name are joined by `", "`. */
export type ReadHeader = (name: string) => string | undefined;

/** RFC 9110 section 8.3; JSON is UTF-8 (RFC 8259 section 8.1). */
const JSON_TYPE = /^application\/json[\t ]*(?:;[\t ]*charset=(?:utf-8|"utf-8")[\t ]*)?$/i;

/** Returns whether a request announces a body (RFC 9112 section 6). */
export const hasBody = (header: ReadHeader): boolean =>
  header("transfer-encoding") !== undefined || Number(header("content-length") ?? 0) > 0;

/** Returns whether the body is JSON that needs no decoding. */
export function isJson(header: ReadHeader): boolean {
  const type = header("content-type") ?? "";
  const encoding = header("content-encoding") ?? "";
  return (
    (type === "application/json" || JSON_TYPE.test(type)) &&
    (encoding === "" || encoding.toLowerCase() === "identity")
  );
}

/** One request, as its framework represents it. */
export interface Exchange {
  /** The request of the platform, in which the guard keeps its verdict. */
  readonly raw: object;
  readonly method: string;
  readonly header: ReadHeader;
  /** The names of the header fields, in lower case. */
  readonly fields: () => Iterable<string>;
  /** The body, or the value that an earlier body parser has stored. */
  readonly body: (limits: BodyLimits) => Pending<ReadBody | { readonly parsed: unknown }>;
  /** Whether the request has no body even if no header announces one: in HTTP/2, a body needs no header. */
  readonly isEmpty: (limits: BodyLimits) => Pending<boolean>;
}

/** The header of a session, in requests and responses. */
export const SESSION_FIELD = "mcp-session-id";

/** `sessionId` in the spellings that servers read, such as `session_id` and `sessionId[]`. */
const SESSION_PARAMETER = /^session[-_]?id(?:\[|$)/i;

/**
 * Returns the sessions in a query: the transport with two endpoints, which revision 2025-03-26 replaced, has
 * them there. A server may read any of several parameters.
 */
export function sessionsInQuery(target: string): readonly string[] {
  const start = target.indexOf("?");
  if (start < 0) return [];
  const parameters = [...new URLSearchParams(target.slice(start + 1))];
  return parameters.flatMap(([name, value]) => (SESSION_PARAMETER.test(name) ? [value] : []));
}
