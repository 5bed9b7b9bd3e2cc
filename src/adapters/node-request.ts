/** What is read of Node's own request, which is under every framework's: its members, and the credential that it carries. */
import { type AccessRequest, ownMember } from "../request.ts";

/** Node's own request. */
export interface NodeRequest {
  /** The fields that a credential is read from. */
  readonly headers: { readonly authorization?: string | undefined; readonly cookie?: string | undefined };
  /** All fields as they were sent: names and values in turn. */
  readonly rawHeaders?: readonly string[];
}

/** A request without its credential, which is not kept. */
export type BareRequest = Omit<AccessRequest, "authorization" | "cookie">;

/**
 * Reads a member of a request. Express gives every request another prototype, and V8 then a hidden class of its own: read in
 * the ordinary way it misses all inline caches, which takes several times as long.
 */
export const readMember = <Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
): Target[Name] => Reflect.get(target, name);

/** Always of the same shape, without a spread: it is made for every request. */
export function withCredential(raw: NodeRequest, request: BareRequest): AccessRequest {
  const headers = (raw as NodeRequest | undefined) && readMember(raw, "headers");
  if (!headers) {
    throw new TypeError(
      "protect was called with the request of another framework: import it from the adapter of this one.",
    );
  }
  const field = ownField(headers, "authorization");
  const { method, target } = request;
  return {
    method,
    target,
    // All members of what is made here are its own: what a polluted prototype names must not become one.
    matchedPattern: ownMember(request, "matchedPattern"),
    params: ownMember(request, "params"),
    reading: ownMember(request, "reading"),
    authorization: field === undefined ? undefined : readAuthorization(field, raw),
    cookie: ownField(headers, "cookie"),
  };
}

const ownField = (headers: NodeRequest["headers"], name: keyof NodeRequest["headers"]): string | undefined =>
  Object.hasOwn(headers, name) ? headers[name] : undefined;

/** Node keeps the first of several `Authorization` fields: a proxy in front may have looked at another. */
function readAuthorization(field: string, raw: NodeRequest): string | readonly string[] {
  const rawHeaders = readMember(raw, "rawHeaders") ?? [];
  const fields: string[] = [];
  let name: string | undefined;
  for (const text of rawHeaders) {
    if (name !== undefined && isAuthorization(name)) fields.push(text);
    name = name === undefined ? text : undefined;
  }
  return fields.length > 1 ? fields : field;
}

const NAME = "authorization";
const isAuthorization = (name: string): boolean => name.length === NAME.length && name.toLowerCase() === NAME;
