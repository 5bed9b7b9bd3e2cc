import { describe, expect, it } from "vitest";
import { createMixedMatcher } from "../../src/policy/mixed-segment.ts";
import { type SegmentPart } from "../../src/policy/pattern.ts";
import { narrowerFirst, SegmentTrie, type TrieStep } from "../../src/policy/segment-trie.ts";

const fixed = (text: string): TrieStep => ({ kind: "static", text });
const parameter: TrieStep = { kind: "parameter" };
const wildcard: TrieStep = { kind: "wildcard" };
const part = (name: string): SegmentPart => ({ type: "param", name });
const mixed = (...parts: readonly SegmentPart[]): TrieStep => ({
  kind: "mixed",
  identity: parts.map((one) => (typeof one === "string" ? one : "\u0001")).join(""),
  match: createMixedMatcher(parts),
});

function trieOf(...entries: readonly (readonly [string, readonly TrieStep[]])[]): SegmentTrie<string> {
  const trie = new SegmentTrie<string>();
  for (const [leaf, steps] of entries) trie.insert(steps, leaf);
  return trie;
}

/** The leaf of a path and what was captured; the tests of certainty ask `find` itself. */
function walk(trie: SegmentTrie<string>, path: readonly string[], spelled = path) {
  const found = trie.find(path, spelled);
  return found && { leaf: found.leaf, captures: found.captures };
}

describe("SegmentTrie", () => {
  it("finds nothing in an empty trie", () => {
    expect(walk(new SegmentTrie(), [])).toBeUndefined();
    expect(walk(new SegmentTrie(), ["a"])).toBeUndefined();
  });

  it("finds the leaf at the end of the path, not one on the way or beyond", () => {
    const trie = trieOf(["inner", [fixed("a"), fixed("b")]]);
    expect(walk(trie, ["a", "b"])).toEqual({ leaf: "inner", captures: [] });
    for (const path of [[], ["a"], ["b"], ["a", "b", "c"], ["a", "b", ""], ["b", "a"]]) {
      expect(walk(trie, path), path.join("/")).toBeUndefined();
    }
  });

  it("keeps the first of two leaves with the same steps", () => {
    const trie = trieOf(["first", [parameter]], ["second", [parameter]]);
    expect(walk(trie, ["x"])?.leaf).toBe("first");
  });

  const all: readonly (readonly [string, readonly TrieStep[]])[] = [
    ["wildcard", [wildcard]],
    ["parameter", [parameter]],
    ["mixed, less text", [mixed(part("a"), "-", part("b"))]],
    ["mixed, more text", [mixed(part("a"), "-b", part("b"))]],
    ["static", [fixed("a-b")]],
  ];

  it.each([
    ["in one order", all],
    ["in the other", all.toReversed()],
  ])("takes the narrowest step, written %s", (_, entries) => {
    const trie = trieOf(...entries);
    expect(walk(trie, ["a-b"])).toEqual({ leaf: "static", captures: [] });
    expect(walk(trie, ["c-bd"])).toEqual({ leaf: "mixed, more text", captures: ["c", "d"] });
    expect(walk(trie, ["c-d"])).toEqual({ leaf: "mixed, less text", captures: ["c", "d"] });
    expect(walk(trie, ["c"])).toEqual({ leaf: "parameter", captures: ["c"] });
    expect(walk(trie, ["c", "d"])).toEqual({ leaf: "wildcard", captures: ["c/d"] });
  });

  it("goes back where a narrower step ends in vain, and forgets what it captured there", () => {
    const trie = trieOf(
      ["static", [fixed("a"), fixed("x"), fixed("1")]],
      ["mixed", [mixed("a", part("rest")), fixed("x"), fixed("2")]],
      ["parameter", [parameter, fixed("x"), fixed("3")]],
      ["wildcard", [wildcard, fixed("4")]],
    );
    expect(walk(trie, ["a", "x", "1"])).toEqual({ leaf: "static", captures: [] });
    expect(walk(trie, ["ab", "x", "2"])).toEqual({ leaf: "mixed", captures: ["b"] });
    expect(walk(trie, ["a", "x", "3"])).toEqual({ leaf: "parameter", captures: ["a"] });
    expect(walk(trie, ["ab", "x", "3"])).toEqual({ leaf: "parameter", captures: ["ab"] });
    expect(walk(trie, ["a", "x", "4"])).toEqual({ leaf: "wildcard", captures: ["a/x"] });
    expect(walk(trie, ["a", "x", "5"])).toBeUndefined();
  });

  it("lets an inner wildcard take one segment or more", () => {
    const trie = trieOf(["inner", [fixed("a"), wildcard, fixed("z")]]);
    expect(walk(trie, ["a", "1", "z"])).toEqual({ leaf: "inner", captures: ["1"] });
    expect(walk(trie, ["a", "1", "2", "3", "z"])).toEqual({ leaf: "inner", captures: ["1/2/3"] });
    expect(walk(trie, ["a", "z", "z"])).toEqual({ leaf: "inner", captures: ["z"] });
    expect(walk(trie, ["a", "z"])).toBeUndefined();
    expect(walk(trie, ["a", "1", "z", "2"])).toBeUndefined();
  });

  it("fills a parameter and a wildcard with text only: the empty segment is the trailing slash", () => {
    const trie = trieOf(["parameter", [fixed("a"), parameter]], ["wildcard", [fixed("b"), wildcard]]);
    expect(walk(trie, ["a", ""])).toBeUndefined();
    expect(walk(trie, ["b", ""])).toBeUndefined();
    expect(walk(trie, ["b", "x", ""])).toEqual({ leaf: "wildcard", captures: ["x/"] });
    expect(walk(trieOf(["slash", [fixed("a"), fixed("")]]), ["a", ""])).toEqual({
      leaf: "slash",
      captures: [],
    });
  });

  it("compares one spelling and captures another", () => {
    const trie = trieOf(["leaf", [fixed("agents"), parameter]]);
    expect(walk(trie, ["agents", "web"], ["AGENTS", "Web"])).toEqual({ leaf: "leaf", captures: ["Web"] });
  });

  it("is certain of what it captured unless one mixed segment on the way is not", () => {
    const trie = trieOf(
      ["range", [mixed(part("from"), "-", part("to")), wildcard]],
      ["ranges", [mixed(part("from"), "-", part("to")), mixed(part("from"), "-", part("to")), fixed("x")]],
    );
    expect(trieOf(["parameter", [parameter]]).find(["a-b-c"], ["a-b-c"])?.isCertain).toBe(true);
    expect(trie.find(["a-b", "c"], ["a-b", "c"])?.isCertain).toBe(true);
    expect(trie.find(["a-b-c", "c"], ["a-b-c", "c"])?.isCertain).toBe(false);
    expect(trie.find(["a-b", "c-d", "x"], ["a-b", "c-d", "x"])?.isCertain).toBe(true);
    expect(trie.find(["a-b", "c-d-e", "x"], ["a-b", "c-d-e", "x"])).toMatchObject({
      leaf: "ranges",
      isCertain: false,
    });
    expect(trie.find(["a-b", "c-d-e", "y"], ["a-b", "c-d-e", "y"])).toMatchObject({
      leaf: "range",
      isCertain: true,
    });
  });

  it("does not take the members of every object for steps", () => {
    const trie = trieOf(["leaf", [fixed("a")]]);
    for (const name of ["constructor", "__proto__", "toString", "size"]) {
      expect(walk(trie, [name]), name).toBeUndefined();
    }
  });
});

describe("of two mixed segments", () => {
  it.each([
    ["abc", "ab"],
    ["zz", "a"],
    // With as much text the order is that of the text, whoever was written first.
    ["a-", "b-"],
    ["-a", "-b"],
  ])("%s is narrower than %s", (narrower, wider) => {
    expect(narrowerFirst(narrower, wider)).toBeLessThan(0);
    expect(narrowerFirst(wider, narrower)).toBeGreaterThan(0);
  });

  it("neither is narrower when they are the same", () => {
    expect(narrowerFirst("-a", "-a")).toBe(0);
  });
});

describe("the cost of a hostile path", () => {
  const entries: readonly (readonly [string, readonly TrieStep[]])[] = [
    ["static", [wildcard, fixed("x"), fixed("x"), fixed("y")]],
    ["parameter", [wildcard, parameter, fixed("x"), parameter, fixed("y")]],
    ["mixed", [wildcard, mixed("x", part("a")), mixed(part("b"), "x", part("c")), fixed("y")]],
    ["after others", [parameter, parameter, wildcard, fixed("x"), fixed("y")]],
  ];

  it.each([...entries.map((entry) => [entry[0], [entry]] as const), ["all of them", entries] as const])(
    "is a bounded number of looks at each segment behind an inner wildcard: %s",
    (_, all) => {
      const looks = (length: number): number => {
        let count = 0;
        const path = new Proxy<string[]>(
          Array.from({ length }, () => "x"),
          {
            get(segments, name, receiver) {
              if (typeof name === "string" && /^\d+$/.test(name)) count += 1;
              return Reflect.get(segments, name, receiver) as unknown;
            },
          },
        );
        expect(walk(trieOf(...all), path)).toBeUndefined();
        return count;
      };
      const [short, long] = [looks(250), looks(1000)];
      expect(long).toBeLessThanOrEqual(20 * 1000);
      expect(long / short).toBeCloseTo(4, 1);
    },
  );

  it("needs no deep stack", () => {
    const path = Array.from({ length: 50_000 }, () => "x");
    const trie = trieOf(["last", [wildcard]], ["inner", [fixed("x"), wildcard, fixed("y")]]);
    expect(walk(trie, path)?.leaf).toBe("last");
    expect(walk(trie, [...path, "y"])?.leaf).toBe("inner");
  });
});
