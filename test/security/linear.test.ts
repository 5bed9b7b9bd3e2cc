/**
 * The work for a request grows no faster than the request. It is counted in steps, because a clock on a busy machine
 * proves nothing: a string that counts its reads stands in for the path. The steps of regular expressions cannot be
 * counted; the lint rules `regexp/no-super-linear-backtracking` and `regexp/no-super-linear-move` keep them linear, and
 * `bench/hostile.ts` measures the rest.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBatch } from "../../src/capabilities/batches/batch.ts";
import { collectReadings, findPathRule } from "../../src/core/policy/find-rules.ts";
import { endingsOf } from "../../src/core/policy/rule-tree.ts";
import { compareParts, Spelled } from "../../src/core/policy/segment.ts";
import type { Path } from "../../src/core/request.ts";
import { kindsTable, ruleKinds, sourceOf, textOf } from "../support/patterns.ts";
import {
  compiledOf,
  getTable,
  pathOf,
  segmentsIn,
  spellingOf,
  tableIssues,
  tableOf,
} from "../support/policy.ts";

/**
 * A stand-in for a string that counts the characters its methods read, because elapsed time depends on the
 * load of the machine. A search reads every character up to its match; `slice` reads every character that it
 * copies.
 */
function counting(text: string): { readonly path: string; readonly steps: () => number } {
  let steps = 0;
  const methods: Partial<Record<string | symbol, (...args: never[]) => unknown>> = {
    charCodeAt(index: number) {
      steps += 1;
      return text.charCodeAt(index);
    },
    indexOf(sought: string, from: number) {
      const place = text.indexOf(sought, from);
      steps += (place < 0 ? text.length : place + 1) - from;
      return place;
    },
    lastIndexOf(sought: string, from: number) {
      const place = text.lastIndexOf(sought, from);
      steps += from - place + 1;
      return place;
    },
    slice(start: number, end: number = text.length) {
      steps += end - start;
      return text.slice(start, end);
    },
    endsWith(end: string) {
      steps += end.length;
      return text.endsWith(end);
    },
  };
  const watched = new Proxy(Object(text) as object, {
    get(_, member) {
      if (member === "length") return text.length;
      const method = methods[member];
      // A method that is not counted must not be used unnoticed.
      if (!method) throw new Error(`The property ${String(member)} is not counted.`);
      return method;
    },
  });
  return { path: watched as unknown as string, steps: () => steps };
}

/** Each path of one to six segments in turn ends with the last of them: some ends cost more than others. */
const LENGTHS = [60, 120, 240, 480, 960];

/** Segments that are static in some tables, mixed in others, or neither: these lead a search astray the furthest. */
const hostile = fc.array(fc.constantFrom("a", "b", "c", "a-b", "c-b", "A", "%61", "a,v"), {
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

/** How many characters are read of a path. */
function stepsFor(segments: readonly string[], hasSlash: boolean, run: (path: Path) => unknown): number {
  const text = textOf([...segments, ...(hasSlash ? [""] : [])]);
  const { path, steps } = counting(text);
  run({ text: path, end: hasSlash ? text.length - 1 : text.length, isPlain: false });
  return steps();
}

const treeOf = (...sources: readonly string[]) => compiledOf(getTable(sources)).tree;
const table = kindsTable(ruleKinds(["a", "b", "A", "suffix", "parameter", "wildcard"]))
  .map((patterns) => patterns.map(sourceOf))
  .filter((sources) => tableIssues(getTable(sources)).length === 0);
const runs = { numRuns: 150, seed: 6749 };

describe.each([
  ["the rule of a path", findPathRule],
  ["all readings of a path", collectReadings],
])("the search for %s", (_, search) => {
  it("reads each segment a bounded number of times, whatever the table and the path", () => {
    fc.assert(
      fc.property(table, hostile, fc.boolean(), (sources, segments, hasSlash) => {
        const tree = treeOf(...sources);
        expectLinear((length) =>
          stepsFor(repeated(segments, length), hasSlash, (path) => search(tree, "GET", path)),
        );
      }),
      runs,
    );
  });

  it.each([
    ["/:p0-b/*p1", ["a-b", "b"]],
    ["/:p0/:p1-b/a{/*p2}", ["a-b", "a-b", "b"]],
    ["/:p0/:p1/:p2/*p3", ["a"]],
  ])("takes linear time for %s and paths of %j", (source, segments) => {
    const tree = treeOf(source);
    expectLinear((length) =>
      stepsFor(repeated(segments, length), false, (path) => search(tree, "GET", path)),
    );
  });
});

describe("a hostile mixed segment", () => {
  it("takes linear time to compare", () => {
    const [segment] = segmentsIn("/:a-:b-:c-:d-:e.json");
    if (segment?.kind !== "mixed") throw new Error("The segment is not mixed.");
    const started = performance.now();
    expect(spellingOf("-".repeat(100_000), segment.parts)).toBeUndefined();
    expect(spellingOf(`${"a-".repeat(50_000)}.jso`, segment.parts)).toBeUndefined();
    expect(spellingOf(`${"-".repeat(100_000)}.json`, segment.parts)).toBe("exact");
    // A backtracking matcher would need 10^20 steps for four parameters.
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe("a table with hundreds of texts behind a parameter at one place", () => {
  const { root } = treeOf(...Array.from({ length: 200 }, (_, index) => `/:id.type${index}`));
  it.each([`${"a".repeat(500)}.type7`, `${"A".repeat(500)}.type`, `${"%41".repeat(500)}%2etype7`])(
    "compares a segment with few of them: %s",
    (text) => {
      const segment = new Spelled(text);
      const candidates = endingsOf(root, segment);
      expect(candidates.length).toBeLessThanOrEqual(1);
      const matching = [...root.endings.values()].filter(({ texts }) => compareParts(segment, texts));
      expect(candidates).toEqual(expect.arrayContaining(matching));
    },
  );
});

describe("a path with hundreds of readings", () => {
  it("refuses it after nine rules", () => {
    const sources = Array.from({ length: 256 }, (_, index) =>
      Array.from({ length: 8 }, (_bit, bit) => ((index >> bit) & 1 ? `/:p${bit}` : `/s${bit}`)).join(""),
    );
    const path = Array.from({ length: 8 }, (_, bit) => `/S${bit}`).join("");
    expect(collectReadings(treeOf(...sources), "GET", pathOf(path)).leaves.size).toBe(9);
  });
});

describe("a batch", () => {
  const table = tableOf({ "GET /trpc/:procedure": [], "GET /*path": [] });
  /** How many characters a search for rules copies from the paths that it looks up. */
  function lookedUp(target: string): number {
    const path = pathOf(target);
    const batch = readBatch(path, new Set());
    const paths = [...batch.paths, ...batch.wider];
    return paths.reduce((sum, one) => sum + (one === path ? 0 : (one?.text.length ?? 0)), 0);
  }

  it("looks up paths of at most 24,576 characters, whatever its names and its parent", () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => index.toString(36));
    for (const count of [2, 10, 60, 99, 150, 999])
      for (const parent of ["/trpc", "/a".repeat(20), "/a".repeat(2_000), `/${"a".repeat(5_000)}`]) {
        const target = `${parent}/${names(count).join(",")}?batch=1`;
        expect(lookedUp(target), target.slice(0, 40)).toBeLessThanOrEqual(24_576);
        expect(table.forTarget("GET", target, true).kind).not.toBe("unmapped");
      }
  });
});
