import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partsOf } from "../../../src/core/policy/pattern.ts";
import { decodeSegment, loosen, type SegmentPart } from "../../../src/core/policy/segment.ts";
import { PROPERTY, segmentsIn, spellingOf } from "../../support/policy.ts";

describe("decodeSegment", () => {
  it.each([
    ["web", "web"],
    ["w%65b", "web"],
    ["caf%C3%A9", "café"],
    ["%252f", "%2f"],
    ["a+b", "a+b"],
  ])("decodes %j once, to %j", (segment, text) => {
    expect(decodeSegment(segment)).toBe(text);
  });

  it.each(["%", "%zz", "%ff", "%C3", "a%41%"])("keeps %j, which is not valid percent-encoding", (segment) => {
    expect(decodeSegment(segment)).toBe(segment);
  });
});

describe("loosen", () => {
  it.each([
    ["Agents", "agents"],
    ["%41gents", "agents"],
    // Fastify decodes the name of a procedure, and tRPC decodes it again.
    ["%2541gents", "agents"],
    ["CAF%C3%89", "café"],
    ["caf%c3%a9", "café"],
    // Kelvin sign, long s, dotless and dotted i: some router takes each of them for an ASCII letter.
    ["\u212A", "k"],
    ["%E2%84%AA", "k"],
    ["\u017F", "s"],
    ["\u0131", "i"],
    ["\u0130", "i\u0307"],
    ["\u00DF", "ss"],
    ["\uFB01", "fi"],
  ])("folds %s to %s", (segment, folded) => {
    expect(loosen(segment)).toBe(folded);
    expect(loosen(folded)).toBe(folded);
  });

  it("returns the same for every two characters that a case-insensitive regular expression compares as equal", () => {
    const char = fc.nat(0xffff).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(char, (one) => {
        const variants = [one.toLowerCase(), one.toUpperCase()].filter(({ length }) => length === 1);
        for (const other of variants)
          for (const flags of ["i", "iu"])
            if (new RegExp(`^\\u${other.charCodeAt(0).toString(16).padStart(4, "0")}$`, flags).test(one))
              expect(loosen(other), `${one} ${other}`).toBe(loosen(one));
      }),
      { ...PROPERTY, numRuns: 5_000 },
    );
  });
});

describe("compareParts", () => {
  it.each([
    ["/agents", "agents", "exact"],
    ["/agents", "Agents", "case"],
    ["/caf%C3%A9", "caf%c3%a9", "case"],
    ["/%61gents", "agents", "decoded"],
    ["/agents", "%61gents", "decoded"],
    ["/:id.json", "%41.json", "exact"],
    ["/:id.json", "42.JSON", "case"],
    ["/:id.json", "42%2ejson", "decoded"],
    ["/:from-:to", "ham%2dmuc", "decoded"],
    ["/caf%C3%A9-:id", "caf%c3%a9-1", "case"],
    ["/caf%C3%A9-:id", "CAF%C3%89-1", "decoded"],
  ])("compares %s with %s: %s", (source, segment, spelling) => {
    const [written] = segmentsIn(source);
    expect(spellingOf(segment, written ? partsOf(written) : [])).toBe(spelling);
  });

  const text = fc
    .array(fc.constantFrom("a", "b", "-", "."), { minLength: 1, maxLength: 2 })
    .map((all) => all.join(""));
  /** Parameters with text between them, and sometimes around them. */
  const anyParts = fc
    .tuple(fc.option(text), fc.array(text, { maxLength: 3 }), fc.option(text))
    .map(([first, between, last]): readonly SegmentPart[] => [
      ...(first === null ? [] : [first]),
      { type: "param", name: "x" },
      ...between.flatMap((one): SegmentPart[] => [one, { type: "param", name: "x" }]),
      ...(last === null ? [] : [last]),
    ]);
  const anySegment = fc
    .array(fc.constantFrom("a", "b", "-", ".", "c"), { maxLength: 7 })
    .map((all) => all.join(""));

  it("agrees with a backtracking regular expression", () => {
    const seen = { matched: 0, unmatched: 0 };
    fc.assert(
      fc.property(anyParts, anySegment, fc.boolean(), (parts, segment, isFilled) => {
        const filled = parts.map((part) => (typeof part === "string" ? part : segment || "a")).join("");
        const asked = isFilled ? filled : segment;
        const source = parts.map((part) =>
          typeof part === "string"
            ? part.replaceAll(/[-.]/g, (char) => `\\x${char.charCodeAt(0).toString(16)}`)
            : ".+",
        );
        const isMatched = new RegExp(`^${source.join("")}$`).test(asked);
        seen[isMatched ? "matched" : "unmatched"] += 1;
        expect(spellingOf(asked, parts)).toBe(isMatched ? "exact" : undefined);
      }),
      { ...PROPERTY, numRuns: 3_000 },
    );
    expect(Math.min(seen.matched, seen.unmatched)).toBeGreaterThan(300);
  });
});
