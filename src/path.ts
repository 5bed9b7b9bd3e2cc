/** The path of a target. */
import { attempt } from "./errors.ts";

/** A path that all routers divide at the same places: without empty and dot segments, and without encoded structure. */
export interface Path {
  /** From the first slash to the end, still percent-encoded. */
  readonly text: string;
  /** Without capital letters, `%` and `;`: every router takes each segment for the same text. */
  readonly isPlain: boolean;
}

/** What most paths are, told by one look. */
const PLAIN = /^(?:\/(?!\.\.?(?:\/|$))[a-z\d_\-.~!$&'()*+,=:@"<>[\]^`{|}]+)+\/?$/;

/** Of millions of segments the expression would throw, out of stack; the one for the parts of a path is used in turns. */
const MAX_ONE_LOOK = 65_536;

/** What a URI path may hold (RFC 3986 section 3.3): no controls, no `\`, `#` or raw non-ASCII; and what clients leave raw. */
const CHARACTER = /[\w\-.~!$&'()*+,;=:@"<>[\]^`{|}]/;

/** One that begins a segment: neither an empty one, nor `.` or `..`, each dot raw or encoded (RFC 3986 section 5.2.4). */
const SEPARATOR = /\/(?!\/|(?:\.|%2e){1,2}(?:\/|$))/;

/** Encoded ASCII but for slashes, backslashes and controls, which routers may take for structure. */
const ENCODED_ASCII = /%(?:2[\da-e]|[346][\da-f]|5[\dabd-f]|7[\da-e])/;

/** Encoded UTF-8 beyond ASCII (RFC 3629 section 4). `decodeURIComponent` would throw where it is none, which costs more. */
const ENCODED_UTF8 = ((tail: string) =>
  [
    `%c[2-9a-f]${tail}|%d[\\da-f]${tail}`,
    `%e0%[ab][\\da-f]${tail}|%e[1-9a-cef]${tail}${tail}|%ed%[89][\\da-f]${tail}`,
    `%f0%[9ab][\\da-f]${tail}${tail}|%f[1-3]${tail}${tail}${tail}|%f4%8[\\da-f]${tail}${tail}`,
  ].join("|"))("%[89ab][\\da-f]");

/** As many parts of a path as the stack of an expression is sure to hold. */
const PARTS = new RegExp(
  `(?:${[CHARACTER, SEPARATOR, ENCODED_ASCII].map(({ source }) => source).join("|")}|${ENCODED_UTF8}){1,10000}`,
  "iy",
);

/** Reads an origin form up to its query; `undefined` for a path that no honest client sends. */
export function readOriginForm(target: string): Path | undefined {
  const query = target.indexOf("?");
  if (query >= 0 && target.includes("#", query)) return undefined;
  const text = query < 0 ? target : target.slice(0, query);
  if (text.length <= MAX_ONE_LOOK && PLAIN.test(text)) return { text, isPlain: true };
  return isReadable(text) ? { text, isPlain: !/[%;A-Z]/.test(text) } : undefined;
}

function isReadable(path: string): boolean {
  PARTS.lastIndex = 0;
  while (PARTS.lastIndex < path.length) if (!PARTS.test(path)) return false;
  return true;
}

/** The octet that a `%xx` stands for, which must be one. */
export const octetAt = (path: string, index: number): number =>
  digitAt(path, index + 1) * 16 + digitAt(path, index + 2);

function digitAt(path: string, index: number): number {
  const code = path.charCodeAt(index);
  return (code & 0xf) + (code > 0x39 ? 9 : 0);
}

/** A segment as a handler sees it, or `undefined` when its percent-encoding is not valid UTF-8. */
export function decodeSegment(segment: string): string | undefined {
  return segment.includes("%") ? attempt(() => decodeURIComponent(segment)) : segment;
}

/** A segment as a handler sees it; what is not valid stays as it is spelled. */
export const decodeOrKeep = (segment: string): string => decodeSegment(segment) ?? segment;

/** Where the segment that begins at `start` ends. */
export function endOfSegment(path: string, start: number): number {
  const end = path.indexOf("/", start);
  return end < 0 ? path.length : end;
}

/** Where a path ends when its last segments, so many of them, are left out; 0 or less where it has not so many. */
export function endWithout(path: string, count: number): number {
  let end = path.length;
  for (let left = count; left > 0 && end > 0; left -= 1) end = path.lastIndexOf("/", end - 1);
  return end;
}
