import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commonPatterns, covers } from "../../../src/core/policy/overlap.ts";
import { type Pattern, identityOf } from "../../../src/core/policy/pattern.ts";
import { type Kinds, kinds, samplePaths, sourceOf, textOf } from "../../support/patterns.ts";
import { PROPERTY, segmentsIn } from "../../support/policy.ts";
import { isMatch, STRICT } from "../../support/reference.ts";

type Segments = Pattern["alternatives"][number]["segments"];

const commonOf = (a: string, b: string): readonly Segments[] => commonPatterns(segmentsIn(a), segmentsIn(b));
const identitiesOf = (a: string, b: string): readonly string[] => [
  ...new Set(commonOf(a, b).map(identityOf)),
];
const isCovering = (a: string, b: string): boolean => covers(segmentsIn(a), segmentsIn(b));

/** All short paths of these texts, which reach every branch of the small patterns. */
const TEXTS = ["a", "b", "z", "a-b", "a-z"];
const PATHS = Array.from({ length: 5 }, (_, length) =>
  Array.from({ length }).reduce<readonly (readonly string[])[]>(
    (heads) => heads.flatMap((head) => TEXTS.map((text) => [...head, text])),
    [[]],
  ),
)
  .flat()
  .map(textOf);

const PARSED = PATHS.filter((path) => path.split("/").length <= 4).map((path) => ({
  path,
  segments: segmentsIn(path),
}));

describe("commonPatterns", () => {
  it.each([
    ["/:section/me", "/agents/:id", "/agents/me"],
    ["/files/*path", "/files/:name/raw", "/files/:name/raw"],
    ["/:id.json", "/42.json", "/42.json"],
    ["/:from-:to", "/*path", "/:from-:to"],
    // Some router reads the two as one.
    ["/Agents", "/agents", "/agents"],
    ["/caf%C3%A9/:id", "/CAF%c3%a9/1", "/caf%C3%A9/1"],
    ["/:id.JSON", "/:name.json", "/:name.json"],
    ["/:id.JSON", "/4%2ejson", "/4.json"],
  ])("returns for %s and %s the pattern %s", (a, b, common) => {
    const expected = identityOf(segmentsIn(common));
    for (const found of [identitiesOf(a, b), identitiesOf(b, a)]) expect(found).toEqual([expected]);
  });

  const small = kinds(["a", "b", "suffix", "prefix", "pair", "parameter", "wildcard"], 3);

  it("returns a pattern exactly if path-to-regexp matches some path to both patterns", () => {
    const seen = { common: 0, none: 0 };
    fc.assert(
      fc.property(small, small, (a, b) => {
        const isBoth = PATHS.some((path) => isMatch(a, path, STRICT) && isMatch(b, path, STRICT));
        seen[isBoth ? "common" : "none"] += 1;
        expect(commonOf(sourceOf(a), sourceOf(b)).length > 0).toBe(isBoth);
        expect(commonOf(sourceOf(b), sourceOf(a)).length > 0).toBe(isBoth);
      }),
      { ...PROPERTY, numRuns: 500 },
    );
    expect(Math.min(seen.common, seen.none)).toBeGreaterThan(50);
  });

  it("returns patterns that match exactly the paths that both patterns match", () => {
    const simple = kinds(["a", "b", "suffix", "parameter", "wildcard"], 3);
    fc.assert(
      fc.property(simple, simple, (a, b) => {
        const found = commonOf(sourceOf(a), sourceOf(b));
        for (const common of found)
          expect([covers(segmentsIn(sourceOf(a)), common), covers(segmentsIn(sourceOf(b)), common)]).toEqual([
            true,
            true,
          ]);
        for (const { path, segments } of PARSED) {
          const isBoth = isMatch(a, path, STRICT) && isMatch(b, path, STRICT);
          const isFound = found.some((common) => covers(common, segments));
          expect(isFound, path).toBe(isBoth);
        }
      }),
      { ...PROPERTY, numRuns: 200 },
    );
  });

  it("returns nothing if the texts before two parameters differ", () => {
    expect(commonOf("/a-:x-c", "/b-:x")).toEqual([]);
  });

  it("handles many parameters in one segment without trying every division", () => {
    const many = (text: string) => `/${Array.from({ length: 20 }, (_, index) => `:"p${index}"`).join(text)}`;
    expect(commonOf(many("a"), many("b"))).toHaveLength(1);
    expect(commonOf(`${many("a")}.x`, `${many("b")}.y`)).toEqual([]);
  });
});

describe("covers", () => {
  it("makes no difference between letter cases", () => {
    expect(isCovering("/Agents/:id", "/agents/:name")).toBe(true);
  });

  it("returns true only if every sample path of the covered pattern matches the other one", () => {
    const small: fc.Arbitrary<Kinds> = kinds(
      ["a", "b", "suffix", "prefix", "pair", "parameter", "wildcard"],
      3,
    );
    let covered = 0;
    fc.assert(
      fc.property(small, small, (a, b) => {
        if (!isCovering(sourceOf(a), sourceOf(b))) return;
        covered += 1;
        for (const path of samplePaths(b)) expect(isMatch(a, path, STRICT), path).toBe(true);
      }),
      { ...PROPERTY, numRuns: 3_000 },
    );
    expect(covered).toBeGreaterThan(100);
  });

  it("returns true if all sample paths match, for patterns whose wildcard is at the end", () => {
    const small = fc
      .tuple(kinds(["a", "b", "suffix", "prefix", "parameter"], 2), fc.constantFrom<Kinds>([], ["wildcard"]))
      .map(([head, tail]) => [...head, ...tail]);
    fc.assert(
      fc.property(small, small, (a, b) => {
        const isSampled = samplePaths(b).every((path) => isMatch(a, path, STRICT));
        expect(isCovering(sourceOf(a), sourceOf(b))).toBe(isSampled);
      }),
      { ...PROPERTY, numRuns: 2_000 },
    );
  });
});
