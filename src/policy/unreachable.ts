import { readPath, segmentsOf } from "../request.ts";
import { type SegmentPart } from "./segment.ts";

/** A pattern whose own sample path is refused, or is read as another path, would never decide a request. */
export function findUnreachable(
  segments: readonly (readonly SegmentPart[])[],
  source: string,
): { readonly code: "route_unreachable"; readonly message: string; readonly hint: string } | undefined {
  const sample = segments.map((parts) =>
    parts.map((part) => (typeof part === "string" ? part : "x")).join(""),
  );
  const read = readPath(`/${sample.join("/")}`);
  // `//` is one empty segment here, and none in the path.
  if (read && sample[0] !== "" && segmentsOf(read).join("/") === sample.join("/")) return undefined;
  const encoded = source.replaceAll(/[^\x20-\x7e]+/g, encodeURI);
  const isForeign = encoded !== source && readPath(`/${sample.map(encodeURI).join("/")}`) !== undefined;
  return {
    code: "route_unreachable",
    message: "is a path that is refused in every request.",
    hint: isForeign
      ? `Write it percent-encoded, as clients send it: \`${encoded}\`.`
      : "Write a path without empty or dot segments, query, fragment, semicolon, backslash and encoded slashes.",
  };
}
