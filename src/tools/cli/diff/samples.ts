/** Requests that show every difference between two tables. */
import { METHODS } from "node:http";
import { alternativesOf } from "../../../core/policy/route-coverage.ts";
import { commonPatterns } from "../../../core/policy/overlap.ts";
import { identityOf, partsOf, type PatternSegment } from "../../../core/policy/pattern.ts";
import { renderPattern } from "../../../core/policy/render-pattern.ts";
import { type CompiledRule } from "../../../core/policy/rule.ts";
import { OPERATION_METHOD } from "../../../core/request.ts";

export interface Sample {
  /** The key of a rule, or the method and pattern of what two rules have in common. */
  readonly label: string;
  readonly method: string;
  readonly target: string;
}

type Segments = readonly PatternSegment[];

/**
 * Lists one path for each pattern, and one for the paths that two patterns have in common. If one rule
 * decided a request before and another one decides it now, they also decide the common path.
 */
export function* samplesOf(rules: readonly CompiledRule[]): Iterable<Sample> {
  // A wildcard gets up to one segment more than any pattern has, so that no other pattern hides it.
  const longest = Math.max(0, ...rules.flatMap(alternativesOf).map(({ length }) => length));
  const widths = Array.from({ length: longest + 1 }, (_, index) => index + 1);
  const routes = rules.filter(({ rule }) => rule.method !== OPERATION_METHOD);
  const operations = rules.filter((one) => !routes.includes(one));
  const named = new Set(routes.map(({ rule }) => rule.method));
  const other = METHODS.find((method) => !named.has(method)) ?? "*";
  const methods = [...named, other].filter((one) => one !== "*");
  for (const compiled of routes) {
    const own = compiled.rule.method === "*" ? methods : [compiled.rule.method];
    for (const segments of alternativesOf(compiled))
      yield* samplesAt(compiled.rule.key, own, segments, widths);
  }
  const patterns = [...new Map(routes.flatMap(alternativesOf).map((one) => [identityOf(one), one])).values()];
  for (const [index, one] of patterns.entries())
    for (const other of patterns.slice(index)) {
      for (const common of commonPatterns(one, other)) yield* samplesAt(undefined, methods, common, widths);
    }
  for (const { rule } of operations)
    yield { label: rule.key, method: rule.method, target: rule.pattern.replace(/ \*$/, " ~") };
}

function* samplesAt(
  key: string | undefined,
  methods: readonly string[],
  segments: Segments,
  all: readonly number[],
): Iterable<Sample> {
  const widths = segments.some(({ kind }) => kind === "wildcard") ? all : [1];
  const pattern = renderPattern({ segments, hasSlash: false });
  for (const method of methods)
    for (const width of widths)
      yield { label: key ?? `${method} ${pattern}`, method, target: fill(segments, width) };
}

/** Fills parameters with values that no static segment has. */
function fill(segments: Segments, width: number): string {
  let count = 0;
  const next = () => `~${(count += 1)}`;
  const texts = segments.map((segment) =>
    segment.kind === "wildcard"
      ? Array.from({ length: width }, next).join("/")
      : partsOf(segment)
          .map((part) => (typeof part === "string" ? part : next()))
          .join(""),
  );
  return `/${texts.join("/")}`;
}
