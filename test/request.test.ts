import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AccessRequest,
  observableTarget,
  originForm,
  ownMember,
  pathOf,
  readPath,
  readTarget,
  withoutCredentials,
} from "../src/request.ts";
import { decodeSegment } from "../src/path.ts";
import { anyCharacter } from "./support/text.ts";

describe("readTarget", () => {
  it.each([
    ["/", []],
    ["/agents", ["agents"]],
    ["/agents/", ["agents", ""]],
    ["/agents/web/runs", ["agents", "web", "runs"]],
    ["/agents/web/", ["agents", "web", ""]],
    ["/agents?limit=5", ["agents"]],
    ["/?limit=5", []],
    ["/agents?", ["agents"]],
    ["/agents?path=/../..%2f//\\%00%", ["agents"]],
    ["/w%65b", ["w%65b"]],
    ["/caf%C3%A9", ["caf%C3%A9"]],
    ["/a%20b", ["a%20b"]],
    ["/web%3Aadmin", ["web%3Aadmin"]],
    ["/100%25", ["100%25"]],
    ["/a%3Fb", ["a%3Fb"]],
    ["/a%23b", ["a%23b"]],
    ["/...", ["..."]],
    ["/.well-known/x", [".well-known", "x"]],
    ["/a..b/..c/d..", ["a..b", "..c", "d.."]],
    ["/%2e%2e%2e", ["%2e%2e%2e"]],
    ["/a;b=c,d/e@f:g", ["a;b=c,d", "e@f:g"]],
    ["/~-._!$&'()*+,;=:@", ["~-._!$&'()*+,;=:@"]],
  ])("reads %j as %j", (target, segments) => {
    expect(readTarget(target)).toEqual(segments);
  });

  it.each([
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
    ["a bad percent-encoding", ["/%", "/a%", "/%2", "/%zz", "/%G0", "/a%2", "/% 1", "/%u0061"]],
    ["an encoding that is no UTF-8", ["/%ff", "/%C3", "/%C3%28", "/%c0%ae", "/%e0%80%af", "/%ED%A0%80"]],
    ["a raw number sign", ["/a#b", "/#", "/a#", "/a?x#y", "/a#/../b"]],
    ["a raw character beyond ASCII", ["/é", "/日本", "/a\u2028b", "/a\u0130", "/a\ufeff", "/\u{1f600}"]],
  ])("refuses %s", (_, targets) => {
    expect(targets.filter((target) => readTarget(target) !== undefined)).toEqual([]);
  });

  it.each([
    ["http://service.example/agents", ["agents"]],
    ["https://service.example/agents/", ["agents", ""]],
    ["HTTP://SERVICE.EXAMPLE/Agents", ["Agents"]],
    ["http://service.example:8080/agents?x=1", ["agents"]],
    ["http://127.0.0.1/agents", ["agents"]],
    ["http://[::1]:8080/agents", ["agents"]],
    ["http://service.example", []],
    ["http://service.example/", []],
    ["http://service.example?x=1", []],
    ["http://service.example:80?x=/agents", []],
  ])("reads the absolute form %j as %j (RFC 9112 section 3.2.2)", (target, segments) => {
    expect(readTarget(target)).toEqual(segments);
  });

  it("reads the path of an absolute form as Node's URL parser hands it to routers", () => {
    expect(readTarget("http://service.example/a{b}|c^d`e<f>g\"h'i")).toEqual([
      "a%7Bb%7D%7Cc%5Ed%60e%3Cf%3Eg%22h%27i",
    ]);
    expect(readTarget("/a{b}'c")).toEqual(["a{b}'c"]);
    expect(readTarget(`http://host/${"^".repeat(100)}?${"^".repeat(100)}`)).toEqual(["%5E".repeat(100)]);
    expect(readTarget(`/${"^".repeat(101)}`)).toEqual(["^".repeat(101)]);
  });

  it.each([
    ["userinfo", ["http://user@host/a", "http://user:pass@host/a", "http://good.example@evil.example/a"]],
    ["no host", ["http:///a", "http://", "http:/a", "http:a", "http://:80/a", "http://?x"]],
    [
      "an odd host",
      [
        "http://ho_st/a",
        "http://ho%73t/a",
        "http://h\\a",
        "http://host\\@evil/a",
        "http://hé/a",
        "http://h o/a",
      ],
    ],
    ["an odd port", ["http://host:/a", "http://host:port/a", "http://host:123456/a", "http://host:80:80/a"]],
    ["an odd IPv6 address", ["http://[::1/a", "http://::1/a", "http://[::1]x/a", "http://[fe80::1%25en0]/a"]],
    ["another scheme", ["ftp://host/a", "ws://host/a", "file:///a", "javascript:a", "httpx://host/a"]],
    ["a path that is refused by itself", ["http://host//a", "http://host/../a", "http://host/%2f"]],
    ["a fragment", ["http://host#/a", "http://host/a#b"]],
    ["more than a hundred characters to write encoded", [`http://host/${`{"'`.repeat(33)}^^`]],
    ["leading or trailing text", [" http://host/a", "\nhttp://host/a", "http://host/a "]],
  ])("refuses an absolute form with %s", (_, targets) => {
    expect(targets.filter((target) => readTarget(target) !== undefined)).toEqual([]);
  });

  it.each(["*", "", "agents", "?x=1", "host:443", "host.example:443", "./a", "../a", " /a", "%2fa"])(
    "refuses %j, which is neither an origin form nor an absolute form",
    (target) => {
      expect(readTarget(target)).toBeUndefined();
    },
  );

  const piece = fc.constantFrom(
    ...["/", "//", ".", "..", "%2e", "%2E", "%2f", "%5C", "\\", "%00", "%", "%25", "%2", "%c3%a9", "é"],
    ...["#", "?", "a", "A", ":", "@", " ", "\n", "\0", "*", ";", "http://", "https://h", "[::1]", "%7F"],
  );
  const anyTarget = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
    fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join("")}`),
    fc.array(piece, { maxLength: 8 }).map((pieces) => `http://host/${pieces.join("")}`),
  );

  it("never throws, and never reads a path that another reader could take for another one", () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const segments = readTarget(target);
        if (!segments) return;
        const decoded = segments.map((segment) => decodeURIComponent(segment));
        expect(decoded.filter((text) => text === "." || text === "..")).toEqual([]);
        expect(decoded.slice(0, -1)).not.toContain("");
        // eslint-disable-next-line no-control-regex -- They are what must not be there.
        expect(decoded.filter((text) => /[/\\\u0000-\u001f\u007f]/.test(text))).toEqual([]);
        expect(segments.filter((segment) => /[^\x21-\x7e]|[?#]/.test(segment))).toEqual([]);
        expect(target).not.toContain("#");
      }),
      { numRuns: 2000 },
    );
  });

  it("agrees with the URL standard about every path that it accepts", () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const segments = readTarget(target);
        if (!segments) return;
        const url = new URL(target, "http://service.example");
        const decode = (text: string) => decodeURIComponent(text);
        expect(url.pathname.split("/").slice(1).map(decode)).toEqual(
          segments.length === 0 ? [""] : segments.map(decode),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it("reads back every segment that an honest client encodes, whatever the query", () => {
    // eslint-disable-next-line no-control-regex -- No honest segment holds one.
    const structure = /[/\\\u0000-\u001f\u007f]/;
    const segment = fc
      .string({ unit: "grapheme", minLength: 1 })
      .filter((text) => !structure.test(text) && text !== "." && text !== "..");
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1 }), fc.webQueryParameters(), (texts, query) => {
        const path = `/${texts.map((text) => encodeURIComponent(text)).join("/")}`;
        for (const target of [path, `${path}?${query}`, `https://service.example:8443${path}?${query}`]) {
          expect(readTarget(target)?.map(decodeSegment)).toEqual(texts);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("readPath", () => {
  it.each([
    ["/agents?x=A%", "/agents", true],
    ["/", "/", true],
    ["/agents/", "/agents/", true],
    ["/.well-known/a..b", "/.well-known/a..b", true],
    ["/.../..../.a/..b/a./b..?x=/../", "/.../..../.a/..b/a./b..", true],
    ["/a/?x", "/a/", true],
    [`/${"a".repeat(300)}?X`, `/${"a".repeat(300)}`, true],
    [`/A${"a".repeat(300)}`, `/A${"a".repeat(300)}`, false],
    ["http://HOST/agents", "/agents", true],
    ["/Agents", "/Agents", false],
    ["/a%20b", "/a%20b", false],
    ["/a;v=1", "/a;v=1", false],
  ])("reads of %j the path %j, and whether it has one spelling only: %j", (target, text, isPlain) => {
    expect(readPath(target)).toEqual({ text, isPlain });
  });
});

it("reads a path of any length, which a service may be told to accept", () => {
  for (const segment of ["/a", "/%61", "/.a", "a"]) {
    const text = `/x${segment.repeat(10_000_000 / segment.length)}`;
    expect(readPath(text)?.text.length).toBe(text.length);
    expect(readPath(`${text}#`)).toBeUndefined();
  }
});

describe("originForm", () => {
  it.each([
    ["/agents?x=1", "/agents?x=1"],
    ["http://host/agents?x=1", "/agents?x=1"],
    ["http://host", "/"],
    ["http://host?x=1", "/?x=1"],
    ["http://host/a{b}?x={y}", "/a%7Bb%7D?x={y}"],
  ])("turns %j into %j", (target, origin) => {
    expect(originForm(target)).toBe(origin);
  });

  it.each(["*", "", "host:443", "http://user@host/agents", "agents"])(
    "knows no origin form of %j",
    (target) => {
      expect(originForm(target)).toBeUndefined();
    },
  );
});

describe("observableTarget", () => {
  it.each([
    ["/agents", "/agents"],
    ["/agents?access_token=canary", "/agents"],
    ["/agents#access_token=canary", "/agents"],
    ["/agents?a=b#access_token=canary", "/agents"],
    ["/agents#a\n?access_token=canary", "/agents"],
    ["http://service.example/agents?access_token=canary", "/agents"],
    ["http://user:canary@service.example/agents", ""],
    ["?access_token=canary", ""],
    ["*", ""],
    ["", ""],
  ])("shows nothing of %j where clients leave secrets", (target, shown) => {
    expect(observableTarget(target)).toBe(shown);
  });
});

describe("pathOf", () => {
  it.each([
    ["/agents?access_token=x", "/agents"],
    ["/agents?", "/agents"],
    ["/agents", "/agents"],
    ["/a?b?c", "/a"],
    ["?x", ""],
  ])("keeps nothing of the query of %j", (target, path) => {
    expect(pathOf(target)).toBe(path);
  });
});

describe("decodeSegment", () => {
  it.each([
    ["web", "web"],
    ["w%65b", "web"],
    ["caf%C3%A9", "café"],
    ["%252f", "%2f"],
    ["a+b", "a+b"],
  ])("reads %j once, as %j", (segment, text) => {
    expect(decodeSegment(segment)).toBe(text);
  });

  it.each(["%", "%zz", "%ff", "%C3"])("has no text for %j", (segment) => {
    expect(decodeSegment(segment)).toBeUndefined();
  });
});

describe("ownMember", () => {
  it("reads what a request has itself: a polluted prototype names no route and no credential", () => {
    const inherited = Object.create({ method: "GET", target: "/", cookie: "a=b" }) as AccessRequest;
    expect(ownMember(inherited, "cookie")).toBeUndefined();
    expect(ownMember({ method: "GET", target: "/", cookie: "a=b" }, "cookie")).toBe("a=b");
    expect(ownMember({ method: "GET", target: "/" }, "cookie")).toBeUndefined();
  });
});

describe("withoutCredentials", () => {
  it("leaves of a request what a log may show", () => {
    const request = {
      method: "GET",
      target: "https://user:secret@service.example/agents?access_token=secret",
      authorization: "Bearer secret",
      cookie: "access_token=secret",
      matchedPattern: "/agents",
    };
    expect(JSON.stringify(withoutCredentials(request))).not.toContain("secret");
    expect(withoutCredentials({ ...request, target: "/agents?access_token=secret" })).toEqual({
      method: "GET",
      target: "/agents",
      matchedPattern: "/agents",
    });
  });
});

describe("a path of more parts than are read in one turn", () => {
  it.each(["%ed%a0%80", "%c3", "%c0%af", "%f4%90%80%80", "%2F", "é", "/", "%2e%2E/x"])(
    "is read to its end: %s",
    (bad) => {
      for (const length of [4_999, 9_998, 9_999, 10_000, 19_999]) {
        const path = `/${"A".repeat(length)}/`;
        expect(readTarget(path + bad)).toBeUndefined();
        expect(readTarget(`${path}%c3%a9`)).toEqual(["A".repeat(length), "%c3%a9"]);
      }
    },
  );
});
