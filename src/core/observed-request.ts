import { type AccessRequest, type GuardedRequest, OPERATION_METHOD, originForm, pathOf } from "./request.ts";
import { compact } from "./runtime/compact.ts";
import { printable, withoutTokens } from "./runtime/printable.ts";

/** The request for hooks: without credentials, and without the query, where clients may send tokens. */
export type ObservedRequest = Omit<AccessRequest, "authorization" | "cookie" | "headers" | "raw" | "source">;

/**
 * Returns the request for hooks, channels and logs: without credentials, query and user information, and with
 * `[token]` for each token or API key that a client sent in a path, a parameter or the name of an operation.
 */
export function withoutCredentials(request: GuardedRequest): ObservedRequest {
  const { authorization, cookie, headers, raw, source, target, params, operations, isAtHandler, ...others } =
    request;
  return compact({
    ...others,
    target: withoutTokens(printable(observedPath(request))),
    params:
      params &&
      Object.fromEntries(
        Object.entries(params).map(([name, value]) => [
          name,
          typeof value === "string" ? withoutTokens(value) : value?.map(withoutTokens),
        ]),
      ),
    operations: operations?.map(withoutTokens),
  });
}

/** Returns the path, or the name of an operation; empty for a target that routers could read differently. */
function observedPath({ method, target }: AccessRequest): string {
  const origin = originForm(target);
  if (origin === undefined && method !== OPERATION_METHOD) return "";
  return pathOf(origin ?? target).replace(/#.*/s, "");
}
