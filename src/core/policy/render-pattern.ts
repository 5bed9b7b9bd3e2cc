/** Renders patterns in path-to-regexp's syntax. */
import { type Alternative, partsOf, type PatternSegment } from "./pattern.ts";
import { literalPattern, quoteName, unquote } from "./pattern-text.ts";
import type { SegmentPart } from "./segment.ts";

export const renderPattern = ({ segments, hasSlash }: Alternative): string =>
  segments.map((segment) => `/${renderSegment(segment)}`).join("") +
  (hasSlash || segments.length === 0 ? "/" : "");

const renderSegment = (segment: PatternSegment): string => unquote(partsOf(segment).map(renderPart).join(""));

function renderPart(part: SegmentPart): string {
  if (typeof part === "string") return literalPattern(part);
  return `${part.type === "param" ? ":" : "*"}${quoteName(part.name)}`;
}
