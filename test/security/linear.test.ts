/**
 * The work for a request grows no faster than the request: counted in steps, because a clock on a busy machine tells
 * nothing. A path that counts its reads stands in for the text, a matcher that counts characters for the segments.
 * Regular expressions, whose steps cannot be counted, are kept linear by the lint rules
 * `regexp/no-super-linear-backtracking` and `regexp/no-super-linear-move`; what remains is measured by `bench/hostile.ts`.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RouteIndex } from "../../src/policy/route-index.ts";
import { SegmentTrie, type TrieStep } from "../../src/policy/segment-trie.ts";
import { counting } from "../support/counting.ts";
import { getTable, kinds, kindsTable, rulesOf, sourceOf, tableOf, textOf } from "../support/policy.ts";

/** Of one to six segments in turn each path ends with the last: an end that has more readings costs more, whatever the length. */
const LENGTHS = [60, 120, 240, 480, 960];

/** Segments that are static in some tables, mixed in others, or neither, in turn: what sends a walk furthest astray. */
const hostile = fc.array(fc.constantFrom("a", "b", "c", "a-b", "c-b", "A", "%61", "a;v"), {
  minLength: 1,
  maxLength: 6,
});
const repeated = (pattern: readonly string[], length: number): string[] =>
  Array.from({ length }, (_, index) => pattern[index % pattern.length] ?? "a");

/** Steps per segment must not grow with the length, whatever they are for one table. */
function expectLinear(count: (length: number) => number): void {
  const perSegment = LENGTHS.map((length) => count(length) / length);
  const [first = 0] = perSegment;
  for (const steps of perSegment) expect(steps).toBeLessThanOrEqual(first * 1.5 + 1);
}

const table = kindsTable(kinds(["a", "b", "A", "mixed", "parameter", "wildcard"]));
const runs = { numRuns: 150, seed: 6749 };

describe("the walk through a table", () => {
  it("reads each segment a bounded number of times, whatever the table and the path", () => {
    fc.assert(
      fc.property(table, hostile, fc.boolean(), (patterns, segments, hasSlash) => {
        const index = new RouteIndex(rulesOf(getTable(patterns.map(sourceOf))));
        expectLinear((length) => {
          const { path, steps } = counting(
            textOf([...repeated(segments, length), ...(hasSlash ? [""] : [])]),
          );
          index.find("GET", path);
          return steps();
        });
      }),
      runs,
    );
  });

  it.each([
    ["/*p0/a/:p2", ["a", "b"]],
    ["/*p0/a/:p2", ["a"]],
    ["/:p0/*p1/:p2-b/a", ["a-b", "a-b", "b"]],
    ["/a/*p1/b/b/b", ["b", "b", "c"]],
    ["/:p0/:p1/:p2/*p3", ["a"]],
  ])("is linear for %s and paths of %j", (pattern, segments) => {
    const index = new RouteIndex(rulesOf(getTable([pattern])));
    expectLinear((length) => {
      const { path, steps } = counting(textOf(repeated(segments, length)));
      index.find("GET", path);
      return steps();
    });
  });

  it("hands a mixed segment no more characters than the path has, for each place in the table", () => {
    let characters = 0;
    const mixed: TrieStep = {
      kind: "mixed",
      identity: "\u0001-\u0001",
      match(segment) {
        characters += segment.length;
        return { captures: [segment], isCertain: true };
      },
    };
    const trie = new SegmentTrie<string>();
    trie.insert([{ kind: "wildcard" }, mixed, { kind: "static", text: "end" }], "inner");
    trie.insert([mixed, { kind: "wildcard" }, mixed, { kind: "static", text: "end" }], "both");
    trie.insert(
      [{ kind: "parameter" }, { kind: "wildcard" }, mixed, mixed, { kind: "static", text: "x" }],
      "two",
    );
    expectLinear((length) => {
      characters = 0;
      trie.find(textOf(repeated(["a-b", "-----"], length)));
      return characters;
    });
  });
});

describe("the readings of a path", () => {
  it("are a bounded number, and each is as long as the path", () => {
    fc.assert(
      fc.property(table, hostile, fc.boolean(), fc.boolean(), (patterns, segments, hasSlash, isLenient) => {
        // Two keys of one route that ask for the same are no mistake.
        const finder = tableOf(getTable(patterns.map(sourceOf)));
        const reading = { ignoreCase: isLenient, ignoreTrailingSlash: isLenient };
        expectLinear((length) => {
          const { path, steps } = counting(
            textOf([...repeated(segments, length), ...(hasSlash ? [""] : [])]),
          );
          finder.findByPath("GET", { text: path, isPlain: false }, reading);
          return steps();
        });
      }),
      runs,
    );
  });

  it("stop at the first segment too many that could be taken for another one", () => {
    const finder = tableOf(getTable(["/agents/*rest", "/AGENTS/:id/x"]));
    const cost = (length: number): number => {
      const { path, steps } = counting(textOf(repeated(["Agents"], length)));
      expect(finder.findByPath("GET", { text: path, isPlain: false }, {})).toBe("ambiguous");
      return steps();
    };
    expectLinear(cost);
  });
});
