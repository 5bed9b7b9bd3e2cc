/** Paths that a pattern matches, for samples and links. */
import type { CompiledRule } from "../../core/policy/rule.ts";
import { type Alternative, partsOf } from "../../core/policy/pattern.ts";

/** Returns the value of a route parameter, or of a wildcard, which may contain slashes. */
export type SampleValue = (name: string, kind: "parameter" | "wildcard") => string;

/** Fills in the parameters of a pattern. */
export function samplePath({ segments, hasSlash }: Alternative, valueOf: SampleValue): string {
  const texts = segments.map((segment) => {
    if (segment.kind === "wildcard") return valueOf(segment.name, "wildcard");
    return partsOf(segment)
      .map((part) => (typeof part === "string" ? part : valueOf(part.name, "parameter")))
      .join("");
  });
  return `/${texts.join("/")}${hasSlash ? "/" : ""}`;
}

export const sampleMethodOf = ({ rule }: CompiledRule): string => (rule.method === "*" ? "GET" : rule.method);

/** Returns a path that a rule is for. The names of parameters are their values. */
export function samplePathOf({ pattern, rule }: CompiledRule): string {
  const [alternative] = pattern.alternatives;
  return alternative ? samplePath(alternative, (name) => name) : rule.pattern;
}
