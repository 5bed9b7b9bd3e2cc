/** Request targets, how each is read or why it is refused: by hand, except those of test/routing/spellings.ts. */
import { SPELLINGS } from "../routing/spellings.ts";
import type { PathCase } from "./format.ts";

/** Each with its segments, and an empty one for a trailing slash. */
export const READ: readonly (readonly [target: string, segments: readonly string[]])[] = [
  ["/", []],
  ["/agents", ["agents"]],
  ["/agents/", ["agents", ""]],
  ["/agents/web/runs", ["agents", "web", "runs"]],
  ["/agents?limit=5", ["agents"]],
  ["/agents?", ["agents"]],
  ["/agents?path=/../..%2f//\\%00%", ["agents"]],
  ["/w%65b", ["w%65b"]],
  ["/web%3Aadmin", ["web%3Aadmin"]],
  ["/100%25", ["100%25"]],
  ["/...", ["..."]],
  ["/.well-known/x", [".well-known", "x"]],
  ["/a..b/..c/d..", ["a..b", "..c", "d.."]],
  ["/%2e%2e%2e", ["%2e%2e%2e"]],
  ["/a=c,d/e@f:g", ["a=c,d", "e@f:g"]],
  ["/~-._!$&'()*+,=:@", ["~-._!$&'()*+,=:@"]],
];

export const READ_ABSOLUTE: typeof READ = [
  ["http://service.example/agents", ["agents"]],
  ["https://service.example/agents/", ["agents", ""]],
  ["HTTP://SERVICE.EXAMPLE/Agents", ["Agents"]],
  ["http://service.example:8080/agents?x=1", ["agents"]],
  ["http://[::1]:8080/agents", ["agents"]],
  ["http://service.example", []],
];

export const REFUSED: readonly (readonly [why: string, targets: readonly string[]])[] = [
  ["a dot segment", ["/.", "/./a", "/a/.", "/a/./b", "/./"]],
  ["a double dot segment", ["/..", "/../a", "/a/..", "/a/../b", "/a/../"]],
  ["an encoded dot segment", ["/%2e", "/%2E/a", "/a/%2e%2e", "/a/%2E%2E/b", "/a/%2e%2E/"]],
  ["a dot segment that is encoded in part", ["/.%2e/a", "/%2e./a", "/a/.%2E/b", "/a/%2E."]],
  ["a dot segment before a query", ["/a/..?x", "/a/%2e%2e?x", "/.?x"]],
  ["an empty segment", ["//", "//a", "/a//b", "/a//", "///", "//?x", "/a//?x"]],
  ["a backslash", ["/\\", "/a\\b", "/a/..\\b", "\\a", "/\\evil.example/a"]],
  ["an encoded slash", ["/a%2fb", "/a%2Fb", "/%2f", "/a/..%2fb", "/%2f%2fevil"]],
  ["an encoded backslash", ["/a%5cb", "/a%5Cb", "/..%5c"]],
  ["an encoded NUL", ["/%00", "/a%00", "/a%00.json"]],
  ["an encoded control character", ["/%01", "/%09", "/%0a", "/%0D", "/%0d%0aX:y", "/%1f", "/%1F", "/%7f"]],
  ["a raw control character", ["/\0", "/a\tb", "/a\nb", "/a\rb", "/a\u001fb", "/a\u007f", "/a\n"]],
  ["a raw space", ["/a b", "/ ", "/a "]],
  ["invalid percent-encoding", ["/%", "/a%", "/%2", "/%zz", "/%G0", "/a%2", "/% 1", "/%u0061"]],
  ["percent-encoding that is not UTF-8", ["/%ff", "/%C3", "/%C3%28", "/%c0%ae", "/%e0%80%af", "/%ED%A0%80"]],
  ["a semicolon", ["/a;b", "/;", "/a;v=1/b", "/agents;.json", "/a/;", "http://host/a;b"]],
  ["a raw number sign", ["/a#b", "/#", "/a#", "/a?x#y", "/a#/../b"]],
  ["a raw character beyond ASCII", ["/é", "/日本", "/a\u2028b", "/a\u0130", "/a\ufeff", "/\u{1f600}"]],
];

export const REFUSED_ABSOLUTE: typeof REFUSED = [
  ["userinfo", ["http://user@host/a", "http://user:pass@host/a", "http://good.example@evil.example/a"]],
  ["a query directly after the host", ["http://service.example?x=1", "http://h?/admin/x.txt", "http://h?a/b"]],
  ["no host", ["http:///a", "http://", "http:/a", "http:a", "http://:80/a", "http://?x"]],
  [
    "an invalid host",
    [
      "http://ho_st/a",
      "http://ho%73t/a",
      "http://h\\a",
      "http://host\\@evil/a",
      "http://hé/a",
      "http://h o/a",
    ],
  ],
  [
    "an invalid port",
    ["http://host:/a", "http://host:port/a", "http://host:123456/a", "http://host:80:80/a"],
  ],
  [
    "an invalid IPv6 address",
    ["http://[::1/a", "http://::1/a", "http://[::1]x/a", "http://[fe80::1%25en0]/a"],
  ],
  ["another scheme", ["ftp://host/a", "ws://host/a", "file:///a", "javascript:a", "httpx://host/a"]],
  ["a path that is refused by itself", ["http://host//a", "http://host/../a", "http://host/%2f"]],
  ["a fragment", ["http://host#/a", "http://host/a#b"]],
  ["leading or trailing text", [" http://host/a", "\nhttp://host/a", "http://host/a "]],
];

/** Neither the origin form nor the absolute form. */
export const OTHER_FORMS: readonly string[] = [
  "*",
  "",
  "agents",
  "?x=1",
  "host:443",
  "host.example:443",
  "./a",
  "../a",
  " /a",
  "%2fa",
];

/** Spellings that are refused, except where they are encoded twice. */
const REFUSED_SPELLINGS: readonly string[] = [
  "doubled slash",
  "dot segment",
  "encoded dot segment",
  "encoded slash",
  "backslash",
  "raw #",
  "NUL or control character",
  "semicolon parameter",
  "invalid percent-encoding",
  "raw non-ASCII",
];

/** Spellings that are read. What they mean to a router is another question (docs/understand/routes.md). */
const READ_SPELLINGS: readonly string[] = [
  "query",
  "trailing slash",
  "absolute form",
  "more segments",
  "letter case",
  "encoded letters",
  "letters encoded twice",
  "unicode folding",
  "encoded unicode",
  "extension",
];

/** A percent sign or a semicolon that is encoded is text. */
const ENCODED_TWICE = /^\/.*(?:%25|%3b)/;

const LONGEST = "/".padEnd(8_192, "a");

const read = (target: string, segments: readonly string[]): PathCase => ({
  target,
  result: "accepted",
  segments: [...segments],
});
const refuse = (target: string, why: string): PathCase => ({ target, result: "ambiguous", why });

/** What is left without the authority and the query, divided at each slash. */
function segmentsIn(target: string): readonly string[] {
  const [path = ""] = target.replace(/^https?:\/\/[^/?]*/i, "").split("?");
  return path.split("/").slice(1);
}

const spelled = SPELLINGS.flatMap(({ name, write }) =>
  write("/agents/web").flatMap((target) => {
    if (READ_SPELLINGS.includes(name)) return [read(target, segmentsIn(target))];
    if (!REFUSED_SPELLINGS.includes(name)) return [];
    return [ENCODED_TWICE.test(target) ? read(target, segmentsIn(target)) : refuse(target, name)];
  }),
);

const all: readonly PathCase[] = [
  ...[...READ, ...READ_ABSOLUTE].map(([target, segments]) => read(target, segments)),
  ...[...REFUSED, ...REFUSED_ABSOLUTE].flatMap(([why, targets]) =>
    targets.map((target) => refuse(target, why)),
  ),
  ...OTHER_FORMS.map((target) => refuse(target, "neither the origin form nor the absolute form")),
  read(LONGEST, [LONGEST.slice(1)]),
  refuse(`${LONGEST}a`, "more than 8,192 characters"),
  ...spelled,
];

export const PATH_CASES: readonly PathCase[] = [...new Map(all.map((one) => [one.target, one])).values()];
