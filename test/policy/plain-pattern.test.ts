import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { literalPattern, writeOut, writeOutWidely } from "../../src/policy/plain-pattern.ts";
import { readTarget } from "../../src/request.ts";
import { kinds, samplePaths, sourceOf } from "../support/policy.ts";

const sourcesOf = (pattern: string) => writeOut(pattern).map(({ source }) => source);

describe("writeOut", () => {
  it.each<[string, readonly string[]]>([
    ["/", ["/"]],
    ["/agents", ["/agents"]],
    ["/agents/:id", ['/agents/:"id"']],
    ["/agents{/:id}", ['/agents/:"id"', "/agents"]],
    ["/files/*path", ['/files/*"path"']],
    ["/:from-:to", ['/:"from"-:"to"']],
    ["/a\\:b", ["/a\\:b"]],
    ['/:"a\\"b"', ['/:"a\\"b"']],
    // As it was written before version 8 of path-to-regexp.
    ["/agents/:id?", ['/agents/:"id"', "/agents"]],
    ["/agents/:id(\\d+)", ['/agents/:"id"']],
    ["/agents/:id(a(b|c))/runs", ['/agents/:"id"/runs']],
    ["/agents/:id(\\d+)?", ['/agents/:"id"', "/agents"]],
    ["*", ['/*"path"', "/"]],
    ["/files/*", ['/files/*"path"', "/files/"]],
    ["/files/(.*)", ['/files/*"path"', "/files/"]],
    ["/files/:path*", ['/files/*"path"']],
    ["/files/:path+", ['/files/*"path"']],
    ["/:id([a-z-]+|\\w{2,4})", ['/:"id"']],
    // An expression that may take a slash says more than a parameter.
    ["/files/:path(.*)", []],
    ["/files/:path(a.*)", []],
    ["/files/:path([a/]+)", []],
    ["/:id([\\d-]+)", ['/:"id"']],
    ["/:id([\\D-]+)", []],
    ["/files/:path([^.]+)", []],
    ["/files/:path(\\S+)", []],
    // Neither syntax.
    ["/ab+c", []],
    ["/a(b)c", []],
    ["agents", []],
    // Nothing of today matches the same paths, and no others, in the middle of a pattern.
    ["/files/:path*/raw", []],
    ["*/raw", []],
  ])("writes %s as %j", (pattern, sources) => {
    expect(sourcesOf(pattern)).toEqual(sources);
  });

  it.each<[string, string, boolean]>([
    ["/agents", "/agents", true],
    ["/agents", "/AGENTS/", true],
    ["/Agents/", "/agents", true],
    ["/agents", "/agents/web", false],
    ["/agents/:id", "/agents/", false],
    ["/agents/:id/runs", "/agents/web/runs/", true],
    ["/agents/:id/runs", "/agents/runs/", false],
    ["/agents/:id", "/agents/a%20b", true],
    ["/files/:name.:ext", "/files/a.b.pdf", true],
    ["/", "/", true],
    ["/*path", "/", false],
  ])("takes %s for a pattern of %s: %s", (pattern, target, isOne) => {
    const path = readTarget(target) ?? [];
    expect(writeOut(pattern).some(({ matches }) => matches(path))).toBe(isOne);
  });

  it.each<[string, string, boolean]>([
    ["/agents", "/agents", true],
    ["/agents", "/Agents", false],
    ["/agents", "/agents/", false],
    ["/agents/:id", "/agents/a", true],
    ["/agents/:id(\\d+)", "/agents/a", false],
    ["/agents{/:id}", "/agents", true],
  ])("is sure of %s for the path %s: %s", (pattern, target, isSure) => {
    const path = readTarget(target) ?? [];
    expect(writeOut(pattern).some(({ isSureOf }) => isSureOf(path))).toBe(isSure);
  });

  it("keeps what a pattern means", () => {
    fc.assert(
      fc.property(kinds(), (segments) => {
        const pattern = sourceOf(segments);
        const again = sourcesOf(pattern).flatMap(sourcesOf);
        expect(again).toEqual(sourcesOf(pattern));
        for (const path of samplePaths(segments)) {
          expect(writeOut(pattern).some(({ matches }) => matches(path))).toBe(true);
        }
      }),
    );
  });
});

describe("literalPattern", () => {
  it("writes a pattern that matches one text alone", () => {
    const text = fc.stringMatching(/^[\w\-.~!$&'()*+,;=:@]{1,10}$/).filter((one) => !/^\.+$/.test(one));
    fc.assert(
      fc.property(text, text, (own, other) => {
        const [pattern] = writeOut(`/${literalPattern(own)}`);
        expect(pattern?.matches([own])).toBe(true);
        expect(pattern?.matches([other])).toBe(own.toLowerCase() === other.toLowerCase());
      }),
    );
  });
});

describe("writeOutWidely", () => {
  it.each<[string, readonly string[]]>([
    ["/agents/:id", ['/agents/:"id"']],
    ["/foo*rest", ['/*"rest"', "/"]],
    ["/a/*x/c/*y", ['/a/*"rest"', "/a"]],
    ["/a/:x/:x", ['/a/:"part1"/:"part2"/*"rest"', '/a/:"part1"/:"part2"']],
    ["/files/:path(.*)", ['/files/*"rest"', "/files"]],
    ["/agents/:agent_id/*x/*y", ['/agents/:"part1"/*"rest"', '/agents/:"part1"']],
    ["*x", ['/*"rest"', "/"]],
    ["/a/(expression)", ['/a/*"rest"', "/a"]],
  ])("takes %s for %j", (pattern, sources) => {
    expect(writeOutWidely(pattern).map(({ source }) => source)).toEqual(sources);
  });
});
