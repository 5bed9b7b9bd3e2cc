import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMixedMatcher } from "../../src/policy/mixed-segment.ts";
import { type SegmentPart } from "../../src/policy/pattern.ts";
import { patternOf, PROPERTY } from "../support/policy.ts";

function partsOf(source: string): readonly SegmentPart[] {
  const [segment] = patternOf(source).alternatives[0] ?? [];
  if (segment?.kind !== "mixed") throw new Error(`${source} has no mixed segment.`);
  return segment.parts;
}

const matchOf = (source: string, segment: string) => createMixedMatcher(partsOf(source))(segment);

describe("a mixed segment", () => {
  it.each([
    ["/:id.json", "42.json", ["42"]],
    ["/:id.json", "A.json", ["A"]],
    ["/:id.json", "%41.json", ["%41"]],
    ["/v:major", "v2", ["2"]],
    ["/v:major", "vv2", ["v2"]],
    ["/V:id", "VAb", ["Ab"]],
    ["/:from-:to", "ham-muc", ["ham", "muc"]],
    ["/:a.:b-:c", "1.2-3", ["1", "2", "3"]],
    ["/x:a-:b.json", "x1-2.json", ["1", "2"]],
    ["/:a--:b", "1--2", ["1", "2"]],
    // The text behind is no separator once more.
    ["/:a-:b-", "1-2-", ["1", "2"]],
    ["/:a--:b--", "1--2--", ["1", "2"]],
  ])("%s takes %s as %j, as every router does", (source, segment, captures) => {
    expect(matchOf(source, segment)).toEqual({ captures, isCertain: true });
  });

  it.each([
    ["/:id.json", ".json"],
    ["/:id.json", "42.jsonx"],
    ["/:id.json", "42xjson"],
    ["/:id.json", "42.json/"],
    ["/v:major", "v"],
    ["/v:major", "xv2"],
    ["/:from-:to", "ham"],
    ["/:from-:to", "-muc"],
    ["/:from-:to", "ham-"],
    ["/:from-:to", "-"],
    ["/:from-:to", ""],
    ["/:a.:b-:c", "1-2.3"],
    ["/a:x-a", "a-a"],
  ])("%s does not take %j", (source, segment) => {
    expect(matchOf(source, segment)).toBeUndefined();
  });

  it.each([
    ["/:from-:to", ["a-b-c", "a--b", "--a", "a--", "a-b-"]],
    ["/:id.json", ["42.json.json"]],
    ["/:a.:b-:c", ["1.2.3-4", "1.2-3-4", "1.2-3.4-5"]],
    ["/:a--:b", ["1---2", "1--2--3"]],
  ])("%s takes %j, and cannot be sure how", (source, segments) => {
    for (const segment of segments)
      expect(matchOf(source, segment)?.isCertain ?? "no match", segment).toBe(false);
  });

  it.each([
    ["/:id.json", ["42.JSON", "42.Json", "42%2ejson", "42%2Ejson", "42.%4ASON"]],
    ["/v:major", ["V2", "%762"]],
    ["/:from-x-:to", ["a-X-b"]],
    ["/:from-:to", ["ham%2dmuc"]],
    ["/caf%C3%A9-:id", ["caf%c3%a9-1", "CAF%C3%A9-1", "caf%C3%A9%2d1"]],
  ])("%s may be %j to a router that ignores case or decodes first", (source, segments) => {
    for (const segment of segments)
      expect(matchOf(source, segment)?.isCertain ?? "no match", segment).toBe(false);
  });

  it.each([
    ["in another letter case", "/:a-x-:b", "1-X-2-x-3"],
    ["in another letter case", "/:a-x-:b", "1-x-2-X-3"],
    ["encoded", "/:from-:to", "a%2Db-c"],
  ])("is not certain where a separator stands %s in what was captured", (_, source, segment) => {
    expect(matchOf(source, segment)?.isCertain).toBe(false);
  });

  const name = { type: "param", name: "x" } as const;
  const text = fc
    .array(fc.constantFrom("a", "b", "-"), { minLength: 1, maxLength: 2 })
    .map((all) => all.join(""));
  /** Parameters with text between them, and sometimes around them. */
  const anyParts: fc.Arbitrary<readonly SegmentPart[]> = fc
    .tuple(fc.option(text), fc.array(text, { maxLength: 2 }), fc.option(text))
    .map(([first, between, last]) => [
      ...(first === null ? [] : [first]),
      name,
      ...between.flatMap((one) => [one, name]),
      ...(last === null ? [] : [last]),
    ])
    .filter((parts) => parts.length > 1);
  const anyText = fc.array(fc.constantFrom("a", "b", "-", "c"), { maxLength: 5 }).map((all) => all.join(""));
  /** A text, and often one that the segment takes: its parameters filled in. */
  const textFor = (parts: readonly SegmentPart[]) =>
    fc.oneof(
      anyText,
      fc
        .tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : anyText)))
        .map((all) => all.join("")),
    );
  const cases = anyParts.chain((parts) => fc.tuple(fc.constant(parts), textFor(parts)));

  it("takes what a backtracking regular expression takes, and is certain of the only possible cut alone", () => {
    const seen = { certain: 0, uncertain: 0, none: 0 };
    fc.assert(
      fc.property(cases, ([parts, segment]) => {
        const found = createMixedMatcher(parts)(segment);
        const cuts = cutsOf(parts, segment);
        expect(cuts.length > 0).toBe(shortestCut(parts, segment) !== undefined);
        expect(found !== undefined).toBe(cuts.length > 0);
        seen[found ? (found.isCertain ? "certain" : "uncertain") : "none"] += 1;
        if (!found) return;
        expect(cuts).toContainEqual(found.captures);
        expect(found.captures).toEqual(shortestCut(parts, segment));
        if (found.isCertain) expect(cuts).toEqual([found.captures]);
        if (cuts.length > 1) expect(found.isCertain).toBe(false);
      }),
      { ...PROPERTY, numRuns: 5000 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(200);
  });

  it("takes a hostile segment in linear time", () => {
    const match = createMixedMatcher(partsOf("/:a-:b-:c-:d-:e.json"));
    const started = performance.now();
    expect(match("-".repeat(100_000))).toBeUndefined();
    expect(match(`${"a-".repeat(50_000)}.jso`)).toBeUndefined();
    expect(match(`${"-".repeat(100_000)}.json`)?.isCertain).toBe(false);
    // Four parameters of a backtracking matcher would need 10^20 steps.
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

/** Every way to cut a text, each parameter at least one character: by trying all of them. */
function cutsOf([head, ...rest]: readonly SegmentPart[], text: string): readonly (readonly string[])[] {
  if (head === undefined) return text === "" ? [[]] : [];
  if (typeof head === "string") return text.startsWith(head) ? cutsOf(rest, text.slice(head.length)) : [];
  return Array.from(text).flatMap((_, index) =>
    cutsOf(rest, text.slice(index + 1)).map((tail) => [text.slice(0, index + 1), ...tail]),
  );
}

/** The cut of a regular expression that takes as little as it can from the left. */
function shortestCut(parts: readonly SegmentPart[], text: string): readonly string[] | undefined {
  const source = parts.map((part) => (typeof part === "string" ? part.replaceAll("-", "\\x2d") : "(.+?)"));
  return new RegExp(`^${source.join("")}$`).exec(text)?.slice(1);
}
