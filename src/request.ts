import { type Path, readOriginForm } from "./path.ts";

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
  /** How the routers behind the guard read a path. */
  readonly reading?: PathReading | undefined;
}

/** @throws TypeError naming the member that is no text, for programs that are not compiled */
export function requireText(value: unknown, call: string, member: string): void {
  if (typeof value === "string") return;
  throw new TypeError(`${call}: \`${member}\` is ${value === undefined ? "missing" : "no text"}.`);
}

/** An optional member of a request. Its own only: a polluted prototype must not name a route or a credential. */
export const ownMember = <Name extends keyof AccessRequest>(
  request: AccessRequest,
  name: Name,
): AccessRequest[Name] | undefined => (Object.hasOwn(request, name) ? request[name] : undefined);

/**
 * What the routers behind the guard treat as the same path; what is left out is not known. A path of which some reading
 * leads to another rule is refused, whatever is declared here but `false`: one router may be stricter than the others.
 */
export interface PathReading {
  /** `/Agents` is `/agents`. */
  readonly ignoreCase?: boolean | undefined;
  /** `/agents/` is `/agents`. */
  readonly ignoreTrailingSlash?: boolean | undefined;
}

/** A path cut at its slashes, still percent-encoded: `/` is none, `/agents/` ends with an empty one. */
export type PathSegments = readonly string[];

/** RFC 9112 section 3.2.2. A looser authority is where parsers disagree about where the path begins. */
const ABSOLUTE_FORM = /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?=[/?]|$)/i;

/** Characters that Node's legacy URL parser, which routers use for the absolute form only, writes percent-encoded. */
const ESCAPED_IN_URLS = Array.from(
  "{}|^`<>\"'",
  (char) => [char, `%${char.charCodeAt(0).toString(16).toUpperCase()}`] as const,
);

/** More of them than an honest path has. Each is written at some cost, and nobody but an attacker would send thousands. */
const MAX_ESCAPED = 100;

/** The target without its query. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** What a log may show of a target: no query, no fragment and no user information, where clients leave secrets. */
export function observableTarget(target: string): string {
  return pathOf(originForm(target) ?? "").replace(/#.*/s, "");
}

/** A request as hooks are told of it. */
export function withoutCredentials(request: AccessRequest): Omit<AccessRequest, "authorization" | "cookie"> {
  const { authorization, cookie, ...observed } = request;
  return { ...observed, target: observableTarget(request.target) };
}

/**
 * An origin-form or absolute-form target with its path as routers see it, and its query; `undefined` for every other form,
 * and for an absolute form with more than `MAX_ESCAPED` characters to write encoded.
 */
export function originForm(target: string): string | undefined {
  if (target.startsWith("/")) return target;
  const authority = ABSOLUTE_FORM.exec(target)?.[0];
  if (authority === undefined) return undefined;
  const whole = pathOf(target);
  const path = escapeAsUrls(whole.slice(authority.length));
  if (path === undefined) return undefined;
  const query = target.slice(whole.length);
  return path.startsWith("/") ? path + query : `/${path}${query}`;
}

function escapeAsUrls(path: string): string | undefined {
  let left = MAX_ESCAPED;
  let escaped = path;
  for (const [char, code] of ESCAPED_IN_URLS) {
    for (let at = path.indexOf(char); at >= 0; at = path.indexOf(char, at + 1)) {
      left -= 1;
      if (left < 0) return undefined;
    }
    // One kind after the other: a function that is called for each takes ten times as long.
    escaped = escaped.replaceAll(char, code);
  }
  return escaped;
}

/**
 * Reads a target to its path, or to `undefined` when no honest client sends it: one that routers read in different ways
 * would be checked as one path and served as another.
 */
export function readPath(target: string): Path | undefined {
  if (target.startsWith("/")) return readOriginForm(target);
  const origin = target.includes("#") ? undefined : originForm(target);
  return origin === undefined ? undefined : readOriginForm(origin);
}

/** The same, cut to segments. */
export function readTarget(target: string): PathSegments | undefined {
  const path = readPath(target);
  return path && segmentsOf(path);
}

export const segmentsOf = ({ text }: Path): PathSegments => (text === "/" ? [] : text.slice(1).split("/"));
