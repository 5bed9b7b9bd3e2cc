/** Reads requests of the Fetch standard, and converts refusals to responses. */
import type { GuardedRequest } from "../../core/request.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { renderBody } from "../../core/response/rendered-body.ts";

/** The part of a Fetch-standard `Request` that is read. */
export interface WebRequest {
  /** The method; `Request` converts the usual ones to upper case. */
  readonly method: string;
  /** The absolute URL. */
  readonly url: string;
  /** The header fields. */
  readonly headers: {
    /** Returns the value of a field; several values of one name are joined by `", "`. */
    get(name: string): string | null;
  };
}

/** Reads a request as strings, each an own property. `source` is the object that the framework passed on. */
export function readWebRequest(
  request: WebRequest,
  source: object,
  target: string = targetOf(request.url),
  isAtHandler = false,
): GuardedRequest {
  return {
    raw: request,
    source,
    method: request.method,
    target,
    matchedPattern: undefined,
    params: undefined,
    isAtHandler,
    authorization: splitAuthorization(request.headers.get("authorization")),
    cookie: request.headers.get("cookie") ?? undefined,
  };
}

/**
 * Returns the path, the query and the fragment of a URL. The result is empty, and the request is refused, if
 * a URL parser would split the URL differently: Deno builds it from any `Host`, such as `a\admin\x?`.
 */
export const targetOf = (url: string): string => SPLIT_URL.exec(url)?.[1] ?? "";

/** Internal host names have characters, such as `_`, that the core refuses in absolute targets. */
const SPLIT_URL = /^https?:\/\/[^\s/?#\\@]+(\/.*)$/is;

/**
 * `Headers` joins several fields with a comma, and hides that there were several: a proxy may have checked
 * another one. A comma inside one field is followed by an auth-param, never by a scheme and a space.
 */
function splitAuthorization(field: string | null): string | readonly string[] | undefined {
  if (!field?.includes(",")) return field ?? undefined;
  const fields = field.split(ANOTHER_FIELD);
  return fields.length > 1 ? fields : field;
}

const ANOTHER_FIELD = /,[\t ]*(?=(?:bearer$|[\w!#$%&'*+\-.^`|~]+[\t ]+[^\s=,]))/i;

/** Returns a new response for each request, because a framework may change its headers. */
export const toResponse = ({ status, headers, body }: HttpResponse): Response =>
  new Response(renderBody(body), { status, headers });
