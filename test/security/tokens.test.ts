import { describe, expect, it } from "vitest";
import { runTokens, TOKEN_CASES, verdictOf } from "./tokens.ts";

describe.each(Object.entries(TOKEN_CASES))("a token of the table of %s", (_, cases) => {
  it.each(cases.map((one) => [one.name, one.expected, one] as const))(
    "%s is %s",
    async (_name, expected, one) => {
      expect(await verdictOf(one)).toBe(expected);
    },
  );

  it("has a different name in every row", () => {
    const names = cases.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

it("accepts no hostile token and rejects no honest one", async () => {
  const { tokens, ...wrong } = await runTokens();
  expect(wrong).toEqual({ falseAccepts: [], falseRejects: [] });
  expect(tokens).toBeGreaterThan(400);
});
