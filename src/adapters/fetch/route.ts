/** The route of a handler, and the path that the route and its parameters spell. */
import { ConfigurationError, orUndefined } from "../../core/errors.ts";
import { optionError } from "../../core/options/check-options.ts";
import type { RunningRoute } from "../../core/pipeline.ts";
import {
  identityOf,
  namesOf,
  partsOf,
  type Pattern,
  type PatternSegment,
} from "../../core/policy/pattern.ts";
import { pipelineOf } from "../../core/port.ts";
import { decodeSegment } from "../../core/policy/segment.ts";
import { pathOf } from "../../core/request.ts";
import type { ResourceServer } from "../../core/server.ts";

/** Parameters as a handler receives them: a string, or an array with the segments of a wildcard. */
export type RouteParams = Readonly<Record<string, string | readonly string[] | undefined>>;

export class FetchRoute {
  /** `*` for every method. */
  readonly #method: string;
  readonly #pattern: Pattern;
  readonly hasParams: boolean;

  /** @throws ConfigurationError for a route that isn't written as in the table */
  constructor(server: ResourceServer, functionName: string, route: unknown) {
    const place = [functionName, "route"];
    if (typeof route !== "string" || !/^(?:\S+ )?\//.test(route))
      throw optionError(place, "isn't the path of a route.", "Write `/agents/:agent_id`, for example.");
    const { parseRoute } = pipelineOf(server);
    const withMethod = (path: string) => (path.startsWith("/") ? `* ${path}` : path);
    const parsed = parseRoute(withMethod(route));
    if (!("pattern" in parsed)) {
      const written = translate(route);
      const isTranslated = written !== route && "pattern" in parseRoute(withMethod(written));
      const hint = isTranslated ? `Write \`${written}\`.` : parsed.hint;
      throw new ConfigurationError([{ ...parsed, path: place, hint }]);
    }
    const { alternatives } = parsed.pattern;
    const names = alternatives.map(({ segments }) => segments.flatMap(namesOf).join());
    const identities = alternatives.map(({ segments }) => identityOf(segments));
    // Only the parameters show which alternative of the route runs.
    if (new Set(names).size < new Set(identities).size)
      throw optionError(place, "has an optional part without a parameter.", "Write one route for each path.");
    this.#method = parsed.method;
    this.#pattern = parsed.pattern;
    this.hasParams = names.some((list) => list !== "");
  }

  /**
   * Returns the route as it runs for a request. The parameters spell its path, which may be another one than
   * that of the client's URL: the host may rewrite URLs, or decode them in its own way.
   * @throws Error without the parameters of the route
   */
  at(method: string, sentTarget: string, params: unknown): RunningRoute {
    const sentPath = pathOf(sentTarget);
    const path = this.#spell(Object(params) as object);
    const isSent = path === sentPath || normalize(path) === normalize(sentPath);
    const target = isSent ? sentTarget : path + sentTarget.slice(sentPath.length);
    const { source } = this.#pattern;
    const isRouteOfMethod = ["*", method, method === "HEAD" ? "GET" : method].includes(this.#method);
    return { method, target, matchedPattern: source, patterns: isRouteOfMethod ? [source] : undefined };
  }

  #spell(params: object): string {
    // The longest alternative comes first.
    for (const { segments } of this.#pattern.alternatives) {
      const spelled = segments.map((segment) => this.#spellSegment(segment, params));
      if (!spelled.includes(undefined)) return `/${spelled.join("/")}`;
    }
    throw this.#fault();
  }

  /** Returns `undefined` if a parameter of the segment has no value. */
  #spellSegment(segment: PatternSegment, params: object): string | undefined {
    const parts = partsOf(segment).map((part) => {
      if (typeof part === "string") return part;
      const value: unknown = Object.hasOwn(params, part.name) ? Reflect.get(params, part.name) : undefined;
      if (value === undefined) return undefined;
      const values = part.type === "wildcard" ? splitWildcard(value) : [value];
      if (!values.every((each) => typeof each === "string")) throw this.#fault();
      return values.length === 0 ? undefined : values.map(encode).join("/");
    });
    return parts.includes(undefined) ? undefined : parts.join("");
  }

  #fault(): Error {
    return new Error(
      `The host doesn't report the parameters of the route \`${this.#pattern.source}\`: each must be a string, and a wildcard may be an array of strings. Write withScopes(server, { route, params: (request, context) => context.params }, handler), with a function that finds them, or guard(request, { route, params }).`,
    );
  }
}

/** Returns the segments of a wildcard, of which some hosts report only the path. */
function splitWildcard(value: unknown): readonly unknown[] {
  if (value === "") return [];
  return typeof value === "string" ? value.split("/") : [value].flat();
}

/** Each value stays one segment, so `a/b` and `..` are refused. Half of a character has no encoding. */
const encode = (value: string): string => orUndefined(() => encodeURIComponent(value)) ?? "%";

/** Returns a path in one spelling of its percent-encoding. */
const normalize = (path: string): string =>
  path
    .split("/")
    .map((segment) => encode(decodeSegment(segment)))
    .join("/");

/** How hosts write their routes: folders of Next.js and SvelteKit, h3, and API Gateway. */
const HOST_SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/^ANY /, "* "],
  [/\/\([\w-]+\)(?=\/|$)/g, ""],
  [/\/\[\[\.\.\.(\w+)\]\]/g, "{/*$1}"],
  [/\/(?:\[\.\.\.(\w+)\]|\*\*:(\w+)|\{(\w+)\+\})/g, "/*$1$2$3"],
  [/\/\*\*/g, "/*_"],
  [/\/\[\[(\w+)(?:=\w+)?\]\]/g, "{/:$1}"],
  [/\[(\w+)(?:=\w+)?\]|\{(\w+)\}/g, ":$1$2"],
  [/(^| )\{\/([^{}]+)\}$/, "$1/{$2}"],
  [/^$| $/, "$&/"],
];

/**
 * Translates a route that a host reports for a request. Hosts disagree about whether a wildcard needs a
 * segment, and the parameters show whether it has one.
 */
export const fromHost = (route: string): string =>
  translate(route)
    .replace(/(?<=[^ ])\/(\*\w+)$/, "{/$1}")
    .replace(/\/(\*\w+)$/, "/{$1}");

/** Translates a route as a host writes it to the syntax of the table. */
const translate = (route: string): string =>
  HOST_SPELLINGS.reduce((text, [spelling, replacement]) => text.replace(spelling, replacement), route);
