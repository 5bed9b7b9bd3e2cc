import fc from "fast-check";
import { match } from "path-to-regexp";
import { describe, expect, it } from "vitest";
import {
  identityOf,
  partsOf,
  type PatternSegment,
  segmentIdentity,
} from "../../../src/core/policy/pattern.ts";
import { isPattern, parsePattern, type PatternMistake } from "../../../src/core/policy/parse-pattern.ts";
import { parseRulePattern, rulePatternsFor } from "../../../src/core/policy/rule-pattern.ts";
import { patternOf, PROPERTY, segmentsIn } from "../../support/policy.ts";

const fixed = (text: string) => ({ kind: "static", text });
const parameter = (name: string) => ({ kind: "parameter", name });
const wildcard = (name: string) => ({ kind: "wildcard", name });
const mixed = (...parts: readonly (string | { name: string })[]) => ({
  kind: "mixed",
  parts: parts.map((part) => (typeof part === "string" ? part : { type: "param", ...part })),
});

function mistakeIn(source: string): PatternMistake {
  const parsed = parseRulePattern(source);
  if (isPattern(parsed)) throw new Error(`${source} was accepted.`);
  return parsed;
}

describe("parsePattern", () => {
  it.each([
    ["/", []],
    ["/agents", [fixed("agents")]],
    ["/agents/:agent_id/runs", [fixed("agents"), parameter("agent_id"), fixed("runs")]],
    ["/files/*path", [fixed("files"), wildcard("path")]],
    ["/*path", [wildcard("path")]],
    ["/*head/x/:tail", [wildcard("head"), fixed("x"), parameter("tail")]],
    ['/files/*"*"', [fixed("files"), wildcard("*")]],
    ['/:"agent-id"', [parameter("agent-id")]],
    ["/:id.json", [mixed({ name: "id" }, ".json")]],
    ["/v:major", [mixed("v", { name: "major" })]],
    ["/:from-:to", [mixed({ name: "from" }, "-", { name: "to" })]],
    ["/a\\:b\\*c", [fixed("a:b*c")]],
    ["/caf%C3%A9", [fixed("caf%C3%A9")]],
    ["/a.b/..c/...", [fixed("a.b"), fixed("..c"), fixed("...")]],
  ])("parses %s", (source, segments) => {
    expect(patternOf(source).alternatives).toEqual([{ segments, hasSlash: false }]);
  });

  it("keeps a slash at the end apart from the segments", () => {
    expect(patternOf("/agents/").alternatives).toEqual([{ segments: [fixed("agents")], hasSlash: true }]);
    expect(patternOf("/").alternatives).toEqual([{ segments: [], hasSlash: false }]);
    expect(patternOf("/a{/}").alternatives.map(({ hasSlash }) => hasSlash)).toEqual([true, false]);
  });

  it.each([
    ["/a{/:id}", ["/a/:id", "/a"]],
    ["/{:id}", ["/:id", "/"]],
    ["/a{-b}c", ["/a-bc", "/ac"]],
    ["/a{/b{/c}}", ["/a/b/c", "/a/b", "/a"]],
    ["/a{/b}{/c}", ["/a/b/c", "/a/b", "/a/c", "/a"]],
    ["/a{/}", ["/a/", "/a"]],
    ["/a{/*rest}", ["/a/*rest", "/a"]],
    ["{/a}/b", ["/a/b", "/b"]],
  ])("writes out the optional groups of %s as %j", (source, written) => {
    expect(patternOf(source).alternatives).toEqual(written.flatMap((one) => patternOf(one).alternatives));
  });

  it("lists the parameters that a scope may name, and no wildcard", () => {
    expect(patternOf("/:a/x/:c.json/*d").parameters).toEqual(new Set(["a", "c"]));
    expect(patternOf("/agents").parameters).toEqual(new Set());
  });

  it("accepts up to 64 combinations of optional groups", () => {
    expect(patternOf(`/a${"{/b}".repeat(6)}`).alternatives).toHaveLength(64);
  });

  it.each([
    // A wildcard needs a name.
    ["/files/*", "/files{/*path}"],
    ["/*", "/{*path}"],
    ["/files/a*path", "/files{/*path}"],
    ["/files/*path.json", "/files{/*path}"],
    ["/:id-*path", "/files{/*path}"],
    // Everything else that path-to-regexp gives a meaning.
    ["/a+", ":parameters"],
    ["/a?", ":parameters"],
    ["/a(b)", "{/*wildcard}"],
    ["/a[b]", "texts"],
    ["/a!", "backslash"],
    ["/:", ":parameters"],
    ['/:"id', ":parameters"],
    ["/a{/b", "{/}"],
    ["/a\\", "backslash"],
    ["/:a:b", ":parameters"],
    // The whole path.
    ["agents", "starting with `/`"],
    ["", "starting with `/`"],
    ["{/a}", "starting with `/`"],
    // One name, one parameter.
    ["/:id/:id", "its own name"],
    ["/:id/x/*id", "its own name"],
    ["/:id{/:id}", "its own name"],
    // Routers divide a path between two wildcards in different ways.
    ["/*a/*b", "Use only one"],
    ["/*head{/*tail}", "Use only one"],
    ["/a{/*b}/c/*d", "Use only one"],
    // Groups multiply.
    [`/a${"{/b}".repeat(7)}`, "several routes"],
    [`/a${"{/b".repeat(65)}${"}".repeat(65)}`, "several routes"],
  ])("refuses %s, and the hint shows how to write it", (source, way) => {
    const { code, hint } = mistakeIn(source);
    expect(code).toBe("route_pattern_invalid");
    expect(hint).toContain(way);
  });

  it.each([
    ["/agents/{id}", "writes a parameter in the syntax of another router."],
    ["/files/*", "isn't a pattern of path-to-regexp."],
    ["agents", "doesn't begin with a slash."],
    [`/a${"{/b}".repeat(7)}`, "has more than 64 combinations of optional groups."],
    ["/:id/:id", "uses one parameter name twice."],
    ["/files/a*path", "has a wildcard that shares its segment."],
    ["/*a/*b", "has two wildcards."],
    ["/agents//runs", "is a path that is refused in every request."],
  ])("reports what is wrong with %s: it %s", (source, message) => {
    expect(mistakeIn(source).message).toBe(message);
  });

  it.each([
    ["/files/*", "/files{/*path}"],
    ["/agents/:id(\\d+)/runs", "/agents/:id/runs"],
    ["/agents/:id((a|b)c)", "/agents/:id"],
    // What other routers write.
    ["/files/:path*", "/files{/*path}"],
    ["/files/**", "/files{/*path}"],
    ["/files/(.*)", "/files{/*path}"],
    ["/(.*)", "/{*path}"],
    ["/agents/{id}", "/agents/:id"],
    ["/agents/<id>", "/agents/:id"],
    ["/a/{id}.json", "/a/:id.json"],
    ["/a/{path...}", "/a{/*path}"],
    ["/a/{id:int}", "/a/:id"],
    ["/a/<int:id>", "/a/:id"],
    ["/a/<path:rest>", "/a{/*rest}"],
    ["/a/:id<int>/b", "/a/:id/b"],
    // A path travels percent-encoded.
    ["/café", "/caf%C3%A9"],
    ["/😀", "/%F0%9F%98%80"],
  ])("refuses %s, and accepts what the hint shows", (source, way) => {
    expect(mistakeIn(source).hint).toContain(`\`${way}\``);
    expect(isPattern(parseRulePattern(way))).toBe(true);
  });

  it.each(["/(v1|v2)/orgs/:org", "/a/(b|c.d)"])(
    "refuses %s, which needs one key for each alternative",
    (source) => {
      expect(mistakeIn(source).hint).toBe("Write one key for each of them.");
    },
  );

  it.each(["/a<b", "/a>b/{c}", "/a{}b", "/a{b c}", "/{a}{b}"])(
    "refuses %s, which holds text where other routers have a parameter",
    (source) => {
      expect(mistakeIn(source)).toMatchObject({ code: "route_pattern_invalid" });
    },
  );

  it.each(["/agents/:id?/(b", "agents/*", "agents/:id?", "/files/a*", "/*.json"])(
    "does not hint at another pattern that is refused: %s",
    (source) => {
      expect(mistakeIn(source).hint).toMatch(/^Write texts and/);
    },
  );

  it.each([
    [
      "an empty segment",
      ["//", "//agents", "/agents//runs", "/agents//", "/:id//x", "/a{/}{/}b", "/café//x"],
    ],
    [
      "a dot segment",
      ["/.", "/..", "/./a", "/a/.", "/a/..", "/a/../b", "/%2e/a", "/%2E%2e", "/a{/..}", "/café/.."],
    ],
    ["a semicolon", ["/a;b", "/:id;v=1", "/;"]],
    ["a fragment", ["/a#b", "/#", "/:id#x"]],
    ["a query", ["/a\\?b", "/a\\?x=:y", "/x/a\\?b"]],
    ["a backslash", ["/a\\\\b", "/\\\\"]],
    [
      "an encoded slash, backslash or control character",
      ["/a%2Fb", "/a%2fb", "/a%5Cb", "/a%00", "/a%0A", "/a%7f"],
    ],
    ["a bad percent-encoding", ["/a%", "/a%zz", "/100%", "/%ff", "/%:hex"]],
    ["a space", ["/a b", "/:id x"]],
  ])("refuses a pattern whose paths are refused in every request: %s", (_, sources) => {
    for (const source of sources) {
      const { code, hint } = mistakeIn(source);
      expect(code, source).toBe("route_unreachable");
      expect(hint, source).toContain(
        "Write a path without empty or dot segments, query, fragment, semicolon, backslash",
      );
    }
  });

  it("refuses control characters", () => {
    for (const source of ["/a\tb", "/a\u0000", "/a\u007f", "/:id\n", "/a\r\nb"]) {
      expect(mistakeIn(source).code, JSON.stringify(source)).toBe("route_unreachable");
    }
  });

  it("does not hint at another spelling of a control character that is refused", () => {
    for (const source of ["/a\tb", "/a\u0000", "/a\u007f"]) {
      const [, way] = /`(\/[^`]*)`/.exec(mistakeIn(source).hint) ?? [];
      expect(way === undefined || isPattern(parsePattern(way)), way).toBe(true);
    }
  });

  it("accepts only what path-to-regexp matches too, and throws no error", () => {
    const char = fc.constantFrom(...'/:*{}()\\?+!.-%#"[]ab19é '.split(""));
    const piece = fc.oneof(char, fc.constantFrom("/", ":id", ":to", "*path", "{/", "}", "agents", "%2e"));
    const source = fc.array(piece, { maxLength: 10 }).map((pieces) => `/${pieces.join("")}`);
    fc.assert(
      fc.property(source, (text) => {
        const parsed = parsePattern(text);
        if (!isPattern(parsed)) {
          expect(parsed.hint).not.toBe("");
          return;
        }
        const matches = match(text, { sensitive: true, trailing: false, decode: false });
        for (const { segments, hasSlash } of parsed.alternatives)
          expect(matches(`${samplePath(segments)}${hasSlash ? "/" : ""}`)).toBeTruthy();
      }),
      { ...PROPERTY, numRuns: 2000 },
    );
  });
});

const SEGMENT = "has a segment that isn't a text, a parameter, or a parameter with a text behind it.";
const WILDCARD = "has a wildcard before its end.";
const OPTIONAL = "has an optional part other than `{/*name}` or `{/}` at its end.";
const FOREIGN = "writes a parameter in the syntax of another router.";
const UNREADABLE = "isn't a pattern of path-to-regexp.";

describe("the pattern of a rule", () => {
  it.each([
    "/",
    "/agents",
    "/agents/",
    "/:org/teams/:team",
    "/:id.json",
    "/tasks/:id\\:cancel",
    '/:"id"s/x',
    "/files/*path",
    "/files{/*path}",
    "/{*path}",
    "/*path",
    "/:org{/*rest}",
    "/agents{/}",
    "/files{/*path}{/}",
    "/files/*path{/}",
  ])("may be %s", (source) => {
    expect(parseRulePattern(source)).toEqual(parsePattern(source));
  });

  it.each([
    ["/v:version", SEGMENT, "Write `/:version`, which matches every text there."],
    ["/a/v{version}/b", FOREIGN, "Write `/a/:version/b`, which matches every text there."],
    ["/:a.:b", SEGMENT, "Write `/:a`, which matches every text there."],
    ["/a/{org}-{x}", FOREIGN, "Write `/a/:org`, which matches every text there."],
    ["/a-:x-b/c", SEGMENT, "Write `/:x/c`, which matches every text there."],
    ["/:id{.:extension}", SEGMENT, "Write `/:id`, which matches every text there."],
    ["/a{b}c", FOREIGN, "Write `/:b`, which matches every text there."],
    ["/agents/*/runs", UNREADABLE, "Write `/agents/:path/runs`, or `/agents/*path` for all paths below."],
    ["/a/*rest/b/:c", WILDCARD, "Write `/a/:rest/b/:c`, or `/a/*rest` for all paths below."],
    [
      "/a/*rest{/b}",
      WILDCARD,
      "Write a key for each path: `/a/:rest/b` and `/a/*rest`, or `/a/*rest` for all paths below.",
    ],
    ["/agents/:id?", UNREADABLE, "Write a key for each path: `/agents/:id` and `/agents`."],
    ["/:id?", UNREADABLE, "Write a key for each path: `/:id` and `/`."],
    ["/agents{/:id}", OPTIONAL, "Write a key for each path: `/agents/:id` and `/agents`."],
    ["/{:id}", OPTIONAL, "Write a key for each path: `/:id` and `/`."],
    ["/:id{.json}", OPTIONAL, "Write a key for each path: `/:id.json` and `/:id`."],
    ["/a{/b}/c{/*rest}", OPTIONAL, "Write a key for each path: `/a/b/c{/*rest}` and `/a/c{/*rest}`."],
    ["/docs/{*path}", OPTIONAL, "Write `/docs{/*path}`."],
    ["/a{/x{y}}", FOREIGN, "Write a key for each path: `/a/:y` and `/a`."],
  ])("may not be %s, and the message shows what to write", (source, message, hint) => {
    expect(mistakeIn(source)).toMatchObject({ code: "route_pattern_invalid", message, hint });
    for (const [, way = ""] of hint.matchAll(/`([^`]+)`/g))
      expect(isPattern(parseRulePattern(way)), way).toBe(true);
  });

  it.each([
    ["/v:version/x", ["/:version/x"]],
    ["/files/*path/raw", ["/files/*path"]],
    ["/files{/*path}/raw", ["/files/*path", "/files/raw"]],
    ["/a{/:b}", ["/a/:b", "/a"]],
    ["/a{/*b}", ["/a{/*b}"]],
    ["/{*path}", ["/{*path}"]],
    ["/a/:b.json", ["/a/:b.json"]],
  ])("that covers the route %s is %j", (route, patterns) => {
    expect(rulePatternsFor(patternOf(route).alternatives.map(({ segments }) => segments))).toEqual(patterns);
  });
});

/** A path of an alternative: every parameter filled with one letter. */
function samplePath(segments: readonly PatternSegment[]): string {
  const texts = segments.map((segment) => {
    if (segment.kind === "static") return segment.text;
    if (segment.kind !== "mixed") return "x";
    return segment.parts.map((part) => (typeof part === "string" ? part : "x")).join("");
  });
  return `/${texts.join("/")}`;
}

describe("identityOf", () => {
  const identities = (source: string) =>
    patternOf(source).alternatives.map(({ segments }) => identityOf(segments));

  it.each([
    ["/agents/:id", "/agents/:agent_id"],
    ["/files/*path", '/files/*"*"'],
    ["/a{/:b}", "/a{/:c}"],
    ["/agents", "/Agents/"],
    ["/agents", "/%61gents"],
    ["/caf%C3%A9", "/CAF%c3%89"],
    ["/v:id.json", "/V:id.J%73ON"],
    ["/a%E2%84%AA", "/ak"],
  ])("returns the same for %s and %s", (one, other) => {
    expect(identities(one)).toEqual(identities(other));
  });

  it.each([
    ["/agents{/:id}", ["/agents", "/agents/:id"]],
    ["/a{/b}{/c}", ["/a", "/a/b", "/a/c", "/a/b/c"]],
    ["/a{.b}", ["/a", "/a.b"]],
    ["/:id{.json}", ["/:id", "/:id.json"]],
    ["/{*path}", ["/", "/*path"]],
  ])("returns for %s the identities of %j", (source, alternatives) => {
    expect(new Set(identities(source))).toEqual(new Set(alternatives.flatMap(identities)));
  });

  const different = [
    "/",
    "/agents",
    "/agents/x",
    "/:a",
    "/*a",
    "/:a/:b",
    "/*a/:b",
    "/:a/*b",
    "/:a-:b",
    "/:a.:b",
    "/a:b",
    "/:b-a",
    "/agents/:id",
    "/agents/*id",
    "/agents/:id/x",
    "/agents/\\:id",
  ];

  it("differs for every two other patterns", () => {
    expect(new Set(different.flatMap(identities)).size).toBe(different.length);
  });

  it.each([
    ["/:id", /^[^\x20-\x7e]$/],
    ["/*path", /^[^\x20-\x7e]$/],
    ["/:from-:to.json", /^[^\x20-\x7e]-[^\x20-\x7e]\.json$/],
  ])("writes a parameter of %s as one character that no static segment can hold", (source, written) => {
    const [segment] = segmentsIn(source);
    const identity = segment && segmentIdentity(segment);
    expect(identity).toMatch(written);
    expect(isPattern(parsePattern(`/${identity ?? ""}`))).toBe(false);
  });
});

describe("the identity of a route", () => {
  const identityIn = (source: string) => identityOf(segmentsIn(source));

  it.each([
    ["/a/:x", "/A/:y"],
    ["/a/*x", "/a/*y"],
    ["/a/:x.json", "/a/:y.JSON"],
  ])("of %s is that of %s: names and letter case do not count", (source, other) => {
    expect(identityIn(source)).toBe(identityIn(other));
  });

  it.each([
    ["/a/:x", "/a/*x"],
    ["/a/:x", "/a/x"],
    ["/a/b", "/ab"],
    ["/a/:x.json", "/a/:x.xml"],
    ["/:x/:y", "/:x-:y"],
  ])("of %s is not that of %s", (source, other) => {
    expect(identityIn(source)).not.toBe(identityIn(other));
  });

  it("depends on the strings and parameters of each segment", () => {
    expect(segmentsIn("/a/:b/c-:d/*e").map(partsOf)).toEqual([
      ["a"],
      [{ type: "param", name: "b" }],
      ["c-", { type: "param", name: "d" }],
      [{ type: "wildcard", name: "e" }],
    ]);
  });
});
