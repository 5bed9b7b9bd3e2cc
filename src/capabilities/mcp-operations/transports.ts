/** The paths at which clients reach MCP servers, such as `/t/:org/mcp`, and their parameters. */
import { commonPatterns } from "../../core/policy/overlap.ts";
import { type ParameterSource, readParameter } from "../../core/policy/parameters.ts";
import { isPattern } from "../../core/policy/parse-pattern.ts";
import { namesOf, type PatternSegment } from "../../core/policy/pattern.ts";
import { ComparablePath, type ComparableRoute, comparableRoute } from "../../core/policy/route-comparison.ts";
import { parseRulePattern } from "../../core/policy/rule-pattern.ts";
import type { Path } from "../../core/request.ts";
import { ANY } from "../../core/scopes/required-scope.ts";

type Segments = readonly PatternSegment[];

/** Where an operation is called: one of the transport's paths, with the path of the request if it's known. */
export interface Place {
  /** As the option `paths` has it; `undefined` without this option. */
  readonly path: string | undefined;
  /** What fills the parameters of the path; absent if there are none, or if the request isn't known. */
  readonly source?: ParameterSource | undefined;
}

const EVERYWHERE: readonly Place[] = [{ path: undefined }];

export class Transports {
  readonly #routes = new Map<string, ComparableRoute>();
  /** The parameters of all paths. An argument with such a name is never read: a client could choose it. */
  readonly names: ReadonlySet<string>;

  constructor(paths: readonly string[] = []) {
    for (const path of paths) this.#routes.set(path, comparableRoute(segmentsOf(path) ?? []));
    this.names = new Set(paths.flatMap(parametersOf));
  }

  get paths(): readonly string[] {
    return [...this.#routes.keys()];
  }

  /** Returns the places of a request, in every spelling that a router may read as one of the paths. */
  at(path: Path): readonly Place[] {
    if (this.#routes.size === 0) return EVERYWHERE;
    const comparable = new ComparablePath(path);
    return [...this.#routes].flatMap(([source, route]): readonly Place[] => {
      const read = comparable.readFor(route);
      if (!read) return [];
      const { segments } = route;
      return [
        { path: source, source: parametersOf(source).length > 0 ? { path: read, segments } : undefined },
      ];
    });
  }

  /** Returns the same string for requests of one path, with the same values; empty without paths. */
  idOf(path: Path | undefined): string {
    if (!path || this.#routes.size === 0) return "";
    const places = this.at(path);
    const values = places.map((place) => [
      place.path,
      ...[...this.names].map((name) => valueAt(place, name)),
    ]);
    return JSON.stringify(values);
  }

  /** Returns one path, or all of them if it isn't known which one a question is about. */
  named(path: string | undefined): readonly Place[] {
    if (this.#routes.size === 0) return EVERYWHERE;
    return this.paths.filter((each) => path === undefined || each === path).map((each) => ({ path: each }));
  }
}

/** Returns the value of a parameter of the path; empty if it isn't known. */
export const valueAt = ({ source }: Place, name: string): string =>
  source ? readParameter(source, name) : "";

/** Returns the segments of a path that a transport can have; `undefined` for any other pattern. */
function segmentsOf(path: string): Segments | undefined {
  const pattern = parseRulePattern(path);
  const [only, ...others] = isPattern(pattern) ? pattern.alternatives : [];
  if (!only || others.length > 0 || only.segments.at(-1)?.kind === "wildcard") return undefined;
  return only.segments.flatMap(namesOf).includes(ANY) ? undefined : only.segments;
}

export const parametersOf = (path: string): readonly string[] => (segmentsOf(path) ?? []).flatMap(namesOf);

export const isTransportPath = (path: unknown): boolean =>
  typeof path === "string" && segmentsOf(path) !== undefined;

/** Returns whether one request can have two of these paths: it wouldn't be known which server it's for. */
export const overlap = (paths: readonly string[]): boolean =>
  paths.some((path, index) =>
    paths
      .slice(0, index)
      .some((other) => commonPatterns(segmentsOf(other) ?? [], segmentsOf(path) ?? []).length > 0),
  );
