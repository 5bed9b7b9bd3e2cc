/** The route of a handler, and the path that the route and its parameters spell. */
import { ConfigurationError, orUndefined } from "../../core/errors.ts";
import type { RunningRoute } from "../../core/pipeline.ts";
import { namesOf, partsOf, type Pattern } from "../../core/policy/pattern.ts";
import { decodeSegment, type SegmentPart } from "../../core/policy/segment.ts";
import { pipelineOf } from "../../core/port.ts";
import { type AccessRequest, pathOf } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";

/** The parameters that a handler receives: each a string, or an array with the segments of a wildcard. */
export type RouteParams = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the route as it runs for a request. @throws Error without its parameters */
export type FindRoute = (sent: AccessRequest) => RunningRoute;
export type BindRoute = (params: unknown) => FindRoute;

/** @throws ConfigurationError for a route that isn't written as in the table */
export function createRoute(server: ResourceServer, caller: string, written: unknown): BindRoute {
  const route = pipelineOf(server).parseRoute(String(written), caller === "guard");
  const path = [caller, "route"];
  const wrong = (message: string, hint: string) =>
    new ConfigurationError([{ code: "option_invalid", path, message, hint }]);
  if ("code" in route && route.code === "option_missing")
    throw wrong("is an MCP operation.", "Write a path: `POST /mcp`.");
  if ("code" in route) throw new ConfigurationError([{ ...route, path }]);
  const names = route.pattern.alternatives.map(({ segments }) => segments.flatMap(namesOf).join());
  // Only the parameters show which alternative runs.
  if (new Set(names).size < names.length)
    throw wrong("has an optional part without a parameter.", "Write two routes.");
  return (params) =>
    ({ method, target }) => {
      // Not the client's path: hosts rewrite URLs, and decode them in their own way.
      const path = spellRoute(route.pattern, Object(params) as object);
      const sentPath = pathOf(target);
      const isSent = path === sentPath || normalize(path) === normalize(sentPath);
      const routeTarget = isSent ? target : path + target.slice(sentPath.length);
      const fitsMethod = ["*", method, method === "HEAD" ? "GET" : method].includes(route.method);
      return {
        method,
        target: routeTarget,
        matchedPattern: route.pattern.source,
        patterns: fitsMethod ? [route.pattern.source] : undefined,
      };
    };
}

/** Spells the longest alternative that the parameters have values for. */
function spellRoute({ source, alternatives }: Pattern, params: object): string {
  for (const { segments } of alternatives) {
    const parts = segments.flatMap((segment) => ["/", ...partsOf(segment)]);
    const spelled = parts.map((part) => (typeof part === "string" ? part : spellParameter(part, params)));
    if (!spelled.includes(undefined)) return spelled.join("") || "/";
  }
  throw missing(`the parameters of \`${source}\``);
}

/** Returns `undefined` for a parameter without a value, and for a wildcard without a segment. */
function spellParameter({ type, name }: Exclude<SegmentPart, string>, params: object): string | undefined {
  const value: unknown = Object.hasOwn(params, name) ? Reflect.get(params, name) : undefined;
  if (value === undefined || (type === "wildcard" && value === "")) return undefined;
  // Some hosts report a wildcard as a path, and others as an array of its segments.
  const path = typeof value === "string" ? value.split("/") : [value].flat();
  const values = type === "wildcard" ? path : [value];
  if (!values.every((each) => typeof each === "string")) throw missing(`\`${name}\` as a string`);
  return values.length === 0 ? undefined : values.map(encode).join("/");
}

const missing = (what: string): Error =>
  new Error(
    `The host doesn't report ${what}. Write withScopes(server, { route, params: (request, context) => context.params }, handler), or guard(request, { route, params }).`,
  );

/** Each value stays one segment, so `a/b` and `..` are refused. Half of a character has no encoding. */
const encode = (value: string): string => orUndefined(() => encodeURIComponent(value)) ?? "%";

/** Returns a path in one spelling of its percent-encoding. */
const normalize = (path: string): string =>
  path.replaceAll(/[^/]+/g, (segment) => encode(decodeSegment(segment)));
