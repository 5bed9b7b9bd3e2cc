import {
  behind,
  capitalize,
  eachSegment,
  FOLDED,
  inFront,
  lastSegment,
  percent,
  swapCase,
} from "./rewrite-path.ts";
import { type Spelling } from "./spelling.ts";

/** Variants that write the characters of a path differently. */
export const CHARACTER_SPELLINGS: readonly Spelling[] = [
  {
    name: "letter case",
    write: (path) => [
      path.toUpperCase(),
      capitalize(path.slice(1)).replace(/^/, "/"),
      ...eachSegment(path, swapCase),
      ...eachSegment(path, capitalize),
    ],
  },
  {
    name: "encoded letters",
    write: (path) => [
      ...eachSegment(path, (text) => text.replace(/[a-z]/, percent)),
      ...eachSegment(path, (text) => text.replace(/[a-z]$/, (char) => percent(char).toUpperCase())),
      ...eachSegment(path, (text) => text.replaceAll(/[a-z]/gi, percent)),
      lastSegment(path, (text) => text.replace(/[a-z]/i, (char) => percent(swapCase(char)))),
    ],
  },
  {
    name: "letters encoded twice",
    write: (path) =>
      eachSegment(path, (text) => text.replace(/[a-z]/, (char) => `%25${percent(char).slice(1)}`)),
  },
  {
    name: "NUL or control character",
    write: (path) => [
      ...behind("%00", "%00.html", "%0a", "%0d%0a", "%09", "%7f", "\u0000", "\t", "\u0001")(path),
      lastSegment(path, (text) => `%00${text}`),
    ],
  },
  {
    name: "semicolon parameter",
    write: (path) => [
      ...behind(";", ";v=1", ";/health", ";/../health", ";?x=1", "/;v=1", "%3bv=1")(path),
      ...eachSegment(path, (text) => `${text};v=1`),
      ...eachSegment(path, (text) => `;v=1${text}`),
      ...inFront("/;v=1", "/health;/..", "/;")(path),
    ],
  },
  {
    name: "invalid percent-encoding",
    write: (path) => [
      ...behind("%", "%zz", "%2", "%ff", "%c0%af", "%E0%80%AE", "%u0061")(path),
      ...eachSegment(path, (text) => `%${text}`),
    ],
  },
  {
    name: "unicode folding",
    write: (path) =>
      Object.entries(FOLDED).flatMap(([letter, folded]) =>
        path.toLowerCase().includes(letter) ? [path.replace(new RegExp(letter, "i"), folded)] : [],
      ),
  },
  { name: "encoded unicode", write: behind("%C3%A9", "%EF%BC%8F", "%E2%80%AE", "%EF%BB%BF", "%C2%A0") },
  { name: "raw non-ASCII", write: behind("\u00e9", "\u00ff", "\u00c3\u00a9") },
  {
    name: "space",
    write: (path) => [...behind("%20", "+", " ", "/%20")(path), lastSegment(path, (text) => `%20${text}`)],
  },
  {
    name: "other character",
    write: behind(
      "!",
      "$",
      "&",
      "'",
      '"',
      "(",
      ")",
      "*",
      ",",
      ":",
      "=",
      "@",
      "[",
      "]",
      "^",
      "`",
      "{",
      "|",
      "}",
      "~",
    ),
  },
  { name: "extension", write: behind(".json", ".", "..", ".html") },
  {
    name: "several at once",
    write: (path) => [
      `http://service.example${path.toUpperCase()}/`,
      `http://service.example${path};v=1`,
      `${path.toUpperCase()}%20`,
      `${path.toUpperCase()}/`,
      `${path}/;v=1/`,
      lastSegment(path, (text) => `%2e/${capitalize(text)}`),
    ],
  },
];
