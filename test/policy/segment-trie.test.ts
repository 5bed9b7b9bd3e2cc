import { describe, expect, it } from "vitest";
import { readCaptures } from "../../src/policy/captures.ts";
import { createMixedMatcher } from "../../src/policy/mixed-segment.ts";
import { type SegmentPart } from "../../src/policy/pattern.ts";
import {
  narrowerFirst,
  type Replacements,
  SegmentTrie,
  type TrieStep,
} from "../../src/policy/segment-trie.ts";
import { counting } from "../support/counting.ts";
import { textOf } from "../support/policy.ts";

const fixed = (text: string): TrieStep => ({ kind: "static", text });
const parameter: TrieStep = { kind: "parameter" };
const wildcard: TrieStep = { kind: "wildcard" };
const part = (name: string): SegmentPart => ({ type: "param", name });
const mixed = (...parts: readonly SegmentPart[]): TrieStep => ({
  kind: "mixed",
  identity: parts.map((one) => (typeof one === "string" ? one : "\u0001")).join(""),
  match: createMixedMatcher(parts),
});

interface Leaf {
  readonly name: string;
  readonly steps: readonly TrieStep[];
}

function trieOf(...entries: readonly (readonly [string, readonly TrieStep[]])[]): SegmentTrie<Leaf> {
  const trie = new SegmentTrie<Leaf>();
  for (const [name, steps] of entries) trie.insert(steps, { name, steps });
  return trie;
}

/** The leaf of a path and what its parameters take. */
function walk(trie: SegmentTrie<Leaf>, path: readonly string[], replacements?: Replacements) {
  const found = trie.find(textOf(path), replacements);
  return found && { leaf: found.name, captures: readCaptures(found.steps, textOf(path)).texts };
}

/** The leaf of a path, and whether every router would capture the same. */
function certainty(trie: SegmentTrie<Leaf>, path: readonly string[]) {
  const found = trie.find(textOf(path));
  return found && [found.name, readCaptures(found.steps, textOf(path)).isCertain];
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
    expect(walk(trie, ["AGENTS", "Web"], new Map([[0, "agents"]]))).toEqual({
      leaf: "leaf",
      captures: ["Web"],
    });
  });

  it("is certain of what it captured unless one mixed segment on the way is not", () => {
    const trie = trieOf(
      ["range", [mixed(part("from"), "-", part("to")), wildcard]],
      ["ranges", [mixed(part("from"), "-", part("to")), mixed(part("from"), "-", part("to")), fixed("x")]],
    );
    expect(certainty(trieOf(["parameter", [parameter]]), ["a-b-c"])).toEqual(["parameter", true]);
    expect(certainty(trie, ["a-b", "c"])).toEqual(["range", true]);
    expect(certainty(trie, ["a-b-c", "c"])).toEqual(["range", false]);
    expect(certainty(trie, ["a-b", "c-d", "x"])).toEqual(["ranges", true]);
    expect(certainty(trie, ["a-b", "c-d-e", "x"])).toEqual(["ranges", false]);
    expect(certainty(trie, ["a-b", "c-d-e", "y"])).toEqual(["range", true]);
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
    "is no more than that of a short one behind an inner wildcard: %s",
    (_, all) => {
      const looks = (length: number): number => {
        const { path, steps } = counting(textOf(Array.from({ length }, () => "x")));
        expect(trieOf(...all).find(path)).toBeUndefined();
        return steps();
      };
      expect(looks(250)).toBeLessThan(200);
      expect(looks(1000)).toBe(looks(250));
    },
  );

  it("needs no deep stack", () => {
    const path = Array.from({ length: 50_000 }, () => "x");
    const trie = trieOf(["last", [wildcard]], ["inner", [fixed("x"), wildcard, fixed("y")]]);
    expect(walk(trie, path)?.leaf).toBe("last");
    expect(walk(trie, [...path, "y"])?.leaf).toBe("inner");
  });
});
