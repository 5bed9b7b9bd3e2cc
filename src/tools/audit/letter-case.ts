/** Compares paths with their letter case, which a table ignores. */
import { covers } from "../../core/policy/overlap.ts";
import type { PatternSegment } from "../../core/policy/pattern.ts";
import { decodeSegment } from "../../core/policy/segment.ts";

type Segments = readonly PatternSegment[];

/** Changes the text of a path, but not its parameters. */
export const mapTexts = (path: Segments, change: (text: string) => string): Segments =>
  path.map((segment) => {
    if (segment.kind === "static") return { ...segment, text: change(segment.text) };
    if (segment.kind !== "mixed") return segment;
    const parts = segment.parts.map((part) => (typeof part === "string" ? change(part) : part));
    return { ...segment, parts };
  });

/** Like `covers`, for a router or a matcher to which `/API` and `/api` are two paths. */
export const coversInCase = (covering: Segments, covered: Segments): boolean =>
  covers(markCapitals(covering), markCapitals(covered));

/** Writes a character before each capital that no path contains. */
const markCapitals = (path: Segments): Segments =>
  mapTexts(path, (text) => decodeSegment(text).replaceAll(/\p{Lu}/gu, "\u0003$&"));
