import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Alternative, findFilling } from "../../src/policy/containment.ts";
import { overlaps } from "../../src/audit/overlap.ts";
import {
  kinds,
  paramsByPathToRegexp,
  patternOf,
  PROPERTY,
  samplePaths,
  sourceOf,
} from "../support/policy.ts";

function only(source: string): Alternative {
  const [alternative, ...others] = patternOf(source).alternatives;
  if (!alternative || others.length > 0) throw new Error(`${source} has several alternatives.`);
  return alternative;
}

const overlap = (a: string, b: string): boolean => overlaps(only(a), only(b));

describe("overlaps", () => {
  it.each([
    ["/", "/"],
    ["/agents", "/agents"],
    ["/agents/:id", "/agents/me"],
    ["/:section/me", "/agents/:id"],
    ["/files/*path", "/files/:name/raw"],
    ["/*path/raw", "/files/*rest"],
    ["/*a/x/:b", "/:c/*d/y"],
    ["/:id.json", "/42.json"],
    ["/:id.json", "/report-:day.json"],
    ["/:from-:to", "/a:x"],
    ["/:from-:to", "/*path"],
    // Some router reads the two as one.
    ["/Agents", "/agents"],
    ["/caf%C3%A9/:id", "/CAF%c3%a9/1"],
    ["/:id.JSON", "/:name.json"],
  ])("%s has a path in common with %s", (a, b) => {
    expect(overlap(a, b)).toBe(true);
    expect(overlap(b, a)).toBe(true);
  });

  it.each([
    ["/", "/a"],
    ["/", "/*path"],
    ["/", "/:id"],
    ["/agents", "/teams"],
    ["/agents/:id", "/agents"],
    ["/agents/:id", "/agents/:id/runs"],
    ["/a/:id", "/b/:id"],
    ["/files/*path", "/files"],
    ["/*path/raw", "/files/:name/html"],
    ["/*path/raw", "/raw"],
    ["/:id.json", "/42.xml"],
    ["/:id.json", "/.json"],
    ["/:id.json", "/:id.xml"],
    ["/a-:id", "/b-:id"],
    ["/:from-:to", "/ham"],
  ])("%s has no path in common with %s", (a, b) => {
    expect(overlap(a, b)).toBe(false);
    expect(overlap(b, a)).toBe(false);
  });

  const short = kinds().filter((pattern) => pattern.length <= 3);
  const TEXTS = ["a", "b", "a-b"];
  const paths = Array.from({ length: 6 }, (_, length) =>
    Array.from({ length }).reduce<readonly (readonly string[])[]>(
      (heads) => heads.flatMap((head) => TEXTS.map((text) => [...head, text])),
      [[]],
    ),
  ).flat();

  it("says yes exactly where path-to-regexp matches some path with both", () => {
    fc.assert(
      fc.property(short, short, (a, b) => {
        const isBoth = paths.some(
          (path) => paramsByPathToRegexp(sourceOf(a), path) && paramsByPathToRegexp(sourceOf(b), path),
        );
        expect(overlap(sourceOf(a), sourceOf(b))).toBe(isBoth);
      }),
      PROPERTY,
    );
  });

  it("says yes for a pattern and each that it contains, and for whatever takes one of its paths", () => {
    fc.assert(
      fc.property(kinds(), kinds(), (a, b) => {
        const isInside = findFilling(only(sourceOf(a)), only(sourceOf(b))) !== undefined;
        const takesSome = samplePaths(b)
          .filter((path) => path.at(-1) !== "")
          .some((path) => paramsByPathToRegexp(sourceOf(a), path));
        if (isInside || takesSome) expect(overlap(sourceOf(a), sourceOf(b))).toBe(true);
      }),
      { ...PROPERTY, numRuns: 500 },
    );
  });

  it("answers for long texts between many parameters without trying every cut", () => {
    const many = (text: string) => `/${Array.from({ length: 20 }, (_, index) => `:"p${index}"`).join(text)}`;
    expect(overlap(many("a"), many("b"))).toBe(true);
    expect(overlap(`${many("a")}.x`, `${many("b")}.y`)).toBe(false);
  });
});
