/** Renders patterns in path-to-regexp's syntax. */
import { type Alternative, partsOf, type PatternSegment } from "./pattern.ts";
import type { SegmentPart } from "./segment.ts";

/** Escapes a string, so that the pattern matches only this string. */
export const literalPattern = (text: string): string => text.replaceAll(/[{}()[\]+?!:*\\]/g, "\\$&");

/** The pattern for a route whose path is a regular expression. No rule covers it. */
export const EXPRESSION = "/(expression)";

export const renderPattern = ({ segments, hasSlash }: Alternative): string =>
  segments.map((segment) => `/${renderSegment(segment)}`).join("") +
  (hasSlash || segments.length === 0 ? "/" : "");

const renderSegment = (segment: PatternSegment): string => unquote(partsOf(segment).map(renderPart).join(""));

function renderPart(part: SegmentPart): string {
  if (typeof part === "string") return literalPattern(part);
  return `${part.type === "param" ? ":" : "*"}${quoteName(part.name)}`;
}

/** Quotes a name, so that any character can follow it. */
export const quoteName = (name: string): string => `"${name.replaceAll(/["\\]/g, "\\$&")}"`;

/** Removes the quotes from names that don't need them. */
export const unquote = (pattern: string): string =>
  pattern.replaceAll(/(?<!\\)([:*])"([A-Za-z_]\w*)"(?![\w$\u0080-\uffff])/g, "$1$2");
