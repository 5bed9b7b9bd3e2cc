import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutFractions } from "../../../src/adapters/mcp/fractions.ts";

describe("withoutFractions", () => {
  const values = (json: string): unknown => JSON.parse(String(withoutFractions(Buffer.from(json))));

  it.each([
    ["[7.0,7,-0,70e-1,-1.5E+3,1e400]", ["", 7, -0, "", "", ""]],
    [
      '{"7.0":"7.0","e\\"1.5":[true,false,null,"1e5"]}',
      { "7.0": "7.0", 'e"1.5': [true, false, null, "1e5"] },
    ],
    ['{"a":\t7.0 ,"b":{"c":7}, "d":"\\\\","e":1E1}', { a: "", b: { c: 7 }, d: "\\", e: "" }],
    [`["${"x".repeat(200)}", 1.0, "${"1.0".repeat(100)}"]`, ["x".repeat(200), "", "1.0".repeat(100)]],
    ["[7.0]", [""]],
    ["[1,2.5]", [1, ""]],
    ["[-1.5]", [""]],
    ['{"a":1E5}', { a: "" }],
    ['{"a":[1e5]}', { a: [""] }],
  ])("replaces numbers with a fraction or an exponent in %s", (json, expected) => {
    expect(values(json)).toEqual(expected);
  });

  it("keeps everything else, whatever the JSON contains", () => {
    const integers = fc
      .jsonValue({ maxDepth: 4 })
      .map((value) =>
        JSON.stringify(value, (_, entry: unknown) => (typeof entry === "number" ? Math.trunc(entry) : entry)),
      );
    fc.assert(
      fc.property(integers, (json) => {
        fc.pre(!/\de/.test(json));
        const bytes = Buffer.from(json);
        expect(withoutFractions(bytes)).toBe(bytes);
      }),
      { seed: 6749 },
    );
  });
});
