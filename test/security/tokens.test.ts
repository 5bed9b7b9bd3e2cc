import { describe, expect, it } from "vitest";
import { TOKEN_CASES, verdictOf } from "./tokens.ts";

describe.each(Object.entries(TOKEN_CASES))("token verification, table of %s", (_, cases) => {
  it.each(cases.map((row) => [row.expected, row.name, row] as const))(
    "returns the verdict %s for %s",
    async (expected, _name, row) => {
      expect(await verdictOf(row)).toBe(expected);
    },
  );

  it("names every row differently", () => {
    const names = cases.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

it("verifies more than 400 tokens", () => {
  expect(Object.values(TOKEN_CASES).flat().length).toBeGreaterThan(400);
});
