import { describe, expect, it } from "vitest";
import { runTokens, TOKEN_CASES, verdictOf } from "./tokens.ts";

describe.each(Object.entries(TOKEN_CASES))("token verification, table of %s", (_, cases) => {
  it.each(cases.map((one) => [one.expected, one.name, one] as const))(
    "returns the verdict %s for %s",
    async (expected, _name, one) => {
      expect(await verdictOf(one)).toBe(expected);
    },
  );

  it("names every row differently", () => {
    const names = cases.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

it("accepts no hostile token and rejects no valid one", async () => {
  const { tokens, ...wrong } = await runTokens();
  expect(wrong).toEqual({ falseAccepts: [], falseRejects: [] });
  expect(tokens).toBeGreaterThan(400);
});
