import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LooseTexts, loosen } from "../../src/policy/loose-texts.ts";
import { PROPERTY, textOf } from "../support/policy.ts";

/** The places of all segments that `next` does not pass by. */
function candidates(texts: readonly string[], path: string): readonly number[] {
  const loose = new LooseTexts(texts);
  const found: number[] = [];
  for (let slash = loose.next(path, 0); slash < path.length;) {
    found.push(slash);
    const end = path.indexOf("/", slash + 1);
    slash = loose.next(path, end < 0 ? path.length : end);
  }
  return found;
}

describe("the segments that may be taken for another text", () => {
  const texts = ["agents", "Teams", "key", "ink", "caf%C3%A9", "%61dmin", "a;v"];
  const spellings = [
    ...["AGENTS", "agents;v=1", "%61gents", "agents%3Bx", "teams", "TEAMS", "KEY", "%4bey", "INK", "admin"],
    // Two characters that are ASCII in lower case: U+212A is a `k`, U+0130 begins with an `i`.
    ...["%E2%84%AAey", "in%E2%84%AA", "caf%c3%a9", "CAF%C3%89", "a", "A", "a;"],
  ];

  it.each(spellings)("are found: %s", (segment) => {
    expect(candidates(texts, `/elsewhere/${segment}/x`)).toEqual([10]);
  });

  it.each(["agent", "agentss", "s", "x;agents", "%62", "a-long-segment-that-is-no-text-of-the-table"])(
    "are told from others without cutting the path: %s",
    (segment) => {
      expect(candidates(texts, `/${segment}/${segment}`)).toEqual([]);
    },
  );

  it("are none where the table and the path are plain", () => {
    const table = new LooseTexts(["agents"]);
    expect(table.hasNoneFor({ text: "/agents", isPlain: true })).toBe(true);
    expect(table.hasNoneFor({ text: "/Agents", isPlain: false })).toBe(false);
    expect(new LooseTexts(["Agents"]).hasNoneFor({ text: "/agents", isPlain: true })).toBe(false);
  });

  it("are never passed by, whatever the table and the path", () => {
    const words = [
      "agents",
      "Teams",
      "k",
      "i",
      "%69",
      "%C4%B0",
      "%E2%84%AA",
      "%c3%89",
      "%C3%A9",
      ";",
      "A",
      "z",
    ];
    const word = fc
      .array(fc.constantFrom(...words), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), fc.array(word, { minLength: 1 }), (table, segments) => {
        const found = candidates(table, textOf(segments));
        let slash = 0;
        for (const segment of segments) {
          const isOther = table.some((text) => text !== segment && loosen(text) === loosen(segment));
          if (isOther) expect(found, `${segment} of ${table.join(" ")}`).toContain(slash);
          slash += segment.length + 1;
        }
      }),
      { ...PROPERTY, numRuns: 2000 },
    );
  });
});
