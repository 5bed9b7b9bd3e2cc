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

/** Of millions of segments the expression would throw, out of stack; those for the parts of a path need none. */
const MAX_ONE_LOOK = 65_536;

/** A character that no URI path holds (RFC 3986 section 3.3): controls, `\`, `#` and raw non-ASCII. */
const FOREIGN = /[^\w\-.~!$&'()*+,;=:@%/"<>[\]^`{|}]/;

/** An encoded slash, backslash or control, which routers may take for structure, and what encodes nothing. */
const BAD_ESCAPE = /%(?![2-9a-f][\da-f])|%(?:2f|5c|7f)/i;

/** An empty segment, or one that is `.` or `..`, each dot raw or encoded (RFC 3986 section 5.2.4). */
const EMPTY_OR_DOTS = /\/(?:\/|(?:\.|%2e){1,2}(?:\/|$))/i;

/** Reads an origin form up to its query; `undefined` for a path that no honest client sends. */
export function readOriginForm(target: string): Path | undefined {
  const query = target.indexOf("?");
  if (query >= 0 && target.includes("#", query)) return undefined;
  const text = query < 0 ? target : target.slice(0, query);
  if (text.length <= MAX_ONE_LOOK && PLAIN.test(text)) return { text, isPlain: true };
  if (FOREIGN.test(text) || EMPTY_OR_DOTS.test(text)) return undefined;
  if (text.includes("%") && (BAD_ESCAPE.test(text) || !isUtf8(text))) return undefined;
  return { text, isPlain: !/[%;A-Z]/.test(text) };
}

/** Whether the octets that are encoded are text. */
function isUtf8(path: string): boolean {
  // What stands in front is ASCII.
  const octets = path.search(/%[89a-f]/i);
  return octets < 0 || decodeSegment(path.slice(octets)) !== undefined;
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
