import { attempt } from "./errors.ts";

/** One request as strings, so that the core serves every framework and none. */
export interface AccessRequest {
  /** The method as received; methods are case-sensitive (RFC 9110 section 9.1). */
  readonly method: string;
  /** The request target as received: `/path?query`, or the absolute form (RFC 9112 section 3.2). */
  readonly target: string;
  /** The value of the `Authorization` header; a list when the request carried several such fields. */
  readonly authorization?: string | readonly string[] | undefined;
  /** The value of the `Cookie` header. */
  readonly cookie?: string | undefined;
  /**
   * The pattern that the framework's router matched, in path-to-regexp's syntax. Where it is known it decides, and
   * the path is not read a second time.
   */
  readonly matchedPattern?: string | undefined;
  /** The decoded parameters of `matchedPattern`, by the names that it gives them. */
  readonly params?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  /**
   * How the router behind the guard reads a path. Without it a path for which routers disagree (another letter case
   * leads to another rule) is refused as ambiguous.
   */
  readonly reading?: PathReading | undefined;
}

/**
 * What a router treats as the same path. A lenient reading still refuses a path whose exact spelling has another rule:
 * one router of the application may be stricter than the others.
 */
export interface PathReading {
  /** `/Agents` is `/agents`. */
  readonly ignoreCase: boolean;
  /** `/agents/` is `/agents`. */
  readonly ignoreTrailingSlash: boolean;
}

/** A path cut at its slashes, still percent-encoded: `/` is none, `/agents/` ends with an empty one. */
export type PathSegments = readonly string[];

/** RFC 9112 section 3.2.2. A looser authority is where parsers disagree about where the path begins. */
const ABSOLUTE_FORM = /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?=[/?]|$)/i;

/** Characters that a URI path may hold (RFC 3986 section 3.3); leaves out controls, `\`, `#` and raw non-ASCII. */
const PATH = /^\/[\w\-.~!$&'()*+,;=:@%/"<>[\]^`{|}]*$/;

/** Encoded slash, backslash or NUL, or another control character: routers disagree whether they are structure. */
const ENCODED_STRUCTURE = /%(?:2f|5c|[01][0-9a-f]|7f)/i;

/** A segment that is `.` or `..`, each dot raw or encoded (RFC 3986 section 5.2.4). */
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** The target without its query: what a log may show. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** The path of an origin-form or absolute-form target, with its query; `undefined` for every other form. */
export function originForm(target: string): string | undefined {
  if (target.startsWith("/")) return target;
  const authority = ABSOLUTE_FORM.exec(target)?.[0];
  if (authority === undefined) return undefined;
  const rest = target.slice(authority.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/**
 * Reads a target to the segments of its path, or `undefined` when no honest client sends it: one that routers read
 * in different ways would be checked as one path and served as another.
 */
export function readTarget(target: string): PathSegments | undefined {
  if (target.includes("#")) return undefined;
  const origin = originForm(target);
  if (origin === undefined) return undefined;
  const path = pathOf(origin);
  if (!PATH.test(path)) return undefined;
  if (path.includes("%") && (ENCODED_STRUCTURE.test(path) || decodeSegment(path) === undefined))
    return undefined;
  if (path === "/") return [];
  const segments = path.slice(1).split("/");
  const inner = segments.at(-1) === "" ? segments.slice(0, -1) : segments;
  return inner.some((segment) => segment === "" || DOT_SEGMENT.test(segment)) ? undefined : segments;
}

/** A segment as a handler sees it, or `undefined` when its percent-encoding is not valid UTF-8. */
export function decodeSegment(segment: string): string | undefined {
  return segment.includes("%") ? attempt(() => decodeURIComponent(segment)) : segment;
}
