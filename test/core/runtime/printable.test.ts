import { describe, expect, it } from "vitest";
import { printable, withoutTokens } from "../../../src/core/runtime/printable.ts";

const PART = "a".repeat(16);
const SHORT = "a".repeat(15);
const RANDOM = "b".repeat(48);

describe("withoutTokens", () => {
  it.each([
    ["three parts of 16 characters", `${PART}.${PART}.${PART}`],
    ["the same with characters around it", `x${PART}.${PART}.${PART}-y`],
    ["the same between other parts", `v1.${PART}.${PART}.${PART}.json`],
    ["an encrypted token, whose second part is empty", `eyJ${PART}x..${PART}.${PART}.${PART}`],
    ["the start of a JSON part", `eyJ${"c".repeat(17)}`],
    ["the start of a JSON part behind other characters", `xxxxxxxxxxeyJ${"c".repeat(12)}`],
    ["an API key", `k_${RANDOM}`],
    ["a token that is percent-encoded", `${PART}%2E${PART}%2e${PART}`],
    ["a token that is percent-encoded three times", `${PART}%25252E${PART}%25252E${PART}`],
  ])("replaces %s", (_, text) => {
    expect(withoutTokens(`/a/${text}/b`)).toBe("/a/[token]/b");
  });

  it.each([
    ["three parts, of which the first is shorter", `${SHORT}.${PART}.${PART}`],
    ["three parts, of which the second is shorter", `${PART}.${SHORT}.${PART}`],
    ["three parts, of which the third is shorter", `${PART}.${PART}.${SHORT}`],
    ["a digest", "c".repeat(43)],
    ["a prefix and fewer random characters", `k_${RANDOM.slice(1)}`],
    ["a word with `eyJ` in it and few characters behind", `xxxxxxxxxxeyJ${"c".repeat(11)}`],
  ])("keeps %s", (_, text) => {
    expect(withoutTokens(`/a/${text}/b`)).toBe(`/a/${text}/b`);
  });
});

describe("printable", () => {
  it("replaces what starts a line or can't be seen", () => {
    expect(printable("a\nb\u2028c\u2029d\u0000e\u200bf\u{1f600}")).toBe("a?b?c?d?e?f\u{1f600}");
  });
});
