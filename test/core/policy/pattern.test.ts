import { readFileSync } from "node:fs";
import { METHODS } from "node:http";
import fc from "fast-check";
import { match } from "path-to-regexp";
import { describe, expect, it } from "vitest";
import { identityOf, type PatternSegment } from "../../../src/core/policy/pattern.ts";
import { isPattern, parsePattern } from "../../../src/core/policy/parse-pattern.ts";
import { parseRoutePattern } from "../../../src/core/policy/route-comparison.ts";
import { parseRouteKey } from "../../../src/core/policy/route-key.ts";
import { renderPattern } from "../../../src/core/policy/render-pattern.ts";
import { parseRulePattern, rulePatternsFor } from "../../../src/core/policy/rule-pattern.ts";
import { patternOf, PROPERTY } from "../../support/policy.ts";

// `messages.test.ts` has the mistakes in keys and patterns.

const fixed = (text: string) => ({ kind: "static", text });
const parameter = (name: string) => ({ kind: "parameter", name });
const wildcard = (name: string) => ({ kind: "wildcard", name });
const mixed = (...parts: readonly (string | { name: string })[]) => ({
  kind: "mixed",
  parts: parts.map((part) => (typeof part === "string" ? part : { type: "param", ...part })),
});

describe("a pattern", () => {
  it.each([
    ["/", []],
    ["/agents/:agent_id/runs", [fixed("agents"), parameter("agent_id"), fixed("runs")]],
    ["/files/*path", [fixed("files"), wildcard("path")]],
    ["/*head/x/:tail", [wildcard("head"), fixed("x"), parameter("tail")]],
    ['/files/*"*"', [fixed("files"), wildcard("*")]],
    ['/:"agent-id"', [parameter("agent-id")]],
    ["/:id.json", [mixed({ name: "id" }, ".json")]],
    ["/v:major", [mixed("v", { name: "major" })]],
    ["/:from-:to", [mixed({ name: "from" }, "-", { name: "to" })]],
    ["/a\\:b\\*c", [fixed("a:b*c")]],
    ["/caf%C3%A9", [fixed("caf%C3%A9")]],
    ["/a.b/..c/...", [fixed("a.b"), fixed("..c"), fixed("...")]],
  ])("has the segments of %s", (source, segments) => {
    expect(patternOf(source).alternatives).toEqual([{ segments, hasSlash: false }]);
  });

  it("keeps a slash at the end apart from the segments", () => {
    expect(patternOf("/agents/").alternatives).toEqual([{ segments: [fixed("agents")], hasSlash: true }]);
    expect(patternOf("/a{/}").alternatives.map(({ hasSlash }) => hasSlash)).toEqual([true, false]);
  });

  it.each([
    ["/{:id}", ["/:id", "/"]],
    ["/a{-b}c", ["/a-bc", "/ac"]],
    ["/a{/b{/c}}", ["/a/b/c", "/a/b", "/a"]],
    ["/a{/b}{/c}", ["/a/b/c", "/a/b", "/a/c", "/a"]],
    ["/a{/*rest}", ["/a/*rest", "/a"]],
    ["{/a}/b", ["/a/b", "/b"]],
  ])("has for the optional groups of %s the alternatives %j", (source, written) => {
    expect(patternOf(source).alternatives).toEqual(written.flatMap((one) => patternOf(one).alternatives));
  });

  it("lists the parameters that a scope may name, and no wildcard", () => {
    expect(patternOf("/:a/x/:c.json/*d").parameters).toEqual(new Set(["a", "c"]));
  });

  it("may have 64 combinations of optional groups", () => {
    expect(patternOf(`/a${"{/b}".repeat(6)}`).alternatives).toHaveLength(64);
  });

  it.each(["/", "/agents/:id", "/files/*path/", "/:a-:b.json", '/:"a b"', '/\\:"text"', '/\\:"text"-:id'])(
    "is rendered as it was parsed: %s",
    (source) => {
      expect(parseRoutePattern(source)?.alternatives.map(renderPattern)).toEqual([source]);
    },
  );

  it("matches only what path-to-regexp matches too, and causes no error", () => {
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

/** A path of an alternative: every parameter filled with one letter. */
function samplePath(segments: readonly PatternSegment[]): string {
  const texts = segments.map((segment) => {
    if (segment.kind === "static") return segment.text;
    if (segment.kind !== "mixed") return "x";
    return segment.parts.map((part) => (typeof part === "string" ? part : "x")).join("");
  });
  return `/${texts.join("/")}`;
}

describe("the pattern of a rule", () => {
  it.each([
    "/agents/",
    "/:org/teams/:team",
    "/tasks/:id\\:cancel",
    '/:"id"s/x',
    "/*path",
    "/{*path}",
    "/:org{/*rest}",
    "/agents{/}",
    "/files{/*path}{/}",
    "/files/*path{/}",
  ])("may be %s", (source) => {
    expect(parseRulePattern(source)).toEqual(parsePattern(source));
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

describe("the key of a rule", () => {
  it.each([
    ["GET /agents", "GET", "/agents"],
    ["* /agents", "*", "/agents"],
    ["M-SEARCH /x", "M-SEARCH", "/x"],
  ])("has a method and a pattern: %s", (key, method, source) => {
    expect(parseRouteKey(key)).toMatchObject({ method, pattern: { source } });
  });

  it("may have every method that Node.js receives, also in its type", () => {
    const source = readFileSync("src/core/policy/scope-mappings.ts", "utf8");
    expect(METHODS.filter((method) => "code" in parseRouteKey(`${method} /agents`))).toEqual([]);
    expect(METHODS.filter((method) => !source.includes(`"${method}"`))).toEqual([]);
  });
});

describe("the identity of a route", () => {
  const identities = (source: string) =>
    patternOf(source).alternatives.map(({ segments }) => identityOf(segments));

  it.each([
    ["/a/:x", "/A/:y/"],
    ["/a/*x", '/a/*"*"'],
    ["/a{/:b}", "/a{/:c}"],
    ["/agents", "/%61gents"],
    ["/caf%C3%A9", "/CAF%c3%89"],
    ["/v:id.json", "/V:id.J%73ON"],
    ["/a%E2%84%AA", "/ak"],
    ["/a{/b}{.c}", "/A{/b}{.C}"],
  ])("is the same for %s and %s: names, letter case, encoding and a slash do not count", (one, other) => {
    expect(identities(one)).toEqual(identities(other));
  });

  it("differs for every two other patterns", () => {
    const different =
      "/ /a /ab /a/b /:x /*x /:x/:y /*x/:y /:x/*y /:x-:y /:x.:y /a:x /:x-a /:x.a /a/:x /a/*x /a/:x/b /a/\\:x";
    const sources = different.split(" ");
    expect(new Set(sources.flatMap(identities)).size).toBe(sources.length);
  });

  it.each(["/:id", "/*path"])("has for %s a character that no text of a pattern can have", (source) => {
    const [identity = ""] = identities(source);
    expect(identity).toMatch(/^\/[^\x20-\x7e]$/);
    expect(isPattern(parsePattern(identity))).toBe(false);
  });
});
