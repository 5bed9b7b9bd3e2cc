/** The types of a parsed pattern. */
import type { OperationKey } from "./operation-key.ts";
import { loosen, type SegmentPart } from "./segment.ts";

/**
 * One segment of a pattern, the kinds from the narrowest to the widest. In a rule, `mixed` is a parameter and
 * the text behind it, and a wildcard is the last segment. Routes may mix parts in any way.
 */
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

/** A pattern with its optional groups written out. It matches a path if one of its alternatives does. */
export interface Pattern {
  readonly source: string;
  readonly alternatives: readonly Alternative[];
  /** The parameters that a scope template may name; `"any"` for the arguments of an operation. */
  readonly parameters: ReadonlySet<string> | "any";
  /** Only for an operation. */
  readonly operation?: OperationKey;
}

/** Equal for alternatives that are the same route: parameter names, letter case and encoding don't count. */
export const identityOf = (segments: readonly PatternSegment[]): string =>
  segments.map((segment) => `/${segmentIdentity(segment)}`).join("");

/** Each parameter is a control character, which no segment can contain. */
export const segmentIdentity = (segment: PatternSegment): string =>
  segment.kind === "parameter" ? PARAMETER : partsOf(segment).map(partIdentity).join("");

const PARAMETER = "\u0001";

function partIdentity(part: SegmentPart): string {
  if (typeof part === "string") return loosen(part);
  return part.type === "param" ? PARAMETER : "\u0002";
}

/** Returns the text behind the parameter of a rule's segment; empty if there is none. */
export function textBehind(segment: PatternSegment): string {
  const text = segment.kind === "mixed" ? segment.parts[1] : "";
  return typeof text === "string" ? text : "";
}

/** Returns the names of the parameters in a segment, or of its wildcard. */
export function namesOf(segment: PatternSegment): readonly string[] {
  if (segment.kind === "static") return [];
  return segment.kind === "mixed"
    ? segment.parts.flatMap((part) => (typeof part === "string" ? [] : part.name))
    : [segment.name];
}

/** Returns the strings and parameters of any segment. */
export function partsOf(segment: PatternSegment): readonly SegmentPart[] {
  if (segment.kind === "mixed") return segment.parts;
  if (segment.kind === "static") return [segment.text];
  return [{ type: segment.kind === "parameter" ? "param" : "wildcard", name: segment.name }];
}
