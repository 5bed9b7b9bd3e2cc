/** Writes patterns as text in path-to-regexp's syntax. */
import { type Alternative, type PatternSegment } from "./pattern.ts";
import { type SegmentPart } from "./segment.ts";

/** A text as a pattern that matches only that text. */
export const literalPattern = (text: string): string => text.replaceAll(/[{}()[\]+?!:*\\]/g, "\\$&");

/** What stands for a route whose path is a regular expression: no rule covers it. */
export const EXPRESSION = "/(expression)";

export const renderPattern = ({ segments, hasSlash }: Alternative): string =>
  segments.map((segment) => `/${renderSegment(segment)}`).join("") +
  (hasSlash || segments.length === 0 ? "/" : "");

function renderSegment(segment: PatternSegment): string {
  switch (segment.kind) {
    case "static":
      return literalPattern(segment.text);
    case "mixed":
      return unquote(segment.parts.map(renderPart).join(""));
    case "parameter":
      return unquote(renderPart({ type: "param", name: segment.name }));
    case "wildcard":
      return unquote(renderPart({ type: "wildcard", name: segment.name }));
  }
}

function renderPart(part: SegmentPart): string {
  if (typeof part === "string") return literalPattern(part);
  return `${part.type === "param" ? ":" : "*"}${quoteName(part.name)}`;
}

/** Quoted, so that any name can stand in front of any text. */
export const quoteName = (name: string): string => `"${name.replaceAll(/["\\]/g, "\\$&")}"`;

/** Without the quotes around names that need none. */
export const unquote = (pattern: string): string =>
  pattern.replaceAll(/([:*])"([A-Za-z_]\w*)"(?![\w$\u0080-\uffff])/g, "$1$2");
