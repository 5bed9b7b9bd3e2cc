/** One request as strings, and how its path is read. */
import { orUndefined } from "./errors.ts";

/** The method of operations in keys, rules and decisions: `MCP tools/call search`. Not an HTTP method. */
export const OPERATION_METHOD = "MCP";

/** One request as strings, so that the core depends on no framework. */
export interface AccessRequest {
  /** The method as received; methods are case-sensitive (RFC 9110 section 9.1). */
  readonly method: string;
  /** The request target as received: `/path?query`, or the absolute form (RFC 9112 section 3.2). */
  readonly target: string;
  /** The value of the `Authorization` header; an array if the request has several. */
  readonly authorization?: string | readonly string[] | undefined;
  /** The value of the `Cookie` header. */
  readonly cookie?: string | undefined;
  /**
   * The header fields of `tokenSources` and `senderConstraint`, by their names in lower case: `dpop`, for
   * example. An array for several fields.
   */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  /**
   * The whole pattern of the route that the framework's router matched, in path-to-regexp's syntax. The rule
   * for this route must be satisfied too. Without it, a path that isn't spelled as in the table is refused.
   */
  readonly matchedPattern?: string | undefined;
  /** The decoded parameters of the matched route, for `requireScopes`. They must equal those of its rules. */
  readonly params?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  /** The operations that its body calls, such as `tools/call search`, for `onDecision`; set by adapters. */
  readonly operations?: readonly string[] | undefined;
  /**
   * Whether the client requests an upgrade, as a WebSocket does. A public rule with a wildcard doesn't allow
   * it: the request then counts as one without a rule.
   */
  readonly upgrade?: boolean | undefined;
  /**
   * The request of the platform: with `senderConstraint.mtls`, the certificate is read from its `socket`. If
   * the same object is checked again, its DPoP proof counts as the same use, so use a separate object for
   * each HTTP request.
   */
  readonly raw?: object | undefined;
  /** The request of the framework, which `onDecision` receives as `event.source`. Nothing is read from it. */
  readonly source?: object | undefined;
}

/** With `isAtHandler`, the guard belongs to one handler: a guard of all routes may have run before it. */
export type GuardedRequest = AccessRequest & { readonly isAtHandler?: boolean };

/** A path that every router divides into the same segments. */
export interface Path {
  /** The path from its first slash, without the query, still percent-encoded. */
  readonly text: string;
  /** Where the last segment ends: the length of `text` without its trailing slash, 0 for `/`. */
  readonly end: number;
  /** Whether the path has only one spelling: it has neither upper-case letters nor percent-encoding. */
  readonly isPlain: boolean;
}

/** Longer paths are refused, so that the cost of reading one is bounded. */
const MAX_PATH_LENGTH = 8_192;

/** The usual path: lower-case letters, no percent-encoding, no empty segment, no `.` or `..` segment. */
const PLAIN_PATH = /^\/$|^(?:\/(?!\.\.?(?:\/|$))[a-z\d_\-.~!$&'()*+,=:@"<>[\]^`{|}]+)+\/?$/;

/**
 * The same with upper-case letters and percent-encoding (RFC 3986 section 3.3). Routers disagree about these
 * characters, so they aren't allowed: `;`, backslashes, raw non-ASCII characters, encoded slashes, encoded
 * backslashes, encoded control characters, and dot segments with encoded dots.
 */
const READABLE_PATH =
  /^(?:\/(?!(?:\.|%2e){1,2}(?:\/|$))(?:[\w\-.~!$&'()*+,=:@"<>[\]^`{|}]|%(?:2[\da-e]|[346][\da-f]|5[\dabd-f]|7[\da-e]|[89a-f][\da-f]))+)+\/?$/i;

/**
 * RFC 9112 section 3.2.2. After any other authority, and after an authority with a query, parsers disagree
 * about where the path begins: find-my-way before 9.9 reads `http://host?/admin` as `/admin`.
 */
const ABSOLUTE_FORM = /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?=\/|$)/i;

/** In an absolute form, the parsers of routers encode these characters, so the request is refused. */
const NOT_IN_URIS = /[{}|^`<>"]/;

/** Reads the path of a target; `undefined` if it's too long, or if routers would read it differently. */
export function readPath(target: string): Path | undefined {
  // A plain path has no query or authority to remove.
  if (isPlainPath(target)) return toPath(target, true);
  const origin = originForm(target);
  if (origin === undefined) return undefined;
  const text = pathOf(origin);
  // Clients send no fragment (RFC 9112 section 3.2). Some parsers would cut the query off at its `#`.
  if (text.length > MAX_PATH_LENGTH || (text !== target && target.includes("#"))) return undefined;
  if (isPlainPath(text)) return toPath(text, true);
  const isReadable = READABLE_PATH.test(text) && orUndefined(() => decodeURIComponent(text)) !== undefined;
  return isReadable ? toPath(text, false) : undefined;
}

const isPlainPath = (text: string): boolean => text.length <= MAX_PATH_LENGTH && PLAIN_PATH.test(text);

const toPath = (text: string, isPlain: boolean): Path => ({
  text,
  end: text.endsWith("/") ? text.length - 1 : text.length,
  isPlain,
});

/** Returns whether a path ends with a slash after its last segment. */
export const hasTrailingSlash = ({ text, end }: Path): boolean => end > 0 && end < text.length;

/** Returns the segments of a path, still percent-encoded, without an empty segment for a trailing slash. */
export const segmentsOf = ({ text, end }: Path): readonly string[] =>
  end === 0 ? [] : text.slice(1, end).split("/");

/** One segment, counted from the start without dividing the whole path; empty if the path is shorter. */
export function segmentAt({ text, end }: Path, index: number): string {
  let start = 1;
  for (let left = index; left > 0 && start > 0; left -= 1) start = text.indexOf("/", start) + 1;
  if (start === 0 || start > end) return "";
  const slash = text.indexOf("/", start);
  return text.slice(start, slash < 0 ? end : slash);
}

/** Returns the target without its query. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** Returns path and query of an origin-form or absolute-form target; `undefined` if routers may disagree. */
export function originForm(target: string): string | undefined {
  if (target.startsWith("/")) return target;
  const authority = ABSOLUTE_FORM.exec(target)?.[0];
  if (authority === undefined) return undefined;
  const whole = pathOf(target);
  const path = whole.slice(authority.length);
  if (path.length > MAX_PATH_LENGTH || NOT_IN_URIS.test(path)) return undefined;
  // The same parser also encodes apostrophes, which URIs may contain.
  return `${path.startsWith("/") ? "" : "/"}${path.replaceAll("'", "%27")}${target.slice(whole.length)}`;
}

/** Returns an own property. A polluted prototype must not add a credential, or name an operation. */
export const ownProperty = <Value extends object, Name extends keyof Value>(
  object: Value,
  name: Name,
): Value[Name] | undefined => (Object.hasOwn(object, name) ? object[name] : undefined);

/** Returns the fields of one name; an array for several. Own properties only, like `ownProperty`. */
export function headerOf(request: AccessRequest, name: string): string | readonly string[] | undefined {
  const headers = ownProperty(request, "headers");
  return headers && ownProperty(headers, name);
}

/** @throws TypeError that names the property, for untyped code */
export function requireString(value: unknown, call: string, name: string): asserts value is string {
  if (typeof value === "string") return;
  throw new TypeError(`${call}: \`${name}\` ${value === undefined ? "is missing" : "must be a string"}.`);
}
