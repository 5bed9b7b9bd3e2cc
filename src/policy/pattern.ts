/** What a pattern is made of. */
import { loosen, type SegmentPart } from "./segment.ts";

/** One segment of a pattern, the kinds from the narrowest to the widest. */
export type PatternSegment =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "mixed"; readonly parts: readonly SegmentPart[] }
  | { readonly kind: "parameter"; readonly name: string }
  | { readonly kind: "wildcard"; readonly name: string };

/** A pattern without optional groups. */
export interface Alternative {
  readonly segments: readonly PatternSegment[];
  /** Whether the pattern ends with a slash. It matches the same routes with and without. */
  readonly hasSlash: boolean;
}

/** A pattern with its optional groups written out: it matches what any of its alternatives matches. */
export interface Pattern {
  readonly source: string;
  readonly alternatives: readonly Alternative[];
  /** The parameters that a scope template may name. */
  readonly parameters: ReadonlySet<string>;
}

/** The same for alternatives that are one route: parameter names, letter case and encoding do not count. */
export const identityOf = (segments: readonly PatternSegment[]): string =>
  segments.map((segment) => `/${segmentIdentity(segment)}`).join("");

/** Parameters are written as control characters, which no segment can hold. */
export function segmentIdentity(segment: PatternSegment): string {
  switch (segment.kind) {
    case "static":
      return loosen(segment.text);
    case "mixed":
      return segment.parts.map((part) => (typeof part === "string" ? loosen(part) : "\u0001")).join("");
    case "parameter":
      return "\u0001";
    case "wildcard":
      return "\u0002";
  }
}
