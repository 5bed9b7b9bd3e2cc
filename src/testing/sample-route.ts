import { suggest } from "../errors.ts";
import { type Pattern, type PatternSegment } from "../policy/pattern.ts";
import { isPattern, parsePattern } from "../policy/parse-pattern.ts";
import { type Rule } from "../policy/rule.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type Asked } from "./decide.ts";
import { mistake } from "./mistakes.ts";

/** What stands for the parameters of routes; a parameter that is left out is filled with its own name. */
export type SampleParams = Readonly<Record<string, string>>;

/** Of a rule for every method one is asked. */
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"];

/** How many paths are tried for each way to write a pattern: others may be those of a narrower rule. */
const VARIANTS = [0, 1, 2, 3];

/** A request that a rule decides, or `undefined` where none was found. */
export function sampleOf(server: ResourceServer, rule: Rule, params: SampleParams): Asked | undefined {
  const methods = rule.method === "*" ? METHODS : [rule.method];
  const alternatives = patternsOf([rule]).flatMap((pattern) => pattern.alternatives);
  for (const method of methods) {
    for (const variant of VARIANTS) {
      for (const { segments, hasSlash } of alternatives) {
        const path = segments.map((segment) => fill(segment, params, variant)).join("/");
        const target = `/${path}${hasSlash ? "/" : ""}`;
        if (server.explain({ method, path: target }).decision.rule === rule) return { method, target };
      }
    }
  }
  return undefined;
}

/** @throws ConfigurationError for a parameter that no route of the table has */
export function requireParams(call: string, params: SampleParams, rules: Iterable<Rule>): void {
  const known = new Set(patternsOf(rules).flatMap(({ parameters }) => [...parameters]));
  for (const [name, value] of Object.entries(params)) {
    const hint = suggest(name, [...known], `The parameters are ${[...known].join(", ")}.`);
    if (!known.has(name)) throw mistake([call, "params", name], "is no parameter of the table.", hint);
    if (value === "")
      throw mistake([call, "params", name], "is empty.", "Give a value that a path can hold.");
  }
}

const patternsOf = (rules: Iterable<Rule>): readonly Pattern[] =>
  [...rules].map(({ pattern }) => parsePattern(pattern)).filter(isPattern);

function fill(segment: PatternSegment, params: SampleParams, variant: number): string {
  switch (segment.kind) {
    case "static":
      return segment.text;
    case "mixed":
      return segment.parts
        .map((part) => (typeof part === "string" ? part : valueOf(part.name, params, variant)))
        .join("");
    case "parameter":
      return valueOf(segment.name, params, variant);
    case "wildcard": {
      const given = params[segment.name];
      if (given !== undefined) return given.split("/").map(encodeURIComponent).join("/");
      return Array.from({ length: variant + 1 }, () => segment.name).join("/");
    }
  }
}

const valueOf = (name: string, params: SampleParams, variant: number): string =>
  encodeURIComponent(params[name] ?? (variant === 0 ? name : `${name}-${variant}`));
