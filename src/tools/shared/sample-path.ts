/** Paths that a pattern matches, for samples and links. */
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
