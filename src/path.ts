/** The path of a target. */
import { attempt } from "./errors.ts";

/** A path that all routers divide at the same places: without empty and dot segments, and without encoded structure. */
export interface Path {
  /** From the first slash to the end, still percent-encoded. */
  readonly text: string;
  /** Without capital letters, `%` and `;`: every router takes each segment for the same text. */
  readonly isPlain: boolean;
}

/** What a character is to the one look that is enough for most paths: the table is faster than an expression. */
const ORDINARY = 0;
const SLASH = 1;
const DOT = 2;
const QUERY = 3;
const OTHER = 4;

const KINDS = Uint8Array.from({ length: 256 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (/[a-z\d_\-~!$&'()*+,=:@"<>[\]^`{|}]/.test(char)) return ORDINARY;
  return { "/": SLASH, ".": DOT, "?": QUERY }[char] ?? OTHER;
});

/** Where that look is: in a segment, behind a slash, or behind the dots that are all of a segment so far. */
const TEXT = 0;
const START = 1;
const ONE_DOT = 2;
const TWO_DOTS = 3;

/** And where one more dot leads to from each. */
const AFTER_DOT = [TEXT, ONE_DOT, TWO_DOTS, TEXT] as const;

/** Of longer targets an expression tells sooner: it does not ask at each character how the string is stored. */
const MAX_SHORT = 256;
const LONG_PLAIN = /^(?:\/(?!\.\.?(?:\/|$))[a-z\d_\-.~!$&'()*+,=:@"<>[\]^`{|}]+)+\/?$/;

/** Of millions of segments it would throw, out of stack; the one for the parts of a path is used in turns. */
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
  const isShort = target.length <= MAX_SHORT;
  const end = isShort ? endOfPlain(target) : 0;
  if (end === target.length) return { text: target, isPlain: true };
  const query = target.indexOf("?", end);
  if (query >= 0 && target.includes("#", query)) return undefined;
  const text = query < 0 ? target : target.slice(0, query);
  if (isShort ? end === query : isLongPlain(text)) return { text, isPlain: true };
  return isReadable(text) ? { text, isPlain: !/[%;A-Z]/.test(text) } : undefined;
}

const isLongPlain = (path: string): boolean => path.length <= MAX_ONE_LOOK && LONG_PLAIN.test(path);

/** Where a plain path ends, with the target or in front of its query; 0 for one that needs another look. */
function endOfPlain(target: string): number {
  let place: number = TEXT;
  for (let index = 0; index < target.length; index += 1) {
    const kind = KINDS[target.charCodeAt(index)];
    if (kind === ORDINARY) place = TEXT;
    else if (kind === DOT) place = AFTER_DOT[place] ?? TEXT;
    else if (kind === SLASH && place === TEXT) place = START;
    else return kind === QUERY && place <= START ? index : 0;
  }
  return place <= START ? target.length : 0;
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
