import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutCredentials } from "../../src/core/observed-request.ts";
import { hasTrailingSlash, originForm, readPath, segmentsOf } from "../../src/core/request.ts";

/** The segments of a target, with an empty one for a trailing slash; `undefined` for a target that is refused. */
function readSegments(target: string): readonly string[] | undefined {
  const path = readPath(target);
  return path && [...segmentsOf(path), ...(hasTrailingSlash(path) ? [""] : [])];
}

// `test/corpora/paths` has the paths that are read, and those that are refused.

describe("the segments of a path", () => {
  it("reads an absolute form as Node's URL parser passes it to routers", () => {
    expect(readSegments("http://service.example/it's?it's")).toEqual(["it%27s"]);
    expect(readSegments("/a{b}'c")).toEqual(["a{b}'c"]);
  });

  it("rejects an absolute form with characters that URIs cannot have (RFC 3986)", () => {
    for (const char of '{}|^`<>"') expect(readSegments(`http://service.example/a${char}b`)).toBeUndefined();
    expect(readSegments(`http://host/a?${"^".repeat(100)}`)).toEqual(["a"]);
  });

  it("reads what an honest client encodes, with any query", () => {
    // eslint-disable-next-line no-control-regex -- No honest segment holds one.
    const structure = /[/\\\u0000-\u001f\u007f]/;
    const segment = fc
      .string({ unit: "grapheme", minLength: 1 })
      .filter((text) => !structure.test(text) && text !== "." && text !== "..");
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1 }), fc.webQueryParameters(), (texts, query) => {
        const path = `/${texts.map((text) => encodeURIComponent(text)).join("/")}`;
        for (const target of [path, `${path}?${query}`, `https://service.example:8443${path}?${query}`]) {
          expect(readSegments(target)?.map(decodeURIComponent)).toEqual(texts);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("readPath", () => {
  it.each([
    ["/agents?x=A%", { text: "/agents", end: 7, isPlain: true }],
    ["/", { text: "/", end: 0, isPlain: true }],
    ["/agents/", { text: "/agents/", end: 7, isPlain: true }],
    ["/.well-known/a..b", { text: "/.well-known/a..b", end: 17, isPlain: true }],
    ["/.../..../.a/..b/a./b..?x=/../", { text: "/.../..../.a/..b/a./b..", end: 23, isPlain: true }],
    ["/a/?x", { text: "/a/", end: 2, isPlain: true }],
    ["http://HOST/agents", { text: "/agents", end: 7, isPlain: true }],
    ["/Agents", { text: "/Agents", end: 7, isPlain: false }],
    ["/a%20b/", { text: "/a%20b/", end: 6, isPlain: false }],
  ])("reads %j as %j", (target, path) => {
    expect(readPath(target)).toEqual(path);
  });

  it("accepts a path of 8,192 characters and refuses one of 8,193, whatever the query", () => {
    for (const start of ["/", "/A", "/%41", "/a/"]) {
      const longest = start.padEnd(8_192, "a");
      for (const query of ["", `?${"x".repeat(10_000)}`]) {
        expect(readPath(`${longest}${query}`)?.text).toBe(longest);
        expect(readPath(`${longest}a${query}`)).toBeUndefined();
        expect(readPath(`${longest.slice(0, -1)}//${query}`)).toBeUndefined();
      }
    }
    expect(readPath(`http://host${"/".padEnd(8_192, "a")}`)).toBeDefined();
    expect(readPath(`http://host${"/".padEnd(8_193, "a")}`)).toBeUndefined();
    // The absolute form counts as routers see it, percent-encoded.
    expect(readPath(`http://host/${"'".repeat(2_730)}`)?.text.length).toBe(8_191);
    expect(readPath(`http://host/${"'".repeat(2_731)}`)).toBeUndefined();
  });

  it.each(["%ed%a0%80", "%c3", "%c0%af", "%f4%90%80%80", "%2F", "é", "/", "%2e%2E/x", ";"])(
    "checks a long path to its end: %s",
    (bad) => {
      const path = `/${"A".repeat(8_000)}/`;
      expect(readPath(path + bad)).toBeUndefined();
      expect(readPath(`${path}%c3%a9`)?.end).toBe(8_008);
    },
  );
});

describe("originForm", () => {
  it.each([
    ["/agents?x=1", "/agents?x=1"],
    ["http://host/agents?x=1", "/agents?x=1"],
    ["http://host", "/"],
    ["http://host/?x=1", "/?x=1"],
    ["http://host/it's?x={y}", "/it%27s?x={y}"],
  ])("returns for %j the target %j", (target, origin) => {
    expect(originForm(target)).toBe(origin);
  });
});

describe("withoutCredentials", () => {
  it("keeps only the properties of a request that a log may show", () => {
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
  ])("removes from %j the parts that may contain secrets", (target, shown) => {
    expect(withoutCredentials({ method: "GET", target })).toEqual({ method: "GET", target: shown });
  });
});
